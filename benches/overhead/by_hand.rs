//! The same telemetry written by hand: one span and its records, with the attributes that a measured call gives them.
//!
//! [`ByHand::measure`] makes the calls of the API that a measured call cannot do without, too: a value in the context for
//! those inside, a look at the global meter provider (instruments made before it was set record nothing).
//! Written to be hard to beat: for this one call, with all attribute sets made beforehand and no figure looked after but
//! those recorded here.

use std::{
    hint::black_box,
    pin::Pin,
    task::{Context as Task, Poll, Waker},
    time::{Duration, SystemTime},
};

use futures_core::Stream;
use opentelemetry::{
    Array, Context, KeyValue, StringValue, Value,
    global::{self, BoxedTracer},
    metrics::{Counter, Histogram, Meter, UpDownCounter},
    trace::{SpanBuilder, SpanKind, TraceContextExt as _, Tracer as _},
};

use crate::setup::{Event, MODEL, PROVIDER, scope};

type Set = Vec<KeyValue>;

/// What those inside a call find of it in the context.
#[derive(Debug)]
#[allow(dead_code, reason = "nobody is inside")]
struct Inside {
    provider: &'static str,
    model: &'static str,
}

/// What is recorded of each call.
pub(crate) struct ByHand {
    /// Fetched for each call where there is none.
    tracer: Option<BoxedTracer>,
    clock: quanta::Clock,
    active: UpDownCounter<i64>,
    waiting: Set,
    streaming: Set,
    seconds: Vec<(Histogram<f64>, Set)>,
    sizes: Vec<(Histogram<u64>, Set)>,
    counts: Vec<(Counter<u64>, Set)>,
}

impl ByHand {
    pub(crate) fn new(tracer: Option<BoxedTracer>, meter: &Meter) -> Self {
        let base = || {
            vec![
                KeyValue::new("gen_ai.operation.name", "chat"),
                KeyValue::new("gen_ai.provider.name", PROVIDER),
                KeyValue::new("gen_ai.request.model", MODEL),
            ]
        };
        let and = |more: &[(&'static str, &'static str)]| {
            let mut set = base();
            set.extend(more.iter().map(|(key, value)| KeyValue::new(*key, *value)));
            set
        };
        let histogram = |name: &'static str, bounds: usize, set: Set| {
            let bounds = (0..bounds).map(|n| 0.001 * 1.5_f64.powi(n as i32)).collect();
            (meter.f64_histogram(name).with_boundaries(bounds).build(), set)
        };
        let sizes = |name: &'static str| {
            let bounds = (0..14).map(|n| 4_f64.powi(n)).collect();
            (meter.u64_histogram(name).with_boundaries(bounds).build(), base())
        };
        let counter = |name: &'static str, set: Set| (meter.u64_counter(name).build(), set);
        let done = &[("llmperf.input.size", "le_512"), ("llmperf.outcome", "complete")];
        let mut calls = and(&[("llmperf.outcome", "complete")]);
        calls.push(KeyValue::new("gen_ai.request.stream", true));
        Self {
            tracer,
            clock: quanta::Clock::new(),
            active: meter.i64_up_down_counter("active_calls").build(),
            waiting: and(&[("llmperf.phase", "waiting")]),
            streaming: and(&[("llmperf.phase", "streaming")]),
            seconds: vec![
                histogram("gen_ai.duration", 14, base()),
                histogram("gen_ai.time_to_first_chunk", 14, base()),
                histogram("gen_ai.time_per_output_chunk", 14, base()),
                histogram("duration", 27, and(done)),
                histogram("time_to_first_token", 27, and(&done[..1])),
                histogram("time_to_first_answer", 27, base()),
                histogram("consumer_wait", 27, base()),
                histogram("time_per_output_token", 22, base()),
                histogram("longest_gap", 22, base()),
                histogram("output_token_rate", 17, base()),
            ],
            sizes: vec![sizes("gen_ai.input_tokens"), sizes("gen_ai.output_tokens"), sizes("prompt.tokens")],
            counts: vec![
                counter("gen_ai.usage.input_tokens", and(&[("gen_ai.token.modality", "unknown")])),
                counter("gen_ai.usage.output_tokens", and(&[("gen_ai.token.modality", "unknown")])),
                counter("calls", calls),
                counter("input_tokens", and(&[("llmperf.token.type", "input")])),
                counter("output_tokens", and(&[("llmperf.token.type", "output")])),
            ],
        }
    }

    /// The bare telemetry of a call, without measuring anything.
    pub(crate) fn telemetry(&self) {
        let begun = SystemTime::now();
        let context = self.begin(begun);
        self.stream();
        self.end(&context, begun, Duration::from_micros(2));
    }

    /// A whole call: its stream polled within its context, the clock read as often as the figures need it.
    pub(crate) fn measure(&self, mut stream: impl Stream<Item = Event> + Unpin) {
        let (begun, start) = (SystemTime::now(), self.clock.raw());
        black_box(global::meter_provider());
        let context = self.begin(begun).with_value(Inside { provider: PROVIDER, model: MODEL });
        let attach = context.span().span_context().is_valid();
        let mut task = Task::from_waker(Waker::noop());
        let (mut first, mut last) = (None, start);
        loop {
            let polled = {
                let _current = (attach || first.is_none()).then(|| context.clone().attach());
                Pin::new(&mut stream).poll_next(&mut task)
            };
            match black_box(&polled) {
                Poll::Pending => {
                    black_box(self.clock.raw());
                }
                Poll::Ready(Some(_)) => {
                    last = self.clock.raw();
                    if first.is_none() {
                        first = Some(last);
                        self.stream();
                    }
                }
                Poll::Ready(None) => break,
            }
        }
        self.end(&context, begun, self.clock.delta(start, last));
    }

    fn begin(&self, begun: SystemTime) -> Context {
        let parent = Context::current();
        let attributes = vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.provider.name", PROVIDER),
            KeyValue::new("gen_ai.request.model", MODEL),
        ];
        let builder = SpanBuilder::from_name(["chat ", MODEL].concat())
            .with_kind(SpanKind::Client)
            .with_start_time(begun)
            .with_attributes(attributes);
        let span = match &self.tracer {
            Some(tracer) => tracer.build_with_context(builder, &parent),
            None => global::tracer_with_scope(scope()).build_with_context(builder, &parent),
        };
        self.active.add(1, &self.waiting);
        parent.with_span(span)
    }

    /// The first chunk has come.
    fn stream(&self) {
        self.active.add(-1, &self.waiting);
        self.active.add(1, &self.streaming);
    }

    fn end(&self, context: &Context, begun: SystemTime, duration: Duration) {
        let seconds = duration.as_secs_f64();
        self.active.add(-1, &self.streaming);
        for (histogram, set) in &self.seconds {
            histogram.record(black_box(seconds), set);
        }
        for (histogram, set) in &self.sizes {
            histogram.record(black_box(120), set);
        }
        for (counter, set) in &self.counts {
            counter.add(black_box(48), set);
        }
        let span = context.span();
        if span.is_recording() {
            let reasons = Value::Array(Array::String(vec![StringValue::from("stop")]));
            span.set_attributes([
                KeyValue::new("gen_ai.usage.input_tokens", 120),
                KeyValue::new("gen_ai.usage.output_tokens", 48),
                KeyValue::new("llmperf.token.source", "usage"),
                KeyValue::new("llmperf.outcome", "complete"),
                KeyValue::new("gen_ai.response.time_to_first_chunk", seconds),
                KeyValue::new("llmperf.time_to_first_token", seconds),
                KeyValue::new("llmperf.time_to_first_answer", seconds),
                KeyValue::new("llmperf.time_per_output_token", seconds),
                KeyValue::new("llmperf.longest_gap", seconds),
                KeyValue::new("llmperf.generation_time", seconds),
                KeyValue::new("llmperf.consumer_wait", 0.0),
                KeyValue::new("gen_ai.request.stream", true),
                KeyValue::new("llmperf.chunks", 3),
                KeyValue::new("llmperf.output_chunks", 2),
                KeyValue::new("llmperf.output_token_rate", seconds),
                KeyValue::new("gen_ai.response.finish_reasons", reasons),
            ]);
        }
        span.end_with_timestamp(begun + duration);
    }
}
