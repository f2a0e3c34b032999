//! What an attribute adds to an empty function, as ratios: against the bare function, the same telemetry by hand, and
//! `#[tracing::instrument]`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops where its set-up fails")]

mod by_hand;
mod functions;
#[path = "../overhead/ratio.rs"]
#[allow(dead_code, reason = "the other benchmark needs more")]
mod ratio;
#[path = "../overhead/setup.rs"]
#[allow(dead_code, reason = "the other benchmark needs more")]
mod setup;

use std::{
    future::Future,
    hint::black_box,
    pin::pin,
    task::{Context, Waker},
    time::{Duration, Instant},
};

use criterion::Criterion;
use opentelemetry::{
    global::{self, BoxedTracer},
    metrics::MeterProvider as _,
    trace::TracerProvider as _,
};

use crate::{
    by_hand::ByHand,
    functions::{ALL, asynchronous, bare, bare_asynchronous, built, instrumented},
    ratio::{Bar, Contestant, Race},
    setup::{Sdk, scope},
};

/// Budgets of the design.
const RECORDED: Bar = Bar::AtMost(1.25);
const NOT_INSTALLED: Bar = Bar::AtMost(1.5);

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .configure_from_args();
    let sdk = Sdk::new();
    for (name, function) in ALL {
        recorded(&mut criterion, &sdk, name, function);
    }
    recorded(&mut criterion, &sdk, "tool, async", |n| polled(asynchronous(n)));
    for (name, function) in ALL {
        not_installed(&mut criterion, name, function);
    }
    not_installed(&mut criterion, "tool, async", |n| polled(asynchronous(n)));
    against_builder(&mut criterion, &sdk);
    bare_futures(&mut criterion);
    // Last: from here on a subscriber has been seen, and callsites ask for one.
    against_tracing(&mut criterion, &sdk);
    criterion.final_summary();
}

/// Polls a future that is ready at once.
fn polled<F: Future>(future: F) -> Option<F::Output> {
    let mut task = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut task) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}

fn times<T>(count: u64, mut run: impl FnMut(u32) -> T) {
    for n in 0..count {
        black_box(run(n as u32));
    }
}

/// With a provider of spans and of metrics.
fn recorded<T>(criterion: &mut Criterion, sdk: &Sdk, name: &'static str, function: impl Fn(u32) -> T + Copy) {
    let tracer = BoxedTracer::new(Box::new(sdk.tracers.tracer_with_scope(scope())));
    let by_hand = ByHand::of(|| drop(function(1)), Some(tracer), &sdk.meters.meter("by-hand"));
    println!("\n{name}: one span, {} records", by_hand.records());
    let instrumentation = sdk.instrumentation().build();
    Race::new(
        leaked(format!("{name}, recorded")),
        [
            Contestant::new("the bare function", |count| times(count, bare)),
            Contestant::new("by hand: span and records", |count| {
                times(count, |n| by_hand.measure(|| bare(n)));
            }),
            Contestant::new("the attribute", |count| instrumentation.sync_scope(|| times(count, function))),
        ],
    )
    .ratio("the attribute / by hand", RECORDED, |[_, by_hand, attribute]| attribute / by_hand)
    .run(criterion);
}

/// With nothing installed.
fn not_installed<T>(criterion: &mut Criterion, name: &'static str, function: impl Fn(u32) -> T + Copy) {
    let by_hand = ByHand::of(|| drop(function(1)), None, &global::meter("by-hand"));
    Race::new(
        leaked(format!("{name}, nothing installed")),
        [
            Contestant::new("the bare function", |count| times(count, bare)),
            Contestant::new("by hand: the same calls of the API", |count| {
                times(count, |n| by_hand.measure(|| bare(n)));
            }),
            Contestant::new("the attribute", |count| times(count, function)),
            Contestant::new("#[tracing::instrument]", |count| times(count, instrumented)),
        ],
    )
    .ratio("the attribute / by hand", NOT_INSTALLED, |[_, by_hand, attribute, _]| attribute / by_hand)
    .run(criterion);
}

/// What an attribute costs beside the builder that it calls.
fn against_builder(criterion: &mut Criterion, sdk: &Sdk) {
    let Some((_, tool)) = ALL.iter().find(|(name, _)| *name == "tool") else { return };
    let instrumentation = sdk.instrumentation().build();
    Race::new(
        "against the builder, recorded",
        [
            Contestant::new("the builder", |count| {
                instrumentation.sync_scope(|| times(count, built));
            }),
            Contestant::new("the attribute", |count| {
                instrumentation.sync_scope(|| times(count, tool));
            }),
        ],
    )
    .ratio("the attribute / the builder", Bar::None, |[builder, attribute]| attribute / builder)
    .run(criterion);
}

fn bare_futures(criterion: &mut Criterion) {
    Race::new(
        "futures without work",
        [Contestant::new("a bare async function, polled once", |count| {
            times(count, |n| polled(bare_asynchronous(n)));
        })],
    )
    .run(criterion);
}

/// `#[tracing::instrument]` with the layer that makes it a span of OpenTelemetry: it records no metric.
fn against_tracing(criterion: &mut Criterion, sdk: &Sdk) {
    use tracing_subscriber::layer::SubscriberExt as _;

    let layer = tracing_opentelemetry::layer().with_tracer(sdk.tracers.tracer("tracing"));
    let subscriber = tracing::Dispatch::new(tracing_subscriber::registry().with(layer));
    let instrumentation = sdk.instrumentation().build();
    let Some((_, tool)) = ALL.iter().find(|(name, _)| *name == "tool") else { return };
    Race::new(
        "against tracing, recorded",
        [
            Contestant::timed("#[tracing::instrument], a span alone", |count| {
                tracing::dispatcher::with_default(&subscriber, || {
                    let started = Instant::now();
                    times(count, instrumented);
                    started.elapsed()
                })
            }),
            Contestant::new("#[tool], span and records", |count| {
                instrumentation.sync_scope(|| times(count, tool));
            }),
        ],
    )
    .ratio("#[tool] / #[tracing::instrument]", Bar::None, |[tracing, tool]| tool / tracing)
    .run(criterion);
}

/// Races are named for as long as the benchmark runs.
fn leaked(title: String) -> &'static str {
    title.leak()
}
