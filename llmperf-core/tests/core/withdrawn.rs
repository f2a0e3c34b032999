//! Calls that turn out to be none: the answer came from a cache.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use llmperf_core::{
    FinishedCall, MeasureStream as _, Observer, Output, Recorder, Scope, StartedCall, Usage, testing::Probe,
};
use opentelemetry::Context;

/// Ids of calls that started, finished, were none.
#[derive(Debug, Default)]
struct Seen([AtomicU64; 3]);

impl Seen {
    fn counts(&self) -> [u64; 3] {
        self.0.each_ref().map(|count| count.load(Ordering::Relaxed))
    }
}

impl Observer for Seen {
    fn started(&self, _: &StartedCall<'_>) {
        self.0[0].fetch_add(1, Ordering::Relaxed);
    }

    fn finished(&self, _: &FinishedCall<'_>) {
        self.0[1].fetch_add(1, Ordering::Relaxed);
    }

    fn withdrawn(&self, _: u64) {
        self.0[2].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn of_a_call_that_was_none_only_its_span_is_left_under_the_name_that_it_was_given() {
    let probe = Probe::new();
    let mut call = probe.chat("openai", "gpt-4o-mini").start();
    call.withdraw("cached");
    call.on_answer(Output::text("dry").and_usage(Usage::of(7, 1)));
    assert_eq!(probe.tree(), "cached\n");
    assert_eq!(probe.metric_names(), ["llmperf.client.active_calls"]);
    assert_eq!(probe.points("llmperf.client.active_calls").iter().map(|point| point.sum).sum::<f64>(), 0.0);
    assert_eq!(probe.instrumentation().live_calls(), 0);
    let snapshot = probe.instrumentation().snapshot();
    assert!(snapshot.series.is_empty(), "{snapshot:?}");
}

#[test]
fn observers_hear_of_it_once_and_of_no_end() {
    let (global, framed) = (Arc::new(Seen::default()), Arc::new(Seen::default()));
    let probe = Probe::with(|builder| builder.observer(Arc::clone(&global) as _));
    let scope = Scope::open(&Context::new(), Arc::clone(&framed) as _);
    let mut call = probe.chat("openai", "gpt-4o-mini").parent(scope.context().clone()).start();
    call.withdraw("cached");
    call.withdraw("again");
    drop(call);
    assert_eq!([global.counts(), framed.counts()], [[1, 0, 1]; 2]);
    assert_eq!(probe.tree(), "cached\n");
}

#[test]
fn a_call_that_has_ended_is_not_taken_back() {
    let probe = Probe::new();
    let mut call = probe.chat("openai", "gpt-4o-mini").start();
    call.on_answer(Output::text("dry"));
    call.withdraw("cached");
    drop(call);
    assert_eq!((probe.tree().as_str(), probe.count("llmperf.client.calls")), ("chat gpt-4o-mini\n", 1.0));
}

#[test]
fn an_attempt_that_was_none_leaves_its_call_as_it_is() {
    let probe = Probe::new();
    let mut outer = probe.chat("openai", "gpt-4o-mini").start();
    outer.in_scope(|| {
        let mut inner = probe.chat("openai", "gpt-4o-mini").start();
        inner.withdraw("cached");
        inner.on_answer(Output::usage(7, 1));
    });
    outer.on_answer(Output::text("dry"));
    assert_eq!(probe.tree(), "chat gpt-4o-mini\n  cached\n");
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert!(probe.points("llmperf.client.tokens").is_empty());
}

#[test]
fn a_recorder_of_nothing_lets_a_stream_pass_unmeasured() {
    let reply = futures::stream::iter(["a", "b"]).measure(Recorder::default());
    assert_eq!(futures::executor::block_on_stream(reply).collect::<Vec<_>>(), ["a", "b"]);
}
