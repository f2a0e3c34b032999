//! Decoding streams on the side, against serde_json into typed structs behind what a client takes for the framing:
//! eventsource-stream, lines, the AWS SDK's event stream.
//!
//! `cargo bench -p llmperf-wire` prints criterion's figures and then, taken in turns, the ratios that the budget speaks of:
//! to structs as client crates have them and, where events have types, to structs chosen by the event's name. A dialect
//! that does not come as server-sent events is compared with its own framing and with eventsource-stream, too, which gets
//! the same payloads as server-sent events.
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

/// What a decoder is compared with.
#[derive(Clone)]
struct Baseline {
    name: &'static str,
    typed: Typed,
    /// The stream's payloads as server-sent events, for a baseline that cannot read its framing.
    framed: Option<Vec<Vec<u8>>>,
}

impl Baseline {
    fn new(name: &'static str, typed: Typed) -> Self {
        Self { name, typed, framed: None }
    }

    fn framed(read: fn(&str, &str, &mut Sum), events: Vec<Vec<u8>>) -> Self {
        let name = "eventsource-stream + serde_json, the same payloads as server-sent events";
        Self { name, typed: Typed::Event(read), framed: Some(events) }
    }
}

fn joined(reads: &[Vec<u8>]) -> Vec<Vec<u8>> {
    reads.concat().chunks(16 << 10).map(<[u8]>::to_vec).collect()
}

/// A stream in a dialect, in reads, and the baselines that can read it.
struct Case {
    name: &'static str,
    dialect: Dialect,
    events: usize,
    reads: Vec<Vec<u8>>,
    baselines: Vec<Baseline>,
}

impl Case {
    fn an_event_a_read(name: &'static str, dialect: Dialect, reads: Vec<Vec<u8>>, baselines: &[Baseline]) -> Self {
        Self { name, dialect, events: reads.len(), reads, baselines: baselines.to_vec() }
    }

    fn large_reads(self, name: &'static str) -> Self {
        let baselines = self.baselines.into_iter();
        let baselines =
            baselines.map(|baseline| Baseline { framed: baseline.framed.as_deref().map(joined), ..baseline });
        Self { name, reads: joined(&self.reads), baselines: baselines.collect(), ..self }
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

    fn theirs(&self, baseline: &Baseline) -> Sum {
        baseline.typed.read(black_box(baseline.framed.as_ref().unwrap_or(&self.reads)))
    }

    fn bench(&self, criterion: &mut Criterion) {
        let mut group = criterion.benchmark_group(self.name);
        group.throughput(Throughput::Elements(self.events as u64));
        group.bench_function("llmperf-wire", |b| b.iter(|| self.ours()));
        for baseline in &self.baselines {
            assert_eq!(self.ours(), self.theirs(baseline), "both sides read the same");
            group.bench_function(baseline.name, |b| b.iter(|| self.theirs(baseline)));
        }
        group.finish();
    }

    /// Prints the ratios of the best of several rounds in which all take turns.
    fn print_ratios(&self, rounds: usize) {
        let mut ours = Duration::MAX;
        let mut theirs = vec![Duration::MAX; self.baselines.len()];
        for _ in 0..rounds {
            ours = ours.min(timed(|| self.ours()));
            for (best, baseline) in theirs.iter_mut().zip(&self.baselines) {
                *best = timed(|| self.theirs(baseline)).min(*best);
            }
        }
        let per_event = |time: Duration| time.as_nanos() as f64 / self.events as f64;
        println!("{}: llmperf-wire {:.0} ns an event", self.name, per_event(ours));
        for (time, Baseline { name, .. }) in theirs.into_iter().zip(&self.baselines) {
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
    let server_sent = |name, read| Baseline::new(name, Typed::Event(read));
    let [plain, tagged, by_name] = [
        "eventsource-stream + serde_json",
        "eventsource-stream + serde_json, tagged",
        "eventsource-stream + serde_json, by name",
    ];
    let chat = [server_sent(plain, chat::typed)];
    let responses = [server_sent(tagged, responses::tagged), server_sent(by_name, responses::by_name)];
    let messages = [server_sent(tagged, messages::tagged), server_sent(by_name, messages::by_name)];
    let cohere = [server_sent(tagged, cohere::tagged), server_sent(by_name, cohere::by_name)];
    let gemini = [server_sent(plain, gemini::typed)];
    let array = [
        Baseline::new("serde_json, element by element", Typed::Stream(gemini::typed_array)),
        Baseline::framed(gemini::typed, gemini::events()),
    ];
    let ollama = [
        Baseline::new("lines + serde_json", Typed::Stream(ollama::typed)),
        Baseline::framed(ollama::typed_event, ollama::events()),
    ];
    let bedrock = [
        Baseline::new("aws-smithy-eventstream + serde_json", Typed::Stream(bedrock::typed)),
        Baseline::framed(bedrock::typed_event, bedrock::events()),
    ];
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
