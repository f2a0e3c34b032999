//! What measuring adds to a poll that yields an item.

use std::hint::black_box;

use criterion::Criterion;
use llmperf_core::{Instrumentation, MeasureStream as _, Measured};
use opentelemetry::{
    Context, KeyValue,
    metrics::{Histogram, MeterProvider as _},
    trace::{TraceContextExt as _, Tracer as _, TracerProvider as _},
};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::{
    ratio::{Bar, Contestant, Race},
    setup::{MODEL, PROVIDER, Paced, Sdk, Tokens, poll, scope},
};

pub(crate) fn race(criterion: &mut Criterion) {
    let sdk = Sdk::new();
    let histogram = histogram(&sdk.meters);
    let context = Context::new().with_span(sdk.tracers.tracer_with_scope(scope()).start("call"));
    let context = context.with_value(Own(MODEL));
    Race::new(
        "poll, provider installed",
        [
            bare(),
            clock_read(),
            Contestant::new("context attach and detach", move |times| {
                for _ in 0..times {
                    let _current = black_box(&context).clone().attach();
                }
            }),
            record("unbound histogram record", histogram),
            measured("measured", &sdk.instrumentation().per_chunk_histogram(false).build()),
            measured("measured, with the per-chunk histogram", &sdk.instrumentation().build()),
        ],
    )
    .ratio("added / (2 clock reads + 1.25 attach and detach)", Bar::AtMost(1.0), |[bare, clock, attach, _, ours, _]| {
        (ours - bare) / (2.0 * clock + 1.25 * attach)
    })
    .ratio("added / clock read", Bar::None, |[bare, clock, _, _, ours, _]| (ours - bare) / clock)
    .ratio("per-chunk histogram / unbound record", Bar::AtMost(1.0), |[.., record, ours, with]| (with - ours) / record)
    .run(criterion);

    let histogram = opentelemetry::global::meter_provider().meter_with_scope(scope()).f64_histogram("gap").build();
    Race::new(
        "poll, no provider",
        [
            bare(),
            clock_read(),
            clock_reads_by_hand(),
            record("no-op histogram record", histogram),
            measured("measured", &Instrumentation::builder().per_chunk_histogram(false).build()),
            measured("measured, with the per-chunk histogram", &Instrumentation::builder().build()),
        ],
    )
    .ratio("added / clock read", Bar::AtMost(2.5), |[bare, clock, _, _, ours, _]| (ours - bare) / clock)
    .ratio("added / polls stamped by hand", Bar::None, |[bare, _, hand, _, ours, _]| (ours - bare) / (hand - bare))
    .ratio("per-chunk histogram / no-op record", Bar::None, |[.., record, ours, with]| (with - ours) / record)
    .run(criterion);
    race_paced(criterion);
}

/// An item after a pending poll. Here no consumer holds up the model, so gaps enter the statistics, too.
fn race_paced(criterion: &mut Criterion) {
    let instrumentation = Instrumentation::builder().per_chunk_histogram(false).build();
    let mut bare = Paced::new();
    let mut measured = Paced::new().measure(instrumentation.chat(PROVIDER, MODEL));
    Race::new(
        "pending poll and item, no provider",
        [
            Contestant::new("bare stream", |times| poll(&mut bare, 2 * times)),
            clock_read(),
            Contestant::new("measured", |times| poll(&mut measured, 2 * times)),
        ],
    )
    .ratio("added, statistics of gaps included / clock read", Bar::None, |[bare, clock, ours]| (ours - bare) / clock)
    .run(criterion);
}

/// Against what one would write by hand with `tracing`.
pub(crate) fn race_tracing(criterion: &mut Criterion) {
    let sdk = Sdk::new();
    let layer = tracing_opentelemetry::layer().with_tracer(sdk.tracers.tracer_with_scope(scope()));
    let dispatch = tracing::Dispatch::new(tracing_subscriber::registry().with(layer));
    let within = |body: fn(&tracing::Span, u64)| {
        let dispatch = dispatch.clone();
        move |times| {
            tracing::dispatcher::with_default(&dispatch, || {
                let span = tracing::info_span!("call", model = MODEL);
                body(&span, times);
            });
        }
    };
    Race::new(
        "poll, against tracing by hand",
        [
            bare(),
            measured("measured", &sdk.instrumentation().per_chunk_histogram(false).build()),
            measured("measured, with the per-chunk histogram", &sdk.instrumentation().build()),
            Contestant::new(
                "span entered for each poll",
                within(|span, times| {
                    let mut tokens = Tokens::new();
                    for _ in 0..times {
                        let _entered = span.enter();
                        poll(&mut tokens, 1);
                    }
                }),
            ),
            Contestant::new(
                "event for each chunk",
                within(|span, times| {
                    let mut tokens = Tokens::new();
                    let _entered = span.enter();
                    for chunk in 0..times {
                        poll(&mut tokens, 1);
                        tracing::info!(chunk, "chunk");
                    }
                }),
            ),
        ],
    )
    .ratio("added / span entered for each poll", Bar::AtMost(1.0), |[bare, ours, _, entered, _]| {
        (ours - bare) / (entered - bare)
    })
    .ratio(
        "added, with the per-chunk histogram / event for each chunk",
        Bar::AtMost(1.0),
        |[bare, _, with, _, event]| (with - bare) / (event - bare),
    )
    .run(criterion);
}

/// A value as a live call keeps one in its context.
struct Own(#[allow(dead_code, reason = "only its place in the context counts")] &'static str);

pub(crate) fn bare<'a>() -> Contestant<'a> {
    let mut tokens = Tokens::new();
    Contestant::new("bare stream", move |times| poll(&mut tokens, times))
}

pub(crate) fn clock_read<'a>() -> Contestant<'a> {
    let clock = quanta::Clock::new();
    Contestant::new("clock read", move |times| {
        for _ in 0..times {
            black_box(clock.raw());
        }
    })
}

/// The least that knows gaps and consumer waits: a stamp before each poll, one after it, two sums.
fn clock_reads_by_hand<'a>() -> Contestant<'a> {
    let clock = quanta::Clock::new();
    let mut tokens = Tokens::new();
    let (mut last, mut waits, mut longest) = (clock.raw(), 0, 0);
    Contestant::new("polls stamped by hand", move |times| {
        for _ in 0..times {
            let polled = clock.raw();
            poll(&mut tokens, 1);
            let read = clock.raw();
            waits += polled.saturating_sub(last);
            longest = black_box(read.saturating_sub(last).max(longest));
            last = read;
        }
        black_box(waits);
    })
}

/// A call on a stream that never ends.
pub(crate) fn endless(instrumentation: &Instrumentation) -> Measured<Tokens, llmperf_core::ByItem> {
    Tokens::new().measure(instrumentation.chat(PROVIDER, MODEL))
}

fn measured<'a>(name: &'static str, instrumentation: &Instrumentation) -> Contestant<'a> {
    let mut stream = endless(instrumentation);
    Contestant::new(name, move |times| poll(&mut stream, times))
}

fn record<'a>(name: &'static str, histogram: Histogram<f64>) -> Contestant<'a> {
    let attributes = [
        KeyValue::new("gen_ai.operation.name", "chat"),
        KeyValue::new("gen_ai.provider.name", PROVIDER),
        KeyValue::new("gen_ai.request.model", MODEL),
    ];
    Contestant::new(name, move |times| {
        for _ in 0..times {
            histogram.record(black_box(2e-7), &attributes);
        }
    })
}

fn histogram(meters: &opentelemetry_sdk::metrics::SdkMeterProvider) -> Histogram<f64> {
    let bounds = (0..14).map(|n| 0.01 * f64::from(1 << n)).collect();
    meters.meter_with_scope(scope()).f64_histogram("gap").with_boundaries(bounds).build()
}
