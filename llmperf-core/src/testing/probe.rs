//! An instrumentation whose telemetry stays in memory.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use opentelemetry::Context;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider, data::ResourceMetrics},
    trace::{Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor},
};

use super::{ManualClock, Point, points, tree};
use crate::{Call, Instrumentation, InstrumentationBuilder};

/// A hand-moved clock, an instrumentation on it, and what it exported. Nothing global is touched, so tests run side by
/// side.
#[derive(Debug)]
pub struct Probe {
    clock: ManualClock,
    instrumentation: Instrumentation,
    spans: Kept,
    metrics: InMemoryMetricExporter,
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
}

impl Probe {
    /// A probe whose instrumentation has all defaults and whose spans are all sampled.
    #[must_use]
    pub fn new() -> Self {
        Self::with(|builder| builder)
    }

    /// A probe whose instrumentation is built as said.
    #[must_use]
    pub fn with(build: impl FnOnce(InstrumentationBuilder) -> InstrumentationBuilder) -> Self {
        Self::sampled(Sampler::AlwaysOn, build)
    }

    /// A probe with a sampler of its own.
    #[must_use]
    pub fn sampled(sampler: Sampler, build: impl FnOnce(InstrumentationBuilder) -> InstrumentationBuilder) -> Self {
        let spans = Kept::default();
        let tracers = SdkTracerProvider::builder().with_sampler(sampler).with_span_processor(spans.clone()).build();
        let metrics = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(metrics.clone()).with_interval(Duration::from_secs(3_600));
        let meters = SdkMeterProvider::builder().with_reader(reader.build()).build();
        let clock = ManualClock::new();
        let builder = Instrumentation::builder().tracer_provider(&tracers).meter_provider(meters.clone()).clock(&clock);
        Self { clock, instrumentation: build(builder).build(), spans, metrics, tracers, meters }
    }

    /// The clock that all of it runs on.
    #[must_use]
    pub fn clock(&self) -> &ManualClock {
        &self.clock
    }

    /// The instrumentation.
    #[must_use]
    pub fn instrumentation(&self) -> &Instrumentation {
        &self.instrumentation
    }

    /// The provider that its spans go to, for spans of the test's own.
    #[must_use]
    pub fn tracer_provider(&self) -> &SdkTracerProvider {
        &self.tracers
    }

    /// A chat call: its clock starts now.
    pub fn chat(&self, provider: impl Into<Cow<'static, str>>, model: impl Into<Cow<'static, str>>) -> Call {
        self.instrumentation.chat(provider, model)
    }

    /// The spans that have ended, in their order of ending.
    #[must_use]
    pub fn spans(&self) -> Vec<SpanData> {
        self.spans.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The only span that has ended.
    ///
    /// # Panics
    ///
    /// If there is none, or another.
    #[must_use]
    #[allow(clippy::panic, reason = "an assertion for tests")]
    pub fn span(&self) -> SpanData {
        let mut spans = self.spans();
        match (spans.pop(), spans.len()) {
            (Some(span), 0) => span,
            (_, more) => panic!("one span was expected, {more} others ended: {}", self.tree()),
        }
    }

    /// The spans that have ended, as a tree: one line each, children indented, in the order of their starts.
    #[must_use]
    pub fn tree(&self) -> String {
        tree::render(&self.spans())
    }

    /// All series of a metric; none if it was not recorded.
    #[must_use]
    pub fn points(&self, metric: &str) -> Vec<Point> {
        let exported = self.exported();
        let scopes = exported.iter().flat_map(ResourceMetrics::scope_metrics);
        let found = scopes
            .flat_map(opentelemetry_sdk::metrics::data::ScopeMetrics::metrics)
            .filter(|found| found.name() == metric);
        found.flat_map(points::of).collect()
    }

    /// The sum over all series: records of a histogram, value of a counter.
    #[must_use]
    pub fn count(&self, metric: &str) -> f64 {
        let of = |point: &Point| if point.bounds.is_empty() { point.sum } else { point.count as f64 };
        // Not `sum`, whose sum of nothing is -0.
        self.points(metric).iter().map(of).fold(0.0, |sum, value| sum + value)
    }

    /// The names of all metrics that were recorded, sorted.
    #[must_use]
    pub fn metric_names(&self) -> Vec<String> {
        let exported = self.exported();
        let scopes = exported.iter().flat_map(ResourceMetrics::scope_metrics);
        let mut names: Vec<_> = scopes
            .flat_map(opentelemetry_sdk::metrics::data::ScopeMetrics::metrics)
            .map(|metric| metric.name().to_owned())
            .collect();
        names.sort();
        names
    }

    fn exported(&self) -> Option<ResourceMetrics> {
        self.metrics.reset();
        // A flush that fails leaves nothing to find, and the assertion says what is missing.
        let _ = self.meters.force_flush();
        self.metrics.get_finished_metrics().ok()?.pop()
    }
}

impl Default for Probe {
    fn default() -> Self {
        Self::new()
    }
}

/// Keeps ended spans as they are. The SDK's own in-memory exporter blocks on a future, which a test's executor forbids.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanProcessor for Kept {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
