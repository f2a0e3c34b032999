//! Functions that give a stream: the work ends with it.

use std::{future::Future, pin::Pin};

use futures::{
    Stream, StreamExt as _,
    stream::{self, BoxStream, FusedStream, LocalBoxStream, TryStream},
};
use llmperf::testing::Probe;

use crate::support::{BoxError, Refused, awaited, on};

#[llmperf::agent]
fn opaque(n: u32) -> impl Stream<Item = Result<u32, BoxError>> + Send {
    stream::iter(0..n).map(Ok)
}

#[llmperf::step]
fn lent<'a>(words: &'a [String]) -> impl Stream<Item = &'a str> + Unpin + 'a {
    stream::iter(words).map(String::as_str)
}

#[llmperf::step]
fn fused(n: u32) -> impl FusedStream<Item = u32> {
    stream::iter(0..n).fuse()
}

#[llmperf::step]
fn tried(n: u32) -> impl TryStream<Ok = u32, Error = Refused> {
    stream::iter(0..n).map(Ok)
}

#[llmperf::workflow]
fn boxed(words: &[String]) -> BoxStream<'_, &str> {
    stream::iter(words).map(String::as_str).boxed()
}

#[llmperf::workflow]
fn pinned(words: &mut [String]) -> Pin<Box<dyn Stream<Item = &mut String> + Send + '_>> {
    Box::pin(stream::iter(words))
}

#[llmperf::tool]
fn pinned_opaque(n: u32) -> Pin<Box<impl Stream<Item = u32>>> {
    Box::pin(stream::iter(0..n))
}

#[llmperf::tool]
fn local(n: u32) -> LocalBoxStream<'static, std::rc::Rc<u32>> {
    stream::iter(0..n).map(std::rc::Rc::new).boxed_local()
}

#[llmperf::tool]
fn unpinned(n: u32) -> Box<dyn Stream<Item = u32> + Unpin + Send> {
    Box::new(stream::iter(0..n))
}

/// The number of items of a stream, what it left, and that it left nothing before.
fn counted<S: Stream>(make: impl FnOnce() -> S) -> (usize, String) {
    let probe = Probe::new();
    let stream = on(&probe, async || make());
    assert_eq!(probe.tree(), "", "the work is over before its stream is");
    let count = futures::executor::block_on(stream.count());
    (count, probe.tree())
}

#[test]
fn streams_in_every_form() {
    let mut words = ["a".to_owned(), "b".to_owned()];
    assert_eq!(counted(|| opaque(3)), (3, "invoke_agent opaque\n".into()));
    assert_eq!(counted(|| lent(&words)), (2, "step lent\n".into()));
    assert_eq!(counted(|| fused(1)), (1, "step fused\n".into()));
    use futures::TryStreamExt as _;
    assert_eq!(counted(|| tried(1).into_stream()), (1, "step tried\n".into()));
    assert_eq!(counted(|| boxed(&words)), (2, "invoke_workflow boxed\n".into()));
    assert_eq!(counted(|| pinned(&mut words)), (2, "invoke_workflow pinned\n".into()));
    assert_eq!(counted(|| pinned_opaque(2)), (2, "execute_tool pinned_opaque\n".into()));
    assert_eq!(counted(|| local(2)), (2, "execute_tool local\n".into()));
    assert_eq!(counted(|| unpinned(2)), (2, "execute_tool unpinned\n".into()));
}

#[llmperf::tool]
fn in_result(n: u32) -> Result<impl Stream<Item = u32>, BoxError> {
    if n == 0 {
        Err(Refused)?;
    }
    Ok(stream::iter(0..n))
}

#[llmperf::tool]
fn in_both(n: u32) -> Option<Result<BoxStream<'static, u32>, Refused>> {
    match n {
        0 => None,
        1 => Some(Err(Refused)),
        n => Some(Ok(stream::iter(0..n).boxed())),
    }
}

#[test]
fn a_stream_in_a_result_or_an_option() {
    assert_eq!(counted(|| in_result(2).unwrap()), (2, "execute_tool in_result\n".into()));
    assert_eq!(awaited(async || in_result(0).is_err()), (true, "execute_tool in_result !\n".into()));
    assert_eq!(counted(|| in_both(2).unwrap().unwrap()), (2, "execute_tool in_both\n".into()));
    assert_eq!(awaited(async || in_both(1).unwrap().is_err()), (true, "execute_tool in_both !\n".into()));
    assert_eq!(awaited(async || in_both(0).is_none()), (true, "execute_tool in_both\n".into()));
}

#[llmperf::agent]
async fn asynchronous(n: u32) -> Result<impl Stream<Item = Result<u32, Refused>>, BoxError> {
    std::future::ready(()).await;
    if n == 0 {
        Err(Refused)?;
    }
    Ok(stream::iter(0..n).map(Ok))
}

#[llmperf::agent]
async fn asynchronous_bare(n: u32) -> impl Stream<Item = u32> {
    stream::iter(0..n)
}

#[llmperf::agent]
fn future_of_stream(n: u32) -> impl Future<Output = Result<BoxStream<'static, u32>, BoxError>> {
    async move { Ok(stream::iter(0..n).boxed()) }
}

#[test]
fn a_stream_that_is_awaited() {
    let tree = "invoke_agent asynchronous\n";
    assert_eq!(awaited(async || asynchronous(2).await.unwrap().count().await), (2, tree.into()));
    assert_eq!(awaited(async || asynchronous(0).await.is_err()), (true, "invoke_agent asynchronous !\n".into()));
    let tree = "invoke_agent asynchronous_bare\n";
    assert_eq!(awaited(async || asynchronous_bare(2).await.count().await), (2, tree.into()));
    let tree = "invoke_agent future_of_stream\n";
    assert_eq!(awaited(async || future_of_stream(2).await.unwrap().count().await), (2, tree.into()));
}

type Answer<T = u32> = BoxStream<'static, T>;

#[llmperf::agent(stream = boxed)]
fn alias(n: u32) -> Answer {
    stream::iter(0..n).boxed()
}

#[llmperf::agent(stream = boxed)]
async fn alias_in(n: u32) -> Result<Answer<u32>, BoxError> {
    if n == 0 {
        Err(Refused)?;
    }
    Ok(stream::iter(0..n).boxed())
}

#[test]
fn an_alias_of_a_boxed_stream() {
    assert_eq!(counted(|| alias(2)), (2, "invoke_agent alias\n".into()));
    let tree = "invoke_agent alias_in\n";
    assert_eq!(awaited(async || alias_in(2).await.unwrap().count().await), (2, tree.into()));
}

struct BitStream(u32);

#[llmperf::tool(stream = none)]
fn not_a_stream(n: u32) -> BitStream {
    BitStream(n)
}

#[test]
fn what_is_only_called_a_stream() {
    assert_eq!(awaited(async || not_a_stream(2).0), (2, "execute_tool not_a_stream\n".into()));
}

#[test]
fn size_hint_and_end_are_those_of_the_stream() {
    let _: (u32, String) = awaited(async || {
        let stream = std::pin::pin!(fused(2));
        assert_eq!(stream.size_hint(), (2, Some(2)));
        assert!(!stream.is_terminated());
        0
    });
}
