//! A value that does not say what it is.

#[llmperf::tool("weather")]
fn weather() {}

fn main() {
    weather();
}
