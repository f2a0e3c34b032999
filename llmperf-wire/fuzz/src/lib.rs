//! What every fuzz target checks: no panic, bounded memory, and the same events wherever the reads are cut.

use std::fmt::Write as _;

use llmperf_wire::{Decoder, Dialect, Event};

pub use libfuzzer_sys;

/// Small enough for the fuzzer to pass it.
const TIGHT: usize = 96;

/// Makes the fuzz target of a dialect.
#[macro_export]
macro_rules! fuzz_dialect {
    ($dialect:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::decode(llmperf_wire::Dialect::$dialect, input));
    };
}

/// Decodes an input whole and cut, with room and without. Its first byte says where to cut, the others are the stream.
pub fn decode(dialect: Dialect, input: &[u8]) {
    let Some((&seed, stream)) = input.split_first() else { return };
    cut(seed, stream, || Decoder::new(dialect));
}

/// The same for an answer that has to show what it is. Its second byte says what was expected and declared.
pub fn sniff(input: &[u8]) {
    let [seed, expected, answer @ ..] = input else { return };
    let hint = HINTS[usize::from(expected % 16) % HINTS.len()];
    let content_type = CONTENT_TYPES[usize::from(expected / 16) % CONTENT_TYPES.len()];
    cut(*seed, answer, || Decoder::sniffing(hint, content_type));
    cut(*seed, answer, || Decoder::whole(hint).status(500));
}

/// The same for Bedrock with right lengths and checks, which a fuzzer hardly ever finds: the input is the messages' types
/// and payloads, parted by zero bytes.
pub fn decode_messages(input: &[u8]) {
    let Some((&seed, rest)) = input.split_first() else { return };
    let stream: Vec<u8> = rest.split(|byte| *byte == 0).flat_map(message).collect();
    cut(seed, &stream, || Decoder::new(Dialect::BedrockConverse));
}

/// A message of the event stream: its first byte is the place of its type in the list, the others are its payload.
fn message(said: &[u8]) -> Vec<u8> {
    let Some((kind, payload)) = said.split_first() else { return Vec::new() };
    let (of, kind) = MESSAGES[usize::from(*kind) % MESSAGES.len()];
    let mut headers = Vec::new();
    for (name, value) in [(":message-type", of), (&*format!(":{of}-type"), kind)] {
        headers.push(name.len() as u8);
        headers.extend_from_slice(name.as_bytes());
        headers.push(7);
        headers.extend_from_slice(&(value.len() as u16).to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let mut message = Vec::new();
    message.extend_from_slice(&((16 + headers.len() + payload.len()) as u32).to_be_bytes());
    message.extend_from_slice(&(headers.len() as u32).to_be_bytes());
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(&headers);
    message.extend_from_slice(payload);
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message
}

const MESSAGES: [(&str, &str); 8] = [
    ("event", "messageStart"),
    ("event", "contentBlockStart"),
    ("event", "contentBlockDelta"),
    ("event", "contentBlockStop"),
    ("event", "messageStop"),
    ("event", "metadata"),
    ("event", "somethingNew"),
    ("exception", "throttlingException"),
];

const HINTS: [Option<Dialect>; 9] = [
    None,
    Some(Dialect::OpenAiChat),
    Some(Dialect::OpenAiResponses),
    Some(Dialect::Anthropic),
    Some(Dialect::Cohere),
    Some(Dialect::Gemini),
    Some(Dialect::GeminiArray),
    Some(Dialect::Ollama),
    Some(Dialect::BedrockConverse),
];

const CONTENT_TYPES: [Option<&str>; 5] = [
    None,
    Some("text/event-stream"),
    Some("application/json"),
    Some("application/x-ndjson"),
    Some("application/vnd.amazon.eventstream"),
];

fn cut(seed: u8, stream: &[u8], decoder: impl Fn() -> Decoder) {
    for limit in [1 << 20, TIGHT] {
        let whole = events(decoder().limit(limit), limit, [stream]);
        let middle = stream.len() * usize::from(seed) / 256;
        let (head, tail) = stream.split_at(middle);
        assert_eq!(events(decoder().limit(limit), limit, [head, tail]), whole, "cut at {middle}, limit {limit}");
        let size = usize::from(seed % 7) + 1;
        let cut = events(decoder().limit(limit), limit, stream.chunks(size));
        assert_eq!(cut, whole, "cut into {size}, limit {limit}");
    }
}

/// The events of a stream, as text: comparing them reads every piece that they lend.
fn events<'r>(mut decoder: Decoder, limit: usize, reads: impl IntoIterator<Item = &'r [u8]>) -> String {
    let mut told = String::new();
    let mut tell = |event: Event<'_>| {
        if let Event::Chunk(chunk) = &event {
            for piece in chunk.outputs() {
                assert_eq!(piece.text.is_empty(), piece.text.decode().is_empty());
                assert!(!piece.text.is_empty(), "an empty piece is no output");
            }
        }
        let _infallible = writeln!(told, "{event:?}");
    };
    for read in reads {
        decoder.push(read, &mut tell);
        assert!(decoder.held() <= limit, "{} bytes held", decoder.held());
    }
    decoder.finish(&mut tell);
    assert_eq!(decoder.held(), 0, "bytes held after the end");
    told
}
