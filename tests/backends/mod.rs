//! Real servers for tests: Jaeger and Prometheus, started on free loopback ports and stopped when dropped.
//!
//! `tests/backends/build` makes the binaries; a test that needs them begins with `if backends::left_out() { return; }`.
//! All calls here block; from async code use a multi-thread runtime or `spawn_blocking`.

#![allow(dead_code, unused_imports, reason = "each test binary uses its own part of this module")]

mod http;
mod jaeger;
mod otlp;
mod poll;
mod prometheus;
mod server;

use std::env;
use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Once;

pub(crate) use http::Client;
pub(crate) use jaeger::{Jaeger, Trace};
pub(crate) use otlp::{Event, Kind, Span, Status};
pub(crate) use prometheus::{Prometheus, Sample};
pub(crate) use server::on_free_ports;

/// What every call here can come back with: a sentence for the person who reads the failed test.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Whether this test is left out because the servers were not built.
///
/// Says so once per process, in one line that the test harness does not swallow. Where the servers must be there
/// (`CI=true` or `LLMPERF_LIVE=1`) it panics instead: a check that could not run has failed.
pub(crate) fn left_out() -> bool {
    static SAID: Once = Once::new();

    let Err(missing) = available() else {
        return false;
    };
    let required = is_set("CI", "true") || is_set("LLMPERF_LIVE", "1");
    assert!(!required, "a live test cannot run: {missing}");
    SAID.call_once(|| {
        // Past the macros, whose output is captured. Nobody is there to hear of a closed stderr.
        _ = writeln!(io::stderr(), "live tests left out: {missing}");
    });
    true
}

/// Whether the servers were built; the error is a sentence that says what to do.
pub(crate) fn available() -> std::result::Result<(), String> {
    let missing: Vec<_> = ["jaeger", "prometheus"].into_iter().filter(|name| !binary(name).is_file()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("there is no real {}; `tests/backends/build` builds it, with Go", missing.join(" and no real ")))
}

/// Where `tests/backends/build` puts a server.
fn binary(name: &str) -> PathBuf {
    target().join("backends").join(name)
}

/// Cargo's target folder: it gives its `tmp` to integration tests.
fn target() -> &'static Path {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap_or(tmp)
}

fn is_set(variable: &str, value: &str) -> bool {
    env::var(variable).is_ok_and(|found| found == value)
}
