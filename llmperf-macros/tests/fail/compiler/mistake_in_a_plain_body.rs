//! What is wrong in the body stands where it was written.

#[llmperf::tool]
fn weather(city: &str) -> String {
    city
}

fn main() {
    weather("a");
}
