//! Two arguments in one.

#[llmperf::tool(name = "weather" kind = "function")]
fn weather() {}

fn main() {
    weather();
}
