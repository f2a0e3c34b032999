//! What work costs in memory, counted at the allocator: little more than what OpenTelemetry makes of a span by hand.

use std::mem::size_of;

use allocation_counter::{AllocationInfo, measure};
use futures::FutureExt as _;
use llmperf_core::{
    Instrumentation, Work,
    opentelemetry::{
        Context, KeyValue,
        global::{self, BoxedTracer},
        trace::{SpanBuilder, SpanKind, TraceContextExt as _, Tracer as _, TracerProvider as _},
    },
    part::{Beginning, Ended, Guard, Opening, Title},
    stats::SeriesKind,
    testing::Probe,
};
use opentelemetry_sdk::trace::Sampler;

const MANY: u64 = 100;
/// The box around a tracer that is made anew each time; ours is kept.
const OF_A_TRACER: u64 = 1;
/// What shares a span among contexts: one that is none is put into none.
const OF_A_CONTEXT: u64 = 2;
/// A frame, and its entry in a context of its own: the entry, the table of entries, the shared part of that.
const OF_A_FRAME: u64 = 4;

/// Work that does nothing of its own.
#[derive(Debug)]
struct Bare;

impl Work for Bare {
    fn begin(&mut self, _: &Beginning<'_>) -> Opening {
        Opening::span("bare", SpanKind::Internal, Vec::new())
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Tool, "bare", "")
    }

    fn ended(&mut self, _: &mut Ended<'_>) {}
}

/// The same as a run, whose journal is asked at its end.
#[derive(Debug)]
struct Run;

impl Work for Run {
    fn begin(&mut self, _: &Beginning<'_>) -> Opening {
        Opening::without_span().journaled()
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Pipeline, "run", "")
    }

    fn ended(&mut self, _: &mut Ended<'_>) {}
}

fn many(what: impl Fn()) -> AllocationInfo {
    (0..20).for_each(|_| what());
    measure(|| (0..MANY).for_each(|_| what()))
}

/// Allocations of a span by hand, in a context of its own, with the one attribute that says how it ended.
fn by_hand(tracer: impl Fn() -> BoxedTracer) -> u64 {
    let parent = Context::current();
    let info = many(|| {
        let tracer = tracer();
        let builder = SpanBuilder::from_name("bare").with_kind(SpanKind::Internal).with_attributes(Vec::new());
        let context = parent.with_span(tracer.build_with_context(builder, &parent));
        if context.span().is_recording() {
            context.span().set_attributes(vec![KeyValue::new("llmperf.outcome", "complete")]);
        }
        context.span().end();
    });
    info.count_total / MANY
}

#[test]
fn lone_work_without_a_provider_allocates_less_than_the_api() {
    let of_api = by_hand(|| global::tracer("by hand")) - OF_A_CONTEXT;
    let guards = many(|| Bare.start().complete());
    assert_eq!((guards.count_total / MANY, guards.count_current), (of_api, 0));
    let scopes = many(|| Bare.in_scope(|| (), |guard, ()| guard.complete()));
    assert_eq!((scopes.count_total / MANY, scopes.count_current), (of_api, 0));
    let futures = many(|| Bare.run_then(async {}, |guard, ()| guard.complete()).now_or_never().unwrap());
    assert_eq!((futures.count_total / MANY, futures.count_current), (of_api, 0));
}

#[test]
fn recorded_work_allocates_a_frame_more() {
    for sampler in [Sampler::AlwaysOn, Sampler::AlwaysOff] {
        let tracers = opentelemetry_sdk::trace::SdkTracerProvider::builder().with_sampler(sampler).build();
        let instrumentation = Instrumentation::builder().tracer_provider(&tracers).build();
        instrumentation.sync_scope(|| {
            let of_api = by_hand(|| BoxedTracer::new(Box::new(tracers.tracer("by hand")))) - OF_A_TRACER;
            let ours = many(|| Bare.start().complete()).count_total / MANY;
            assert!(ours <= of_api + OF_A_FRAME, "{ours} allocations, {of_api} by hand");
        });
    }
}

#[test]
fn work_gives_back_all_that_it_took() {
    let probe = Probe::sampled(Sampler::AlwaysOff, |builder| builder);
    let info =
        probe.instrumentation().sync_scope(|| many(|| Run.in_scope(|| Bare.start().complete(), |g, ()| g.complete())));
    assert_eq!((info.count_current, info.bytes_current), (0, 0));
}

#[test]
fn a_guard_is_small() {
    let (guard, work) = (size_of::<Guard<Bare>>(), size_of::<Bare>());
    assert!(guard - work <= 160, "{guard} bytes of a guard");
}

/// A run that goes on and on keeps the entries that it may, and then no more.
#[test]
fn a_long_run_keeps_no_more_than_its_journal_may() {
    let probe = Probe::sampled(Sampler::AlwaysOff, |builder| builder);
    probe.instrumentation().sync_scope(|| {
        let mut run = Run.start();
        let kept = |run: &mut Guard<Run>, works: usize| {
            measure(|| (0..works).for_each(|_| run.in_scope(|| Bare.start().complete()))).bytes_current
        };
        let first = kept(&mut run, 600);
        assert!(first <= 160 * 1_024, "{first} bytes of a journal");
        assert_eq!(kept(&mut run, 5_000), 0);
        run.complete();
    });
    let snapshot = probe.instrumentation().snapshot();
    let composition = snapshot.series[0].windows.values().next().unwrap().composition.clone().unwrap();
    assert_eq!((composition.parts[0].count, composition.unplaced), (5_600, 5_600 - 512));
}
