//! Two futures, one in the other.

use std::future::{Future, ready};

#[llmperf::tool]
async fn answer() -> impl Future<Output = u32> {
    ready(1)
}

fn main() {
    drop(answer());
}
