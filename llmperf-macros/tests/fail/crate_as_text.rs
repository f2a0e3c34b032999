//! The crate is a path.

#[llmperf::tool(crate = "perf")]
fn weather() {}

fn main() {
    weather();
}
