//! A whole trait.

#[llmperf::agent]
trait Desk {
    fn run(&self) {}
}

impl Desk for () {}

fn main() {
    ().run();
}
