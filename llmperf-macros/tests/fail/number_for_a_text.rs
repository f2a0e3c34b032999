//! A literal of the wrong kind.

#[llmperf::agent(name = 7)]
fn run() {}

fn main() {
    run();
}
