//! Misuse of the attributes: one error each, at the token that is wrong. The files of `fail/` say what.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use std::{env, process::Command};

/// The compiler whose words stand in `fail/compiler/`.
const COMPILER: &str = "rustc 1.95.";

#[test]
fn each_misuse_gives_one_readable_error() {
    trybuild::TestCases::new().compile_fail("tests/fail/*.rs");
}

/// Its words change from one version to the next: another compiler is asked in CI only, where this must be seen.
#[test]
fn mistakes_that_are_not_of_the_attribute_are_told_by_the_compiler_at_their_own_place() {
    let version =
        Command::new(env::var_os("RUSTC").unwrap_or("rustc".into())).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    if !version.starts_with(COMPILER) && env::var_os("CI").is_none() {
        eprintln!("left out: {} has other words than {COMPILER}", version.trim());
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/fail/compiler/*.rs");
}
