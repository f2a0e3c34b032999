//! A crate that is not there.

#[llmperf::tool(crate = perf)]
fn weather() {}

fn main() {
    weather();
}
