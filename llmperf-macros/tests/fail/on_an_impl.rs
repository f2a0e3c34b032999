//! A whole implementation.

struct Desk;

#[llmperf::agent]
impl Desk {
    fn run(&self) {}
}

fn main() {
    Desk.run();
}
