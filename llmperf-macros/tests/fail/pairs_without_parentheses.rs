//! Attributes come in pairs.

#[llmperf::tool(attributes = "tenant.id")]
fn weather() {}

fn main() {
    weather();
}
