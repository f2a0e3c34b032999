//! The rules of Gemini's dialects, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::{Chunk, Counts, Decoder, Dialect, Event, FinishKind, Origin, PieceKind, Sees, Usage};

mod array;
mod failures;
mod finishes;
mod output;
mod usages;

/// Feeds a whole stream and gives each chunk to `look`.
fn decode(dialect: Dialect, stream: impl AsRef<[u8]>, mut look: impl FnMut(&Chunk<'_>)) -> Counts {
    let mut decoder = Decoder::new(dialect);
    let mut take = |event: Event<'_>| {
        if let Event::Chunk(chunk) = event {
            look(chunk);
        }
    };
    decoder.push(stream.as_ref(), &mut take);
    decoder.finish(&mut take);
    decoder.counts()
}

/// Gives `look` the chunk that a payload makes, as an event and as an element, and asserts that it says the same.
fn payload<T: PartialEq + std::fmt::Debug>(json: &str, look: impl Fn(&Chunk<'_>) -> T) -> T {
    let looked = |dialect, stream: String| {
        let mut looked = Vec::new();
        let counts = decode(dialect, stream, |chunk| {
            if chunk.origin == Origin::Event {
                looked.push(look(chunk));
            }
        });
        assert_eq!(counts.malformed, 0, "{json}");
        assert_eq!(looked.len(), 1, "one chunk: {json}");
        looked.pop().unwrap()
    };
    let event = looked(Dialect::Gemini, format!("data: {json}\r\n\r\n"));
    assert_eq!(looked(Dialect::GeminiArray, format!("[{json}\r\n]")), event, "{json}");
    event
}

#[test]
fn model_and_id_are_told() {
    let json = r#"{"candidates":[],"modelVersion":"gemini-2.5-flash","responseId":"r1","createTime":"t"}"#;
    let told = payload(json, |chunk| (chunk.model.map(|m| m.to_string()), chunk.id.map(|id| id.to_string())));
    assert_eq!(told, (Some("gemini-2.5-flash".to_owned()), Some("r1".to_owned())));
}

#[test]
fn server_sent_events_show_no_marker_and_the_array_does() {
    assert_eq!(Dialect::Gemini.sees(), Sees::Finish);
    assert_eq!(Dialect::GeminiArray.sees(), Sees::Marker);
    assert!(!payload(r#"{"candidates":[{"finishReason":"STOP"}]}"#, |chunk| chunk.terminal));
}

#[test]
fn a_done_of_a_gateway_says_nothing() {
    let mut seen = Vec::new();
    let counts = decode(Dialect::Gemini, "data: {\"candidates\":[]}\n\ndata: [DONE]\n\n", |chunk| {
        seen.push(chunk.terminal);
    });
    assert_eq!((seen, counts), (vec![false, false], Counts::default()));
}

#[test]
fn an_object_with_nothing_of_the_dialect_is_counted_as_unknown() {
    for (json, unknown) in [("{}", 1), (r#"{"event_type":"step.delta"}"#, 1), (r#"{"promptFeedback":{}}"#, 0)] {
        let mut chunks = 0;
        let counts = decode(Dialect::Gemini, format!("data: {json}\n\n"), |_| chunks += 1);
        assert_eq!((chunks, counts.unknown), (1, unknown), "{json}");
    }
}

#[test]
fn what_is_no_object_is_malformed() {
    for data in [r#"{"candidates":[{"content":"#, "[1]", "17", "oops", r#"{"a":1} {"b":2}"#] {
        let mut chunks = 0;
        let counts = decode(Dialect::Gemini, format!("data: {data}\n\n"), |_| chunks += 1);
        assert_eq!((chunks, counts.malformed), (0, 1), "{data}");
    }
}
