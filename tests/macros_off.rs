//! Measuring switched off, for the whole process: attributed functions do what they did, and nothing is left of them.

use futures::{FutureExt as _, Stream, StreamExt as _, executor::block_on, future::BoxFuture, stream};
use llmperf::testing::Probe;

#[llmperf::tool]
fn plain(n: u32) -> Option<u32> {
    n.checked_sub(1)
}

#[llmperf::agent(goal = |n: &u32| *n > 0)]
async fn asynchronous(n: u32) -> Result<u32, std::fmt::Error> {
    Ok(n)
}

#[llmperf::retrieval(top_k = n)]
fn boxed(n: u32) -> BoxFuture<'static, u32> {
    async move { n }.boxed()
}

#[llmperf::generation(model = "m")]
fn streamed(n: usize) -> impl Stream<Item = &'static str> {
    stream::iter(vec!["a"; n])
}

#[test]
fn attributes_measure_nothing_and_change_nothing() {
    llmperf::set_enabled(false);
    let probe = Probe::new();
    let scoped = async {
        assert_eq!(plain(1), Some(0));
        assert_eq!(asynchronous(1).await, Ok(1));
        assert_eq!(boxed(1).await, 1);
        assert_eq!(streamed(2).count().await, 2);
    };
    block_on(probe.instrumentation().scope(scoped));
    assert_eq!((probe.tree().as_str(), probe.metric_names()), ("", Vec::new()));
}
