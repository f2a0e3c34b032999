//! The same key of the user's own again.

#[llmperf::step(attributes("tenant.id" = 1, "tenant.id" = 2))]
fn plan() {}

fn main() {
    plan();
}
