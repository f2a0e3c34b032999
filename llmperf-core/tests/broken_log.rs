//! A log that breaks, in a process of its own: whether events are enabled is cached for all threads.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{MeasureStream as _, Outcome, testing::Probe};
use tracing::{
    Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
    subscriber::with_default,
};

/// Breaks on every event.
struct Broken;

impl Subscriber for Broken {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        panic!("log");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn report_38_a_log_that_breaks_stops_no_stream_and_no_drop() {
    let probe = Probe::new();
    let call = || probe.chat("openai", "gpt-4o-mini");
    with_default(Broken, || {
        let mut reply = stream::iter(["a", "b", "c"]).measure(call());
        assert_eq!(block_on(reply.by_ref().collect::<Vec<_>>()), ["a", "b", "c"]);
        assert_eq!(reply.timing().outcome, Some(Outcome::Complete));
        drop(call().start());
    });
    assert_eq!(probe.count("llmperf.client.calls"), 2.0);
    assert_eq!(probe.count("llmperf.internal.events"), 2.0, "each event that was lost is counted");
    assert_eq!(probe.instrumentation().live_calls(), 0);
}
