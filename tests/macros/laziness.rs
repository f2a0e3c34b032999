//! What an attribute leaves as it was: laziness, what may go to another thread, what stays where it is.

use std::{
    cell::Cell,
    future::Future,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use futures::{Stream, stream};
use llmperf::testing::Probe;

use crate::support::{BoxError, Refused, on};

fn assert_send<T: Send>(value: T) -> T {
    value
}

fn assert_sync<T: Sync>(value: T) -> T {
    value
}

fn assert_unpin<T: Unpin>(value: T) -> T {
    value
}

fn assert_static<T: 'static>(value: T) -> T {
    value
}

#[llmperf::retrieval(store = store, top_k = counted(seen))]
async fn lazy(store: &str, seen: &AtomicU32) -> Result<Vec<u32>, BoxError> {
    seen.fetch_add(1, Ordering::Relaxed);
    Ok(vec![1])
}

fn counted(seen: &AtomicU32) -> u32 {
    seen.fetch_add(10, Ordering::Relaxed)
}

#[test]
fn nothing_runs_and_nothing_is_measured_before_the_first_poll() {
    let (probe, seen) = (Probe::new(), AtomicU32::new(0));
    on(&probe, async || {
        let future = lazy("qdrant", &seen);
        probe.clock().advance(std::time::Duration::from_secs(1));
        assert_eq!(seen.load(Ordering::Relaxed), 0);
        drop(future);
    });
    assert_eq!((probe.tree().as_str(), seen.load(Ordering::Relaxed)), ("", 0));
    on(&probe, async || lazy("qdrant", &seen).await.map(drop)).unwrap();
    let span = probe.span();
    assert_eq!(span.start_time, span.end_time);
    assert_eq!(seen.load(Ordering::Relaxed), 11);
}

#[llmperf::tool]
fn eager(seen: Rc<Cell<u32>>) -> impl Future<Output = u32> {
    seen.set(1);
    async move { seen.replace(2) }
}

#[llmperf::tool]
fn eager_stream(seen: Rc<Cell<u32>>) -> impl Stream<Item = u32> {
    seen.set(1);
    stream::once(async move { seen.replace(2) })
}

#[test]
fn what_a_plain_function_does_before_it_gives_its_future_it_still_does() {
    let (probe, seen) = (Probe::new(), Rc::new(Cell::new(0)));
    on(&probe, async || {
        let future = eager(seen.clone());
        assert_eq!(seen.get(), 1);
        drop(future);
        assert_eq!(probe.tree(), "");
        assert_eq!(eager(seen.clone()).await, 1);
        assert_eq!(seen.get(), 2);
    });
    assert_eq!(probe.tree(), "execute_tool eager\n");
}

#[test]
fn a_stream_is_armed_at_the_call() {
    let (probe, seen) = (Probe::new(), Rc::new(Cell::new(0)));
    on(&probe, async || {
        let stream = eager_stream(seen.clone());
        assert_eq!(seen.get(), 1);
        drop(stream);
    });
    assert_eq!(probe.tree(), "execute_tool eager_stream\n");
}

#[llmperf::agent(goal = |answer: &u32| *answer > least)]
async fn goal(least: u32) -> Result<u32, BoxError> {
    std::future::ready(()).await;
    Err(Refused)?;
    Ok(least)
}

#[llmperf::generation(provider = "openai", model = model, reads = |answer: &String| llmperf::Output::text(answer))]
async fn generation(model: &str) -> Result<String, BoxError> {
    std::future::ready(()).await;
    Ok(model.to_owned())
}

#[llmperf::pipeline(first_output = |item: &u32| *item > 0)]
fn pipeline(n: u32) -> impl Stream<Item = u32> {
    stream::iter(0..n)
}

/// A guard of a lock among an argument's temporaries must not live until the function ends, least of all across an `await`.
#[llmperf::step(name = names.lock().map_or_else(|_| String::new(), |names| names[0].clone()))]
async fn locked(names: Arc<std::sync::Mutex<Vec<String>>>) -> usize {
    std::future::ready(()).await;
    names.lock().map_or(0, |names| names.len())
}

#[test]
fn futures_and_streams_go_where_they_could_go() {
    let seen = AtomicU32::new(0);
    drop(assert_send(lazy("a", &seen)));
    drop(assert_static(assert_send(goal(1))));
    drop(assert_send(generation("m")));
    drop(assert_unpin(assert_sync(assert_static(assert_send(pipeline(1))))));
    drop(assert_unpin(assert_static(assert_send(unpinned(1)))));
    let probe = Probe::new();
    let names = Arc::new(std::sync::Mutex::new(vec!["a".to_owned()]));
    assert_eq!(on(&probe, || assert_send(locked(names))), 1);
    assert_eq!(probe.tree(), "step a\n");
}

#[llmperf::step]
fn unpinned(n: u32) -> impl Future<Output = u32> + Unpin + Send {
    std::future::ready(n)
}

/// Passes through other tasks only if it is `Send`; a spawn needs the one visible call.
#[llmperf::tool]
async fn spawned(n: u32) -> u32 {
    tokio::task::yield_now().await;
    n
}

#[llmperf::agent]
async fn spawner() -> u32 {
    use llmperf::InCurrentScope as _;
    let tasks = (0..3).map(|n| tokio::spawn(spawned(n).in_current_scope()));
    futures::future::join_all(tasks).await.into_iter().map(Result::unwrap).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spawned_tool_is_a_child_if_it_is_given_the_scope() {
    let probe = Probe::new();
    let sum = probe.instrumentation().scope(async { spawner().await }).await;
    let tool = "  execute_tool spawned\n";
    assert_eq!((sum, probe.tree()), (3, format!("invoke_agent spawner\n{tool}{tool}{tool}")));
}

struct NoticesDrop(Rc<Cell<&'static str>>);

impl Drop for NoticesDrop {
    fn drop(&mut self) {
        self.0.set("dropped");
    }
}

#[llmperf::step]
async fn keeps(item: NoticesDrop) -> &'static str {
    std::future::ready(()).await;
    item.0.get()
}

#[llmperf::step]
#[allow(clippy::needless_pass_by_value, reason = "the shape is what is tested")]
fn drops(item: NoticesDrop) -> &'static str {
    item.0.get()
}

#[test]
fn arguments_live_as_long_as_the_body() {
    let state = Rc::new(Cell::new("alive"));
    let probe = Probe::new();
    assert_eq!(on(&probe, || keeps(NoticesDrop(state.clone()))), "alive");
    assert_eq!(state.replace("alive"), "dropped");
    assert_eq!(drops(NoticesDrop(state.clone())), "alive");
    assert_eq!(state.get(), "dropped");
}
