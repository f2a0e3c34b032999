//! A stream whose type has no room for what measures it.

use futures::channel::mpsc::UnboundedReceiver;

#[llmperf::generation]
fn answer() -> UnboundedReceiver<String> {
    futures::channel::mpsc::unbounded().1
}

fn main() {
    drop(answer());
}
