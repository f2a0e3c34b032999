//! Code of the user's that runs inside ours: it makes calls, looks at statistics, drops what we measure, breaks.

use std::{
    panic,
    sync::{Arc, Mutex, OnceLock, Weak},
};

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{
    Capture, FinishedCall, Instrumentation, MeasureStream as _, Observer, Output, StartedCall, testing::Probe,
};

/// Makes and ends a call of its own for each that it sees, but for its own.
#[derive(Debug, Default)]
struct Makes(OnceLock<Instrumentation>);

impl Makes {
    fn call(&self, model: &str) {
        if let Some(instrumentation) = self.0.get().filter(|_| model != "inner") {
            let _snapshot = instrumentation.snapshot();
            let mut call = instrumentation.chat("openai", "inner").start();
            call.on_chunk(Output::text("hi"));
            let _ended = call.finish();
        }
    }
}

impl Observer for Makes {
    fn started(&self, call: &StartedCall<'_>) {
        self.call(call.model);
    }
    fn finished(&self, call: &FinishedCall<'_>) {
        self.call(call.model);
    }
}

#[test]
fn an_observer_may_make_calls_of_its_own_and_look_at_statistics() {
    let observer = Arc::new(Makes::default());
    let probe = Probe::with(|builder| builder.observer(observer.clone()));
    observer.0.set(probe.instrumentation().clone()).unwrap();
    let reply = stream::iter(["a", "b"]).measure(probe.chat("openai", "outer"));
    assert_eq!(block_on(reply.count()), 2);
    assert_eq!(probe.count("llmperf.client.calls"), 3.0);
}

#[test]
fn hooks_may_make_calls_of_their_own() {
    let inner = Probe::new();
    let of_hook = inner.instrumentation().clone();
    let of_tokenizer = inner.instrumentation().clone();
    let make = |instrumentation: &Instrumentation| drop(instrumentation.chat("openai", "inner").start());
    let capture = Capture::on_spans_and_events().redact(move |text| {
        make(&of_hook);
        text.into()
    });
    let probe = Probe::with(|builder| builder.capture(capture));
    let call = probe.chat("openai", "outer").prompt("hi").tokenizer(move |_| {
        make(&of_tokenizer);
        1
    });
    assert_eq!(block_on(stream::iter(["a", "b"]).measure(call).count()), 2);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert!(inner.count("llmperf.client.calls") >= 4.0);
}

/// An observer whose panic panics once more when it is let go.
#[derive(Debug)]
struct PanicsTwice;

struct Again;

impl Drop for Again {
    fn drop(&mut self) {
        panic!("again");
    }
}

impl Observer for PanicsTwice {
    fn finished(&self, _: &FinishedCall<'_>) {
        panic::panic_any(Again);
    }
}

#[test]
fn a_panic_that_panics_when_it_is_let_go_stops_no_stream() {
    let probe = Probe::with(|builder| builder.observer(Arc::new(PanicsTwice)));
    let reply = stream::iter(["a", "b"]).measure(probe.chat("openai", "gpt"));
    assert_eq!(block_on(reply.count()), 2);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}

/// Streams in a shared place, one dropped while the other is polled.
#[test]
fn a_call_may_be_dropped_inside_the_poll_of_another() {
    let probe = Probe::new();
    let other = Arc::new(Mutex::new(Some(stream::pending::<&str>().measure(probe.chat("openai", "other")))));
    let place: Weak<_> = Arc::downgrade(&other);
    let items = stream::iter(["a", "b"]).inspect(move |_| {
        if let Some(place) = place.upgrade() {
            drop(place.lock().unwrap().take());
        }
    });
    assert_eq!(block_on(items.measure(probe.chat("openai", "gpt")).count()), 2);
    assert_eq!(probe.count("llmperf.client.calls"), 2.0);
}
