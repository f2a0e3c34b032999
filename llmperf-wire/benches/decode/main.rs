//! Decoding streams on the side, against serde_json into typed structs behind what a client takes for the framing:
//! eventsource-stream, lines, the AWS SDK's event stream.
//!
//! `cargo bench -p llmperf-wire` prints criterion's figures and then, taken in turns, the ratios that the budget speaks of:
//! to structs as client crates have them and, where events have types, to structs chosen by the event's name.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

mod bedrock;
mod chat;
mod cohere;
#[path = "../../tests/messages/mod.rs"]
mod event_stream;
mod gemini;
mod messages;
mod ollama;
mod responses;

use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use eventsource_stream::Eventsource as _;
use futures::executor::block_on;
use futures::{StreamExt as _, stream};
use llmperf_wire::{Decoder, Dialect, Event};

/// Text deltas of a stream.
const FRAMES: usize = 2_000;

/// What they hold: every eighth has an escape.
const WORDS: [&str; 8] = [" the", " traveller", " walks", ",", " slowly", " over", "\\n\\n", " hills"];

/// A server-sent event with a name.
fn named(name: &str, data: &str) -> Vec<u8> {
    format!("event: {name}\ndata: {data}\n\n").into_bytes()
}

/// Bytes of output and tokens: what both sides must agree on.
type Sum = (usize, u64);

/// A way to read a stream into typed structs.
#[derive(Clone, Copy)]
enum Typed {
    /// Server-sent events by eventsource-stream: what is done with the name and the data of each.
    Event(fn(&str, &str, &mut Sum)),
    /// Other framings: all of it.
    Stream(fn(&[Vec<u8>]) -> Sum),
}

impl Typed {
    fn read(self, reads: &[Vec<u8>]) -> Sum {
        let read_event = match self {
            Self::Event(read_event) => read_event,
            Self::Stream(read) => return read(reads),
        };
        let mut sum = (0, 0);
        let mut events = stream::iter(reads.iter().map(Ok::<_, Infallible>)).eventsource();
        block_on(async {
            while let Some(event) = events.next().await {
                let event = event.unwrap();
                read_event(&event.event, &event.data, &mut sum);
            }
        });
        sum
    }
}

/// A stream in a dialect, in reads, and the baselines that can read it.
struct Case {
    name: &'static str,
    dialect: Dialect,
    events: usize,
    reads: Vec<Vec<u8>>,
    baselines: Vec<(&'static str, Typed)>,
}

impl Case {
    fn an_event_a_read(
        name: &'static str,
        dialect: Dialect,
        reads: Vec<Vec<u8>>,
        baselines: &[(&'static str, Typed)],
    ) -> Self {
        Self { name, dialect, events: reads.len(), reads, baselines: baselines.to_vec() }
    }

    fn large_reads(self, name: &'static str) -> Self {
        Self { name, reads: self.reads.concat().chunks(16 << 10).map(<[u8]>::to_vec).collect(), ..self }
    }

    fn ours(&self) -> Sum {
        let (mut bytes, mut input, mut output) = (0, 0, 0);
        let mut decoder = Decoder::new(self.dialect);
        let mut take = |event: Event<'_>| {
            if let Event::Chunk(chunk) = event {
                black_box((chunk.id, chunk.model, chunk.finishes().count()));
                bytes += chunk.outputs().map(|piece| piece.text.len()).sum::<usize>();
                if let Some(usage) = chunk.usage {
                    input = usage.input.unwrap_or(input);
                    output = usage.output.unwrap_or(output);
                }
            }
        };
        for read in black_box(&self.reads) {
            decoder.push(read, &mut take);
        }
        decoder.finish(&mut take);
        (bytes, input + output)
    }

    fn theirs(&self, typed: Typed) -> Sum {
        typed.read(black_box(&self.reads))
    }

    fn bench(&self, criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group(self.name);
        group.throughput(Throughput::Elements(self.events as u64));
        group.bench_function("llmperf-wire", |b| b.iter(|| self.ours()));
        for (name, typed) in &self.baselines {
            assert_eq!(self.ours(), self.theirs(*typed), "both sides read the same");
            group.bench_function(*name, |b| b.iter(|| self.theirs(*typed)));
        }
        group.finish();
    }

    /// Prints the ratios of the best of several rounds in which all take turns.
    fn print_ratios(&self, rounds: usize) {
        let mut ours = Duration::MAX;
        let mut theirs = vec![Duration::MAX; self.baselines.len()];
        for _ in 0..rounds {
            ours = ours.min(timed(|| self.ours()));
            for (best, (_, typed)) in theirs.iter_mut().zip(&self.baselines) {
                *best = timed(|| self.theirs(*typed)).min(*best);
            }
        }
        let per_event = |time: Duration| time.as_nanos() as f64 / self.events as f64;
        println!("{}: llmperf-wire {:.0} ns an event", self.name, per_event(ours));
        for (time, (name, _)) in theirs.into_iter().zip(&self.baselines) {
            let ratio = time.as_secs_f64() / ours.as_secs_f64();
            println!("    {name} {:.0} ns, ratio {ratio:.1}", per_event(time));
        }
    }
}

fn timed(decode: impl Fn() -> Sum) -> Duration {
    let start = Instant::now();
    black_box(decode());
    start.elapsed()
}

fn main() {
    let chat: [(_, Typed); 1] = [("eventsource-stream + serde_json", Typed::Event(chat::typed))];
    let responses: [(_, Typed); 2] = [
        ("eventsource-stream + serde_json, tagged", Typed::Event(responses::tagged)),
        ("eventsource-stream + serde_json, by name", Typed::Event(responses::by_name)),
    ];
    let messages: [(_, Typed); 2] = [
        ("eventsource-stream + serde_json, tagged", Typed::Event(messages::tagged)),
        ("eventsource-stream + serde_json, by name", Typed::Event(messages::by_name)),
    ];
    let cohere: [(_, Typed); 2] = [
        ("eventsource-stream + serde_json, tagged", Typed::Event(cohere::tagged)),
        ("eventsource-stream + serde_json, by name", Typed::Event(cohere::by_name)),
    ];
    let gemini = [("eventsource-stream + serde_json", Typed::Event(gemini::typed))];
    let array = [("serde_json, element by element", Typed::Stream(gemini::typed_array))];
    let ollama = [("lines + serde_json", Typed::Stream(ollama::typed))];
    let bedrock = [("aws-smithy-eventstream + serde_json", Typed::Stream(bedrock::typed))];
    let case = Case::an_event_a_read;
    let cases = [
        case("chat, an event a read", Dialect::OpenAiChat, chat::frames(false), &chat),
        case("chat, an event a read, choices first", Dialect::OpenAiChat, chat::frames(true), &chat),
        case("", Dialect::OpenAiChat, chat::frames(false), &chat).large_reads("chat, 16 KiB a read"),
        case("responses, an event a read", Dialect::OpenAiResponses, responses::frames(), &responses),
        case("", Dialect::OpenAiResponses, responses::frames(), &responses).large_reads("responses, 16 KiB a read"),
        case("messages, an event a read", Dialect::Anthropic, messages::frames(), &messages),
        case("", Dialect::Anthropic, messages::frames(), &messages).large_reads("messages, 16 KiB a read"),
        case("cohere, an event a read", Dialect::Cohere, cohere::frames(), &cohere),
        case("", Dialect::Cohere, cohere::frames(), &cohere).large_reads("cohere, 16 KiB a read"),
        case("gemini, an event a read", Dialect::Gemini, gemini::events(), &gemini),
        case("", Dialect::Gemini, gemini::events(), &gemini).large_reads("gemini, 16 KiB a read"),
        case("gemini array, an element a read", Dialect::GeminiArray, gemini::array(), &array),
        case("", Dialect::GeminiArray, gemini::array(), &array).large_reads("gemini array, 16 KiB a read"),
        case("ollama, a line a read", Dialect::Ollama, ollama::lines(), &ollama),
        case("", Dialect::Ollama, ollama::lines(), &ollama).large_reads("ollama, 16 KiB a read"),
        case("bedrock, a message a read", Dialect::BedrockConverse, bedrock::messages(), &bedrock),
        case("", Dialect::BedrockConverse, bedrock::messages(), &bedrock).large_reads("bedrock, 16 KiB a read"),
    ];

    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    for case in &cases {
        case.bench(&mut criterion);
    }
    criterion.final_summary();
    // As criterion does: a test runs everything once.
    let rounds = if std::env::args().any(|argument| argument == "--test") { 1 } else { 40 };
    for case in &cases {
        case.print_ratios(rounds);
    }
}
