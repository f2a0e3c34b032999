//! What a whole call costs: its span, its records, its statistics, and the few polls of a short stream.

use std::{hint::black_box, sync::Mutex};

use criterion::Criterion;
use hdrhistogram::Histogram;
use llmperf_core::{Call, MeasureStream as _, Sees, chat, set_enabled};
use opentelemetry::{
    global::{self, BoxedTracer},
    metrics::MeterProvider as _,
    trace::TracerProvider as _,
};

use crate::{
    by_hand::ByHand,
    poll::clock_read,
    ratio::{Bar, Contestant, Race},
    setup::{Answer, Event, MODEL, PROVIDER, Sdk, exhaust, scope},
};

/// Figures of the call below that the statistics take in.
const FIGURES: u64 = 8;

pub(crate) fn race(criterion: &mut Criterion) {
    let sdk = Sdk::new();
    let instrumentation = sdk.instrumentation().build();
    let tracer = BoxedTracer::new(Box::new(sdk.tracers.tracer_with_scope(scope())));
    let by_hand = ByHand::new(Some(tracer), &sdk.meters.meter_with_scope(scope()));
    Race::new(
        "call, SDK installed",
        [
            bare(),
            Contestant::new("bare span and records", |times| (0..times).for_each(|_| by_hand.telemetry())),
            Contestant::new("measured by hand", |times| (0..times).for_each(|_| by_hand.measure(Answer::default()))),
            measured("measured", || instrumentation.chat(PROVIDER, MODEL)),
        ],
    )
    .ratio("added / bare span and records", Bar::AtMost(2.0), |[bare, telemetry, _, ours]| (ours - bare) / telemetry)
    .ratio("added / measured by hand", Bar::None, |[bare, _, hand, ours]| (ours - bare) / (hand - bare))
    .run(criterion);

    let by_hand = ByHand::new(None, &global::meter_provider().meter_with_scope(scope()));
    Race::new(
        "call, no SDK",
        [
            bare(),
            clock_read(),
            Contestant::new("measured by hand", |times| (0..times).for_each(|_| by_hand.measure(Answer::default()))),
            statistics(),
            measured("measured", || chat(PROVIDER, MODEL)),
            switched_off(),
        ],
    )
    .ratio(
        "added / (1.5 measured by hand + statistics by hand)",
        Bar::AtMost(1.0),
        |[bare, _, hand, statistics, ours, _]| (ours - bare) / (1.5 * (hand - bare) + statistics),
    )
    .ratio("added / measured by hand", Bar::None, |[bare, _, hand, _, ours, _]| (ours - bare) / (hand - bare))
    .ratio("added / clock read", Bar::None, |[bare, clock, _, _, ours, _]| (ours - bare) / clock)
    .ratio("statistics by hand / clock read", Bar::None, |[_, clock, _, statistics, ..]| statistics / clock)
    .ratio("switched off: added / clock read", Bar::AtMost(3.0), |[bare, clock, .., off]| (off - bare) / clock)
    .run(criterion);
}

fn bare<'a>() -> Contestant<'a> {
    Contestant::new("bare stream", |times| (0..times).for_each(|_| exhaust(Answer::default())))
}

fn measured<'a>(name: &'static str, call: impl Fn() -> Call + 'a) -> Contestant<'a> {
    Contestant::new(name, move |times| (0..times).for_each(|_| measure(call())))
}

fn measure(call: Call) {
    exhaust(Answer::default().measure_with(call.sees(Sees::Finish), Event::carries));
}

fn switched_off<'a>() -> Contestant<'a> {
    Contestant::new("measured, switched off", |times| {
        set_enabled(false);
        (0..times).for_each(|_| measure(chat(PROVIDER, MODEL)));
        set_enabled(true);
    })
}

/// The least that local statistics can cost: a lock, and a record for each figure.
fn statistics<'a>() -> Contestant<'a> {
    let histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000, 2).unwrap();
    let figures: Vec<_> = (0..FIGURES).map(|_| histogram.clone()).collect();
    let figures = Mutex::new(figures);
    Contestant::new("statistics by hand", move |times| {
        for _ in 0..times {
            for histogram in figures.lock().unwrap().iter_mut() {
                histogram.saturating_record(black_box(250));
            }
        }
    })
}
