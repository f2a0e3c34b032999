//! It may run in the compiler.

#[llmperf::step]
const fn plan() -> u32 {
    1
}

fn main() {
    const PLAN: u32 = plan();
    let _ = PLAN;
}
