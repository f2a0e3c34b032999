//! Design section 10, the rows that noise cannot move: allocations per chunk, state per live call.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{hint::black_box, iter, mem::size_of, time::Duration};

use allocation_counter::{AllocationInfo, measure};
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use llmperf_core::{
    Call, Instrumentation, MeasureStream as _, Measured, Output, Side, Usage,
    testing::{ManualClock, Probe},
};
use opentelemetry::{
    Context, KeyValue,
    trace::{SpanKind, TraceContextExt as _, Tracer, TracerProvider as _, noop::NoopTracerProvider},
};
use opentelemetry_sdk::trace::Sampler;

/// State of ours per live call, inline and on the heap.
const MOST_STATE: usize = 1_024;
/// Of it inline in the stream.
const MOST_INLINE: usize = 256;

type Chunk = Output<'static>;

/// What a typical provider sends: names and id in each chunk, text, then finish reason and usage.
fn delta() -> Chunk {
    Output::text(" word").model("gpt-4o-mini-2024-07-18").id("chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT")
}

/// Chunks without end, a millisecond apart.
fn deltas(clock: &ManualClock) -> impl Stream<Item = Chunk> + Unpin + use<> {
    let clock = clock.clone();
    stream::iter(iter::from_fn(move || {
        clock.advance(Duration::from_millis(1));
        Some(delta())
    }))
}

fn carried(chunk: &Chunk) -> Output<'_> {
    *chunk
}

fn take(stream: &mut (impl Stream<Item = Chunk> + Unpin), items: usize) {
    for _ in 0..items {
        let item = stream.next().now_or_never().flatten();
        assert!(black_box(item).is_some());
    }
}

/// Instruments, attribute sets and names exist once per process, not per call: a call before ours makes them.
fn warm(call: impl Fn() -> Call, clock: &ManualClock) {
    let mut reply = deltas(clock).measure_with(call(), carried);
    take(&mut reply, 40);
}

/// What reading `items` more chunks allocates, once the first has come.
fn per_chunk(call: impl Fn() -> Call, clock: &ManualClock, items: usize) -> AllocationInfo {
    warm(&call, clock);
    let mut reply = deltas(clock).measure_with(call(), carried);
    take(&mut reply, 1);
    measure(|| take(&mut reply, items))
}

#[test]
fn a_chunk_allocates_nothing_with_everything_installed() {
    let probe = Probe::new();
    let info = per_chunk(|| probe.chat("openai", "gpt-4o-mini"), probe.clock(), 2_000);
    assert_eq!(info, AllocationInfo::default());
    assert!(probe.count("gen_ai.client.inference.time_per_output_chunk") > 2_000.0, "the histogram was on");
}

#[test]
fn a_chunk_allocates_nothing_with_no_provider() {
    let clock = ManualClock::new();
    let instrumentation = Instrumentation::builder().clock(&clock).build();
    let info = per_chunk(|| instrumentation.chat("openai", "gpt-4o-mini"), &clock, 2_000);
    assert_eq!(info, AllocationInfo::default());
}

#[test]
fn a_chunk_allocates_nothing_unsampled_on_the_server_or_without_the_histogram() {
    let unsampled = Probe::sampled(Sampler::AlwaysOff, |builder| builder.per_chunk_histogram(false));
    let info = per_chunk(|| unsampled.chat("openai", "gpt-4o-mini"), unsampled.clock(), 2_000);
    assert_eq!(info, AllocationInfo::default());
    let server = Probe::new();
    let info = per_chunk(|| server.chat("vllm", "llama-3").side(Side::Server), server.clock(), 2_000);
    assert_eq!(info, AllocationInfo::default());
}

#[test]
fn a_chunk_allocates_nothing_in_a_call_that_asks_for_all_it_can() {
    let probe = Probe::new();
    let call = || {
        let call = probe.chat("openai", "gpt-4o-mini").deadline(Duration::from_secs(60)).label("tenant", "a");
        call.idle_deadline(Duration::from_secs(5)).tokenizer(|text| text.len() as u64 / 4).estimate_tokens()
    };
    assert_eq!(per_chunk(call, probe.clock(), 2_000), AllocationInfo::default());
}

#[test]
fn a_usage_snapshot_in_each_chunk_and_a_repeated_finish_reason_allocate_nothing() {
    let probe = Probe::new();
    warm(|| probe.chat("groq", "llama-3"), probe.clock());
    let chunks = stream::iter(iter::repeat_with(|| delta().and_finish("stop").and_usage(Usage::of(9, 3))));
    let mut reply = chunks.measure_with(probe.chat("groq", "llama-3"), carried);
    take(&mut reply, 1);
    assert_eq!(measure(|| take(&mut reply, 1_000)), AllocationInfo::default());
}

/// Bytes that each of a hundred live things keeps.
fn kept<T>(make: impl Fn() -> T) -> usize {
    const MANY: usize = 100;
    let mut all = Vec::with_capacity(MANY);
    let info = measure(|| all.extend(iter::repeat_with(&make).take(MANY)));
    assert_eq!(all.len(), MANY);
    usize::try_from(info.bytes_current).unwrap() / MANY
}

/// What OpenTelemetry keeps of a span like a call's, in a context of its own.
fn kept_by_the_span<T: Tracer<Span: Send + Sync + 'static>>(tracer: &T) -> usize {
    kept(|| {
        let attributes = vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.provider.name", "openai"),
            KeyValue::new("gen_ai.request.model", "gpt-4o-mini"),
        ];
        let builder = tracer
            .span_builder(["chat", "gpt-4o-mini"].join(" "))
            .with_kind(SpanKind::Client)
            .with_attributes(attributes);
        Context::new().with_span(tracer.build_with_context(builder, &Context::new()))
    })
}

/// A call in the middle of its stream: head, names, finish reason and usage have been seen.
fn midway(call: Call, clock: &ManualClock) -> impl Sized + use<> {
    let mut reply = deltas(clock).measure_with(call, carried);
    take(&mut reply, 20);
    reply
}

fn inline<S, R>(_: &Measured<S, R>) -> usize {
    size_of::<Measured<S, R>>() - size_of::<S>() - size_of::<R>()
}

#[test]
fn the_state_of_a_live_call_stays_within_its_bars() {
    let probe = Probe::new();
    let clock = probe.clock();
    let installed = probe.instrumentation().clone();
    let bare = Instrumentation::builder().clock(clock).build();
    let by_span = kept_by_the_span(&probe.tracer_provider().tracer("bare"));
    let by_noop = kept_by_the_span(&NoopTracerProvider::new().tracer("bare"));
    for (instrumentation, by_span) in [(installed, by_span), (bare, by_noop)] {
        let chat = || instrumentation.chat("openai", "gpt-4o-mini");
        warm(chat, clock);
        let inline = inline(&deltas(clock).measure_with(chat(), carried));
        let heap = kept(|| midway(chat(), clock));
        assert!(inline <= MOST_INLINE, "{inline} bytes inline");
        let ours = inline + heap - by_span;
        assert!(
            ours <= MOST_STATE,
            "{ours} bytes of ours: {inline} inline, {heap} on the heap less {by_span} of the span"
        );
    }
}

#[test]
fn a_longer_stream_keeps_no_more() {
    let probe = Probe::new();
    let chat = || probe.chat("openai", "gpt-4o-mini");
    warm(chat, probe.clock());
    let mut reply = deltas(probe.clock()).measure_with(chat(), carried);
    take(&mut reply, 1);
    assert_eq!(measure(|| take(&mut reply, 5_000)).bytes_current, 0);
}

#[test]
fn a_call_gives_back_all_that_it_took() {
    let clock = ManualClock::new();
    let instrumentation = Instrumentation::builder().clock(&clock).build();
    let chat = || instrumentation.chat("openai", "gpt-4o-mini");
    warm(chat, &clock);
    let info = measure(|| {
        for _ in 0..100 {
            drop(midway(chat(), &clock));
        }
    });
    assert_eq!((info.count_current, info.bytes_current), (0, 0));
    assert!(info.count_total <= 100 * 12, "{} allocations per call", info.count_total / 100);
}
