//! The same telemetry written by hand: one span and its records, with the attributes that an attribute's work has.
//!
//! What that is, is not written down here: the function is run once under a probe, and what it left is what is recorded.
//! Sets of attributes are made beforehand, nothing is looked up but what may have come late.

use std::{hint::black_box, time::SystemTime};

use llmperf::testing::Probe;
use opentelemetry::{
    Context, KeyValue,
    global::{self, BoxedTracer},
    metrics::{Counter, Histogram, Meter},
    trace::{SpanBuilder, SpanKind, TraceContextExt as _, Tracer as _},
};

use crate::setup::scope;

/// What those inside find in the context.
#[derive(Debug)]
#[allow(dead_code, reason = "nobody is inside")]
struct Inside(&'static str);

/// What is left of one run.
pub(crate) struct ByHand {
    /// Fetched for each run where there is none.
    tracer: Option<BoxedTracer>,
    clock: quanta::Clock,
    name: String,
    kind: SpanKind,
    at_start: Vec<KeyValue>,
    at_end: Vec<KeyValue>,
    histograms: Vec<(Histogram<f64>, Vec<KeyValue>)>,
    counters: Vec<(Counter<u64>, Vec<KeyValue>)>,
}

impl ByHand {
    /// The same as `run` leaves.
    pub(crate) fn of(run: impl FnOnce(), tracer: Option<BoxedTracer>, meter: &Meter) -> Self {
        let probe = Probe::new();
        probe.instrumentation().sync_scope(run);
        let span = probe.span();
        let is_of_the_end = |attribute: &KeyValue| attribute.key.as_str() == "llmperf.outcome";
        let (at_end, at_start) = span.attributes.into_iter().partition(is_of_the_end);
        let (mut histograms, mut counters) = (Vec::new(), Vec::new());
        for name in probe.metric_names() {
            for point in probe.points(&name) {
                let set = point.attributes.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
                if point.bounds.is_empty() {
                    counters.push((meter.u64_counter(name.clone()).build(), set));
                } else {
                    let histogram = meter.f64_histogram(name.clone()).with_boundaries(point.bounds).build();
                    histograms.push((histogram, set));
                }
            }
        }
        let (name, kind) = (span.name.into_owned(), span.span_kind);
        Self { tracer, clock: quanta::Clock::new(), name, kind, at_start, at_end, histograms, counters }
    }

    /// How much it is: one span, and so many records.
    pub(crate) fn records(&self) -> usize {
        self.histograms.len() + self.counters.len()
    }

    /// Runs the body in its span, and records it.
    pub(crate) fn measure<T>(&self, body: impl FnOnce() -> T) -> T {
        let (begun, start) = (SystemTime::now(), self.clock.raw());
        black_box(global::meter_provider());
        let parent = Context::current();
        let builder = SpanBuilder::from_name(self.name.clone())
            .with_kind(self.kind.clone())
            .with_start_time(begun)
            .with_attributes(self.at_start.clone());
        let span = match &self.tracer {
            Some(tracer) => tracer.build_with_context(builder, &parent),
            None => global::tracer_with_scope(scope()).build_with_context(builder, &parent),
        };
        let context = parent.with_span(span).with_value(Inside("work"));
        let value = {
            let _current = context.clone().attach();
            body()
        };
        let duration = self.clock.delta(start, self.clock.raw());
        let seconds = duration.as_secs_f64();
        for (histogram, set) in &self.histograms {
            histogram.record(black_box(seconds), set);
        }
        for (counter, set) in &self.counters {
            counter.add(black_box(1), set);
        }
        let span = context.span();
        if span.is_recording() {
            span.set_attributes(self.at_end.clone());
        }
        span.end_with_timestamp(begun + duration);
        value
    }
}
