//! What is measured, and where it goes: streams without work of their own, an SDK that throws everything away.

use std::{
    hint::black_box,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_core::Stream;
use llmperf_core::{Instrumentation, InstrumentationBuilder, Output, Usage};
use opentelemetry::InstrumentationScope;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    metrics::{PeriodicReader, SdkMeterProvider, Temporality, data::ResourceMetrics, exporter::PushMetricExporter},
    trace::{SdkTracerProvider, Span, SpanData, SpanProcessor},
};

pub(crate) const PROVIDER: &str = "openai";
pub(crate) const MODEL: &str = "gpt-4o-mini";

/// A stream that always has a token ready.
#[derive(Debug)]
pub(crate) struct Tokens(&'static str);

impl Tokens {
    pub(crate) fn new() -> Self {
        Self(black_box("token"))
    }
}

impl Stream for Tokens {
    type Item = &'static str;

    #[inline]
    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<&'static str>> {
        Poll::Ready(Some(self.0))
    }
}

/// The same with a pending poll before each token, as from a model that takes its time: no consumer delays it.
#[derive(Debug)]
pub(crate) struct Paced {
    tokens: Tokens,
    ready: bool,
}

impl Paced {
    pub(crate) fn new() -> Self {
        Self { tokens: Tokens::new(), ready: false }
    }
}

impl Stream for Paced {
    type Item = &'static str;

    #[inline]
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<&'static str>> {
        self.ready = !self.ready;
        if self.ready { Poll::Pending } else { Poll::Ready(Some(self.tokens.0)) }
    }
}

/// What the stream of a whole call carries.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Text(&'static str),
    Last { input: u64, output: u64 },
}

impl Event {
    #[inline]
    pub(crate) fn carries(&self) -> Output<'_> {
        match self {
            Self::Text(text) => Output::text(text),
            Self::Last { input, output } => Output::finish("stop").and_usage(Usage::of(*input, *output)),
        }
    }
}

/// The stream of a whole call: a pending poll before each item, as from a model that takes its time.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    polls: u32,
}

impl Stream for Answer {
    type Item = Event;

    #[inline]
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Event>> {
        self.polls += 1;
        match black_box(self.polls) {
            2 | 4 => Poll::Ready(Some(Event::Text("token"))),
            6 => Poll::Ready(Some(Event::Last { input: 120, output: 48 })),
            7.. => Poll::Ready(None),
            _ => Poll::Pending,
        }
    }
}

/// Polls a stream so many times.
#[inline]
pub(crate) fn poll(mut stream: impl Stream + Unpin, times: u64) {
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..times {
        // By reference: a copy of what was just written piece by piece would stall.
        black_box(&Pin::new(&mut stream).poll_next(&mut cx));
    }
}

/// Polls a stream to its end.
#[inline]
pub(crate) fn exhaust(mut stream: impl Stream + Unpin) {
    let mut cx = Context::from_waker(Waker::noop());
    while !matches!(black_box(&Pin::new(&mut stream).poll_next(&mut cx)), Poll::Ready(None)) {}
}

/// An SDK that does all its work and exports nothing.
#[derive(Debug)]
pub(crate) struct Sdk {
    pub(crate) tracers: SdkTracerProvider,
    pub(crate) meters: SdkMeterProvider,
}

impl Sdk {
    pub(crate) fn new() -> Self {
        let reader = PeriodicReader::builder(Discard).with_interval(Duration::from_secs(3_600)).build();
        Self {
            tracers: SdkTracerProvider::builder().with_span_processor(Discard).build(),
            meters: SdkMeterProvider::builder().with_reader(reader).build(),
        }
    }

    /// An instrumentation whose telemetry goes here.
    pub(crate) fn instrumentation(&self) -> InstrumentationBuilder {
        Instrumentation::builder().tracer_provider(&self.tracers).meter_provider(self.meters.clone())
    }
}

pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("by-hand").with_version("0.1.0").build()
}

#[derive(Debug)]
struct Discard;

impl SpanProcessor for Discard {
    fn on_start(&self, _: &mut Span, _: &opentelemetry::Context) {}

    fn on_end(&self, span: SpanData) {
        drop(black_box(span));
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

impl PushMetricExporter for Discard {
    async fn export(&self, _: &ResourceMetrics) -> OTelSdkResult {
        Ok(())
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        Temporality::Cumulative
    }
}
