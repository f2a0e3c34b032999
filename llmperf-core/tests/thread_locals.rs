//! A call that ends where a thread ends: in the destructor of a thread-local, in an unwinding thread, inside a borrow of
//! the current context. It is recorded; nothing panics that did not panic before, nothing aborts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    any::Any,
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Once,
    thread,
};

use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use llmperf_core::{Instrumentation, MeasureStream as _, Recorder, testing::Probe};
use opentelemetry::{Context, trace::TraceContextExt as _};
use tracing_subscriber::{Registry, fmt, layer::SubscriberExt as _};

type Reply = Box<dyn Stream<Item = &'static str> + Unpin>;

/// A probe, and a subscriber that wants our events: it is global, since one of a thread's own ends with the thread.
fn listened() -> Probe {
    static SUBSCRIBER: Once = Once::new();
    SUBSCRIBER.call_once(|| {
        let subscriber = Registry::default().with(fmt::layer().with_writer(std::io::sink));
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
    Probe::new()
}

fn reply(instrumentation: &Instrumentation) -> Reply {
    let mut reply = stream::iter(["one", "two"]).measure(instrumentation.chat("openai", "gpt-4o-mini"));
    assert_eq!(reply.next().now_or_never().flatten(), Some("one"));
    Box::new(reply)
}

thread_local! {
    static KEPT: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// Keeps what `make` gives in a thread-local of a thread that then ends.
///
/// Locals are destroyed in the order opposite to their first use, on most systems: ours is used before what
/// OpenTelemetry and `tracing` keep, so it is destroyed after them.
fn left_to_a_thread<T: 'static>(make: impl FnOnce() -> T + Send) {
    thread::scope(|scope| {
        let thread = scope.spawn(|| KEPT.with_borrow_mut(|kept| *kept = Some(Box::new(make()))));
        thread.join().unwrap();
    });
}

/// How the calls of a probe ended.
fn outcomes(probe: &Probe) -> Vec<(String, f64)> {
    let points = probe.points("llmperf.client.calls");
    points.iter().map(|point| (point.attribute("llmperf.outcome").to_owned(), point.sum)).collect()
}

fn once(outcome: &str) -> Vec<(String, f64)> {
    vec![(outcome.to_owned(), 1.0)]
}

/// The probe's one call ended so, and left nothing behind.
fn assert_ended_once(probe: &Probe, outcome: &str) {
    assert_eq!(outcomes(probe), once(outcome));
    assert_eq!(probe.tree(), if outcome == "error" { "chat gpt-4o-mini !\n" } else { "chat gpt-4o-mini\n" });
    assert_eq!(probe.points("llmperf.internal.events"), [], "no panic was caught on the way");
    assert_eq!(probe.instrumentation().live_calls(), 0);
    assert!(probe.points("llmperf.client.active_calls").iter().all(|point| point.sum == 0.0));
}

#[test]
fn a_stream_in_a_thread_local_ends_with_its_thread() {
    let probe = listened();
    left_to_a_thread(|| reply(probe.instrumentation()));
    assert_ended_once(&probe, "cancelled");
}

#[test]
fn a_recorder_in_a_thread_local_ends_with_its_thread() {
    let probe = listened();
    left_to_a_thread(|| probe.chat("openai", "gpt-4o-mini").start());
    assert_ended_once(&probe, "cancelled");
}

#[test]
fn a_call_that_was_never_armed_leaves_nothing_in_a_thread_local() {
    let probe = listened();
    left_to_a_thread(|| probe.chat("openai", "gpt-4o-mini"));
    assert_eq!(outcomes(&probe), []);
}

/// As a gateway does it that hands replies to a thread pool: the thread that drops the stream has never seen it polled.
#[test]
fn a_stream_that_came_from_another_thread_ends_with_the_thread_that_keeps_it() {
    let probe = listened();
    let mut measured = stream::iter(["one", "two"]).measure(probe.chat("openai", "gpt-4o-mini"));
    assert_eq!(measured.next().now_or_never().flatten(), Some("one"));
    left_to_a_thread(move || measured);
    assert_ended_once(&probe, "cancelled");
}

/// The worst case: the thread has used OpenTelemetry, but never us before its own context was gone. Nobody can know
/// that it is; the event is lost, the call is not.
#[test]
fn a_stream_that_came_to_a_thread_which_had_a_context_is_recorded() {
    let probe = listened();
    let measured = stream::iter(["one", "two"]).measure(probe.chat("openai", "gpt-4o-mini"));
    left_to_a_thread(move || {
        assert!(!Context::current().has_active_span());
        measured
    });
    assert_eq!((outcomes(&probe), probe.tree().as_str()), (once("cancelled"), "chat gpt-4o-mini\n"));
}

#[test]
fn a_stream_dropped_by_a_panicking_consumer_is_cancelled() {
    let probe = listened();
    let instrumentation = probe.instrumentation();
    let ended = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _reply = reply(instrumentation);
            panic!("scripted");
        });
        thread.join()
    });
    assert!(ended.is_err());
    assert_ended_once(&probe, "cancelled");
}

#[test]
fn a_recorder_dropped_by_a_panic_has_failed() {
    let probe = listened();
    let call = probe.chat("openai", "gpt-4o-mini").start();
    assert!(catch_unwind(AssertUnwindSafe(|| hold_and_panic(call))).is_err());
    assert_ended_once(&probe, "error");
}

fn hold_and_panic(_call: Recorder) {
    panic!("scripted");
}

/// A destructor that runs while its thread unwinds may use streams as ever: an end is an end.
#[test]
fn a_stream_that_ends_while_a_thread_unwinds_is_complete() {
    struct Cleanup<'a>(&'a Instrumentation);
    impl Drop for Cleanup<'_> {
        fn drop(&mut self) {
            let mut reply = reply(self.0);
            while reply.next().now_or_never().flatten().is_some() {}
        }
    }
    let probe = listened();
    let instrumentation = probe.instrumentation();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _cleanup = Cleanup(instrumentation);
        panic!("scripted");
    }));
    assert!(unwound.is_err());
    assert_ended_once(&probe, "complete");
}

/// `map_current` lends the current context: while it does, nothing can be attached, and nobody can know. The call is
/// recorded, its event is lost, and that is counted.
#[test]
fn a_stream_dropped_inside_a_borrow_of_the_current_context_is_recorded() {
    let probe = listened();
    let reply = reply(probe.instrumentation());
    Context::map_current(|_| drop(reply));
    assert_eq!(outcomes(&probe), once("cancelled"));
    assert_eq!((probe.tree().as_str(), probe.instrumentation().live_calls()), ("chat gpt-4o-mini\n", 0));
    let oddities = probe.points("llmperf.internal.events");
    assert_eq!(
        oddities.iter().map(|point| point.attribute("llmperf.internal.kind")).collect::<Vec<_>>(),
        ["caught_panic"]
    );
}

/// What a destructor of a thread-local may do with calls: make them, poll them, end them.
#[test]
fn a_call_that_is_made_and_read_while_a_thread_ends_is_recorded() {
    struct Cleanup(Instrumentation);
    impl Drop for Cleanup {
        fn drop(&mut self) {
            let mut reply = reply(&self.0);
            while reply.next().now_or_never().flatten().is_some() {}
            assert!(llmperf_core::current_call().is_none());
            let mut call = self.0.chat("openai", "gpt-4o-mini").start();
            call.in_scope(|| ());
            call.finish();
        }
    }
    let probe = listened();
    left_to_a_thread(|| {
        drop(reply(probe.instrumentation()));
        Cleanup(probe.instrumentation().clone())
    });
    let mut ended = outcomes(&probe);
    ended.sort_by(|(a, _), (b, _)| a.cmp(b));
    assert_eq!(ended, [("cancelled".to_owned(), 1.0), ("complete".to_owned(), 1.0), ("complete".to_owned(), 1.0)]);
}

/// The context of a call keeps nothing of the call alive, and a call may end in any order with the guards around it.
#[test]
fn contexts_of_a_call_may_outlive_it() {
    let probe = listened();
    let call = probe.chat("openai", "gpt-4o-mini").start();
    let guard = call.context().attach();
    drop(call);
    assert_ended_once(&probe, "cancelled");
    assert!(llmperf_core::current_call().is_none());
    drop(guard);
}
