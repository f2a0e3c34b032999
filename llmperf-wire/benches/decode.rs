//! Decoding a chat stream on the side, against eventsource-stream and serde_json into typed structs.
//!
//! `cargo bench -p llmperf-wire` prints criterion's figures and then, taken in turns, the ratio that the budget speaks of.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use eventsource_stream::Eventsource as _;
use futures::executor::block_on;
use futures::{StreamExt as _, stream};
use llmperf_wire::{Decoder, Dialect, Event};
use serde::Deserialize;

const FRAMES: usize = 2_000;

/// A stream as OpenAI sends it: a role, text deltas of which every eighth holds an escape, a finish, usage, `[DONE]`.
///
/// With `choices_first` the fields stand in the order of llama.cpp, so that payloads have no long head in common.
fn frames(choices_first: bool) -> Vec<Vec<u8>> {
    let head = r#""id":"chatcmpl-B9xKq2vT0yLm4RzWcN7dUeHsPf3Ga","object":"chat.completion.chunk","created":1764547200,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_44add5dbca""#;
    let frame = |choices: String, rest: String| {
        let payload = if choices_first {
            format!(r#""choices":[{choices}],{head},{rest}"#)
        } else {
            format!(r#"{head},"choices":[{choices}],{rest}"#)
        };
        format!("data: {{{payload}}}\n\n").into_bytes()
    };
    let delta = |delta: &str, finish: &str, obfuscation: &str| {
        frame(
            format!(r#"{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}"#),
            format!(r#""usage":null,"obfuscation":"{obfuscation}""#),
        )
    };
    let words = [" the", " traveller", " walks", ",", " slowly", " over", "\\n\\n", " hills"];
    let mut frames = vec![delta(r#"{"role":"assistant","content":"","refusal":null}"#, "null", "b7Qe")];
    frames.extend((0..FRAMES).map(|n| {
        let obfuscation = &"x9LpQ2vTzKw4"[..n % 12];
        delta(&format!(r#"{{"content":"{}"}}"#, words[n % words.len()]), "null", obfuscation)
    }));
    frames.push(delta("{}", r#""stop""#, ""));
    frames.push(frame(
        String::new(),
        r#""usage":{"prompt_tokens":14,"completion_tokens":2000,"total_tokens":2014,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"obfuscation":"XfZk""#.to_owned(),
    ));
    frames.push(b"data: [DONE]\n\n".to_vec());
    frames
}

/// The chunk as its documentation has it, and as client crates write it.
#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TypedChunk {
    id: String,
    object: String,
    created: u32,
    model: String,
    service_tier: Option<String>,
    system_fingerprint: Option<String>,
    choices: Vec<TypedChoice>,
    usage: Option<TypedUsage>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TypedChoice {
    index: u32,
    delta: TypedDelta,
    finish_reason: Option<String>,
    logprobs: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TypedDelta {
    role: Option<String>,
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<TypedToolCall>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TypedToolCall {
    index: u32,
    id: Option<String>,
    function: Option<TypedFunction>,
}

#[derive(Deserialize)]
struct TypedFunction {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct TypedUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// Bytes of output and tokens: what both sides must agree on.
type Sum = (usize, u64);

fn ours(reads: &[Vec<u8>]) -> Sum {
    let mut sum = (0, 0);
    let mut decoder = Decoder::new(Dialect::OpenAiChat);
    let mut take = |event: Event<'_>| {
        if let Event::Chunk(chunk) = event {
            black_box((chunk.id, chunk.model, chunk.finishes().count()));
            sum.0 += chunk.outputs().map(|piece| piece.text.len()).sum::<usize>();
            if let Some(usage) = chunk.usage {
                sum.1 = usage.input.unwrap_or(0) + usage.output.unwrap_or(0);
            }
        }
    };
    for read in reads {
        decoder.push(read, &mut take);
    }
    decoder.finish(&mut take);
    sum
}

fn theirs(reads: &[Vec<u8>]) -> Sum {
    let mut sum = (0, 0);
    let mut events = stream::iter(reads.iter().map(Ok::<_, Infallible>)).eventsource();
    block_on(async {
        while let Some(event) = events.next().await {
            let data = event.unwrap().data;
            if data.starts_with("[DONE]") {
                continue;
            }
            let chunk: TypedChunk = serde_json::from_str(&data).unwrap();
            black_box((&chunk.id, &chunk.model));
            for choice in &chunk.choices {
                black_box((choice.index, &choice.finish_reason));
                sum.0 += choice.delta.content.as_deref().map_or(0, str::len);
                sum.0 += choice.delta.refusal.as_deref().map_or(0, str::len);
                for function in choice.delta.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref()) {
                    sum.0 += function.name.as_deref().map_or(0, str::len);
                    sum.0 += function.arguments.as_deref().map_or(0, str::len);
                }
            }
            if let Some(usage) = &chunk.usage {
                sum.1 = usage.prompt_tokens + usage.completion_tokens;
            }
        }
    });
    sum
}

fn timed(decode: impl Fn(&[Vec<u8>]) -> Sum, reads: &[Vec<u8>]) -> Duration {
    let start = Instant::now();
    black_box(decode(black_box(reads)));
    start.elapsed()
}

fn main() {
    let frames = frames(false);
    let whole = frames.concat();
    let cases = [
        ("an event a read", frames.clone()),
        ("an event a read, no head in common", self::frames(true)),
        ("16 KiB a read", whole.chunks(16 << 10).map(<[u8]>::to_vec).collect()),
    ];

    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    for (name, reads) in &cases {
        assert_eq!(ours(reads), theirs(reads), "both sides read the same");
        let mut group = criterion.benchmark_group(*name);
        group.throughput(Throughput::Elements(frames.len() as u64));
        group.bench_function("llmperf-wire", |b| b.iter(|| ours(black_box(reads))));
        group.bench_function("eventsource-stream", |b| {
            b.iter(|| theirs(black_box(reads)));
        });
        group.finish();
    }
    criterion.final_summary();

    for (name, reads) in &cases {
        let rounds = (0..40).map(|_| (timed(ours, reads), timed(theirs, reads)));
        let (ours, theirs) = rounds.reduce(|best, round| (best.0.min(round.0), best.1.min(round.1))).unwrap();
        let per_event = |time: Duration| time.as_nanos() as f64 / frames.len() as f64;
        println!(
            "{name}: llmperf-wire {:.0} ns, eventsource-stream + serde_json {:.0} ns an event, ratio {:.1}",
            per_event(ours),
            per_event(theirs),
            theirs.as_secs_f64() / ours.as_secs_f64(),
        );
    }
}
