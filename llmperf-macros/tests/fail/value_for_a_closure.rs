//! A goal is a check, not a verdict.

#[llmperf::agent(goal = true)]
fn run() -> u32 {
    1
}

fn main() {
    run();
}
