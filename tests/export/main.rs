//! The export set-up against collectors of every temper. What is global runs
//! in child processes, so all tests run side by side.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod collector;
mod delivery;
mod drops;
mod process;
mod scrape;
mod shutdown;

use llmperf::export::{Export, Telemetry};
use opentelemetry::trace::{Tracer as _, TracerProvider as _};

/// A set-up for one protocol, told apart by the word for it.
fn by(protocol: &str) -> Export {
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
