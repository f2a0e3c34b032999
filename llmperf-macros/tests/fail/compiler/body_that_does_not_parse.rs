//! What does not parse is the compiler's affair.

#[llmperf::tool]
fn weather(city: &str) -> usize {
    let length = city.len(;
    length
}

fn main() {
    weather("a");
}
