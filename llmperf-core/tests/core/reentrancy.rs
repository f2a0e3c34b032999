//! Code of the user's that runs inside ours: it makes calls, looks at statistics, drops what we measure, breaks.

use std::{
    future::Future as _,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Mutex, OnceLock, Weak},
    time::Duration,
};

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{
    Capture, FinishedCall, Instrumentation, MeasureStream as _, Observer, Output, StartedCall, testing::Probe,
};
use opentelemetry::{
    Context, KeyValue, TraceId,
    trace::{Link, SpanKind, TraceContextExt as _, Tracer as _, TracerProvider as _},
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SamplingResult, SdkTracerProvider, ShouldSample, Span, SpanData, SpanProcessor},
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

#[derive(Clone, Debug)]
struct Breaks;

impl ShouldSample for Breaks {
    fn should_sample(
        &self,
        _: Option<&Context>,
        _: TraceId,
        _: &str,
        _: &SpanKind,
        _: &[KeyValue],
        _: &[Link],
    ) -> SamplingResult {
        panic!("sampler");
    }
}

#[test]
fn a_sampler_that_breaks_costs_the_span_and_nothing_else() {
    let tracers = SdkTracerProvider::builder().with_sampler(Breaks).build();
    let probe = Probe::with(|builder| builder.tracer_provider(&tracers));
    let tracer = probe.tracer_provider().tracer("test");
    let around = Context::new().with_span(tracer.start("around"));
    let inside = stream::iter(["a", "b"]).inspect(|_| drop(tracer.start("inside")));
    let reply = inside.measure(probe.chat("openai", "gpt").parent(around.clone()));
    assert_eq!(block_on(reply.count()), 2);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(probe.count("llmperf.internal.events"), 1.0);
    assert!(around.span().is_recording(), "the span around it is not ours to end");
    let parent = around.span().span_context().span_id();
    assert!(probe.spans().iter().all(|span| span.parent_span_id == parent), "{}", probe.tree());
}

#[derive(Debug)]
struct BreaksAtStart;

impl SpanProcessor for BreaksAtStart {
    fn on_start(&self, _: &mut Span, _: &Context) {
        panic!("processor");
    }
    fn on_end(&self, _: SpanData) {}
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }
    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

#[test]
fn a_processor_that_breaks_at_the_start_costs_the_span_and_nothing_else() {
    let tracers = SdkTracerProvider::builder().with_span_processor(BreaksAtStart).build();
    let probe = Probe::with(|builder| builder.tracer_provider(&tracers));
    let reply = stream::iter(["a", "b"]).measure(probe.chat("openai", "gpt"));
    assert_eq!(block_on(reply.count()), 2);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
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

#[test]
fn a_request_whose_building_panicked_does_not_hang_when_it_is_polled_again() {
    let probe = Probe::new();
    let mut open = Box::pin(probe.chat("openai", "gpt").open_fn(
        || -> futures::future::Ready<std::io::Result<stream::Iter<std::array::IntoIter<&'static str, 1>>>> {
            panic!("built")
        },
    ));
    let mut poll = || {
        let context = &mut std::task::Context::from_waker(std::task::Waker::noop());
        panic::catch_unwind(AssertUnwindSafe(|| open.as_mut().poll(context).is_pending()))
    };
    assert!(poll().is_err());
    assert!(poll().is_err(), "nobody would ever wake it");
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
