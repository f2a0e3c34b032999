//! Misuse of the attributes: one error each, at the token that is wrong. The files of `fail/` say what.

#[test]
fn each_misuse_gives_one_readable_error() {
    trybuild::TestCases::new().compile_fail("tests/fail/*.rs");
}
