//! Labels multiply the series of a metric.

#[llmperf::step(labels("tenant" = "a", "feature" = "b", "region" = "c"))]
fn plan() {}

fn main() {
    plan();
}
