//! What is wrong in the body stands where it was written.

#[llmperf::tool]
async fn weather(city: &str) -> Result<String, std::num::ParseIntError> {
    let degrees: u32 = city.parse()?;
    let warm: bool = degrees;
    Ok(warm.to_string())
}

fn main() {
    drop(weather("a"));
}
