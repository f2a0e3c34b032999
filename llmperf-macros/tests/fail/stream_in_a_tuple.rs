//! A stream where nobody looks for one.

use futures::stream::{self, BoxStream, StreamExt as _};

#[llmperf::generation]
fn answer() -> (u32, BoxStream<'static, String>) {
    (0, stream::empty().boxed())
}

fn main() {
    drop(answer());
}
