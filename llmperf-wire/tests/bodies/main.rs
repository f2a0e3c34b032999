//! Answers that are not streamed: what each provider's says, whatever was expected, however it is written and cut.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::{Counts, Decoder, Dialect, Event, FinishKind, Form, Operation, PieceKind, ServerTimings, Usage};
use serde_json::Value;

mod errors;
mod figures;
mod messages;
mod odd;

/// All dialects, and none.
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

/// What an answer says.
#[derive(Debug, Default, PartialEq)]
struct Body {
    dialect: Option<Dialect>,
    output: Vec<(PieceKind, u32, String)>,
    finishes: Vec<(u32, String, FinishKind)>,
    usage: Option<Usage>,
    timings: Option<ServerTimings>,
    /// `error.type` and message.
    failure: Option<(String, Option<String>)>,
    terminal: bool,
    id: Option<String>,
    model: Option<String>,
}

fn decode<'r>(mut decoder: Decoder, reads: impl IntoIterator<Item = &'r [u8]>) -> (Vec<Body>, Counts, Option<Form>) {
    let mut bodies = Vec::new();
    let mut take = |event: Event<'_>| {
        let Event::Chunk(chunk) = event else { return };
        bodies.push(Body {
            dialect: chunk.dialect,
            output: chunk.outputs().map(|piece| (piece.kind, piece.choice, piece.text.to_string())).collect(),
            finishes: chunk.finishes().map(|finish| (finish.choice, finish.reason.to_string(), finish.kind)).collect(),
            usage: chunk.usage,
            timings: chunk.timings,
            failure: chunk
                .failure
                .as_ref()
                .map(|failure| (failure.error_type().into_owned(), failure.message.map(|message| message.to_string()))),
            terminal: chunk.terminal,
            id: chunk.id.map(|id| id.to_string()),
            model: chunk.model.map(|model| model.to_string()),
        });
    };
    for read in reads {
        decoder.push(read, &mut take);
    }
    let form = decoder.form();
    decoder.finish(&mut take);
    (bodies, decoder.counts(), form)
}

/// What the one answer says, which is the same with any expectation, compact or pretty, whole or cut.
fn body(json: &str) -> Body {
    let mut first: Option<Body> = None;
    let value: Value = serde_json::from_str(json).unwrap();
    for hint in HINTS {
        for text in [json.to_owned(), value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            for length in [1, 7, text.len()] {
                let decoders = [
                    Decoder::whole(hint),
                    Decoder::sniffing(hint, Some("application/json; charset=utf-8")),
                    Decoder::sniffing(hint, Some("text/event-stream")),
                    Decoder::sniffing(hint, None),
                ];
                for decoder in decoders {
                    let (mut bodies, counts, form) = decode(decoder, text.as_bytes().chunks(length));
                    assert_eq!((bodies.len(), form), (1, Some(Form::Whole)), "{hint:?} {text}");
                    assert_eq!(counts, Counts::default(), "{hint:?} {text}");
                    let mut found = bodies.remove(0);
                    // Pieces come in the order of the fields, arguments as they are written.
                    found.output.sort_by_key(|(kind, choice, text)| (*choice, *kind as u8, text.clone()));
                    for (_, _, text) in &mut found.output {
                        text.retain(|character| !character.is_whitespace());
                    }
                    match &first {
                        None => first = Some(found),
                        Some(first) => assert_eq!(&found, first, "{hint:?} {text}"),
                    }
                }
            }
        }
    }
    first.unwrap()
}

fn piece(kind: PieceKind, text: &str) -> (PieceKind, u32, String) {
    (kind, 0, text.to_owned())
}

fn finish(reason: &str, kind: FinishKind) -> Vec<(u32, String, FinishKind)> {
    vec![(0, reason.to_owned(), kind)]
}

fn usage(set: impl Fn(&mut Usage)) -> Option<Usage> {
    let mut usage = Usage::default();
    set(&mut usage);
    Some(usage)
}

fn failed(error_type: &str, message: &str) -> Option<(String, Option<String>)> {
    Some((error_type.to_owned(), Some(message.to_owned()).filter(|message| !message.is_empty())))
}

/// What an answer says that came with this status.
fn refused(status: u16, text: &str) -> Vec<Body> {
    decode(Decoder::sniffing(None, Some("application/json")).status(status), [text.as_bytes()]).0
}

/// The answer's failure, which does not depend on the dialect that was expected.
fn failure(status: u16, json: &str) -> Option<(String, Option<String>)> {
    let mut bodies = refused(status, json);
    assert_eq!(bodies.len(), 1, "{json}");
    for hint in HINTS {
        let decoder = Decoder::whole(hint).status(status);
        let (others, ..) = decode(decoder, json.as_bytes().chunks(3));
        assert_eq!(others[0].failure, bodies[0].failure, "{hint:?} {json}");
    }
    assert!(!bodies[0].terminal, "{json}");
    bodies.remove(0).failure
}

#[test]
fn operations_have_the_names_of_the_conventions() {
    let names = [
        (Operation::Chat, "chat"),
        (Operation::TextCompletion, "text_completion"),
        (Operation::GenerateContent, "generate_content"),
        (Operation::Embeddings, "embeddings"),
        (Operation::Rerank, "rerank"),
    ];
    for (operation, name) in names {
        assert_eq!(operation.as_str(), name);
    }
}
