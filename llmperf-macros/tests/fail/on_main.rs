//! Telemetry is set up inside.

#[llmperf::pipeline]
fn main() {}
