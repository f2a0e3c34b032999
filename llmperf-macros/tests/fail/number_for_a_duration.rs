//! Five of what?

#[llmperf::tool(deadline = 5)]
async fn weather() {}

fn main() {
    drop(weather());
}
