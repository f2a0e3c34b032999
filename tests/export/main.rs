//! The export set-up against collectors of every temper. What is global runs
//! in child processes, so all tests run side by side.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod collector;
mod delivery;
mod drops;
mod process;
mod scrape;
mod shutdown;

use std::sync::OnceLock;

use llmperf::export::{Export, Telemetry};
use opentelemetry::trace::{Tracer as _, TracerProvider as _};

/// Keeps one subscriber registered for as long as the tests run. With a single one at a time, `tracing` asks only the thread
/// that meets a call site first, and one that has no subscriber would switch the site off for all.
fn keep_call_sites_awake() {
    static AWAKE: OnceLock<tracing::Dispatch> = OnceLock::new();
    AWAKE.get_or_init(|| tracing::Dispatch::new(tracing_subscriber::registry()));
}

/// A set-up for one protocol, told apart by the word for it.
fn by(protocol: &str) -> Export {
    keep_call_sites_awake();
    match protocol {
        "grpc" => llmperf::export::otlp_grpc(),
        "http" => llmperf::export::otlp_http(),
        other => panic!("{other} is no protocol"),
    }
}

/// Ends `count` spans.
fn end_spans(telemetry: &Telemetry, count: usize) {
    let tracer = telemetry.tracer_provider().unwrap().tracer("test");
    for _ in 0..count {
        drop(tracer.start("call"));
    }
}
