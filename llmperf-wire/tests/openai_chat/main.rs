//! The rules of the chat dialect, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use llmperf_wire::{Chunk, Counts, Decoder, Dialect, Event, FinishKind, Origin, PieceKind, Sees, ServerTimings, Usage};

mod failures;
mod family;
mod figures;
mod output;
mod payloads;

/// Feeds a whole stream and gives each chunk to `look`.
fn decode(stream: impl AsRef<[u8]>, mut look: impl FnMut(&Chunk<'_>)) -> Counts {
    let mut decoder = Decoder::new(Dialect::OpenAiChat);
    let mut take = |event: Event<'_>| {
        if let Event::Chunk(chunk) = event {
            look(chunk);
        }
    };
    decoder.push(stream.as_ref(), &mut take);
    decoder.finish(&mut take);
    decoder.counts()
}

/// Gives `look` the one chunk that a payload makes.
fn payload<T>(json: &str, look: impl Fn(&Chunk<'_>) -> T) -> T {
    let mut looked = Vec::new();
    decode(format!("data: {json}\n\n"), |chunk| {
        looked.push(look(chunk));
    });
    assert_eq!(looked.len(), 1, "one chunk: {json}");
    looked.pop().unwrap()
}

fn pieces(chunk: &Chunk<'_>) -> Vec<(PieceKind, u32, String)> {
    chunk.outputs().map(|piece| (piece.kind, piece.choice, piece.text.to_string())).collect()
}

/// The output of a payload whose one choice has this delta.
fn output(delta: &str) -> Vec<(PieceKind, String)> {
    let json = format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    payload(&json, pieces).into_iter().map(|(kind, _, text)| (kind, text)).collect()
}

fn one(kind: PieceKind, text: &str) -> Vec<(PieceKind, String)> {
    vec![(kind, text.to_owned())]
}

fn usage(json: &str) -> Usage {
    payload(&format!(r#"{{"choices":[],"usage":{json}}}"#), |chunk| chunk.usage.unwrap())
}

/// `error.type` and message.
fn failure(chunk: &Chunk<'_>) -> Option<(String, Option<String>)> {
    let failure = chunk.failure.as_ref()?;
    Some((failure.error_type().into_owned(), failure.message.map(|message| message.to_string())))
}

fn failed(kind: &str, message: &str) -> Option<(String, Option<String>)> {
    Some((kind.to_owned(), Some(message.to_owned())))
}
