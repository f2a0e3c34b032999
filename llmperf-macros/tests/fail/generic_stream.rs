//! A stream of the caller's own type.

use futures::stream::{self, Stream};

#[llmperf::generation]
fn passed<S: Stream<Item = String>>(stream: S) -> S {
    stream
}

fn main() {
    drop(passed(stream::empty()));
}
