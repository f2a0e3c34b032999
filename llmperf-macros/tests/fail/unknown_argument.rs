//! An argument that another attribute takes.

#[llmperf::tool(store = "qdrant")]
fn weather(city: &str) -> String {
    city.to_owned()
}

fn main() {
    weather("Lisbon");
}
