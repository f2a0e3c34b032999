//! Cohere v2 chat: a stream as Cohere sends it, and typed structs for it.

use std::hint::black_box;

use serde::Deserialize;

use crate::{FRAMES, Sum, WORDS, named};

pub(crate) fn frames() -> Vec<Vec<u8>> {
    let mut frames = vec![
        named(
            "message-start",
            r#"{"id":"1bbe60bc-652f-42a7-b446-223df4f51019","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}"#,
        ),
        named(
            "content-start",
            r#"{"type":"content-start","index":0,"delta":{"message":{"content":{"type":"text","text":""}}}}"#,
        ),
    ];
    frames.extend((0..FRAMES).map(|n| {
        let word = WORDS[n % WORDS.len()];
        named(
            "content-delta",
            &format!(r#"{{"type":"content-delta","index":0,"delta":{{"message":{{"content":{{"text":"{word}"}}}}}}}}"#),
        )
    }));
    frames.push(named("content-end", r#"{"type":"content-end","index":0}"#));
    frames.push(named(
        "message-end",
        r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":5,"output_tokens":1990},"tokens":{"input_tokens":14,"output_tokens":2000},"cached_tokens":0}}}"#,
    ));
    frames.push(b"data: [DONE]\n\n".to_vec());
    frames
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Event {
    MessageStart(MessageStart),
    ContentStart(Content),
    ContentDelta(Content),
    ContentEnd(End),
    MessageEnd(MessageEnd),
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct MessageStart {
    id: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct Content {
    index: Option<u32>,
    delta: Option<ContentDelta>,
    logprobs: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct ContentDelta {
    message: Option<ContentMessage>,
}

#[derive(Deserialize)]
struct ContentMessage {
    content: Option<Text>,
}

#[derive(Deserialize)]
struct Text {
    text: Option<String>,
    thinking: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct End {
    index: Option<u32>,
}

#[derive(Deserialize)]
struct MessageEnd {
    delta: Option<EndDelta>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct EndDelta {
    finish_reason: Option<String>,
    error: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct Usage {
    tokens: Option<Tokens>,
    billed_units: Option<Tokens>,
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// One enum tagged by the `type`, as client crates have it.
pub(crate) fn tagged(_: &str, data: &str, sum: &mut Sum) {
    if data.starts_with("[DONE]") {
        return;
    }
    match serde_json::from_str(data).unwrap() {
        Event::ContentDelta(event) | Event::ContentStart(event) => sum.0 += size(event),
        Event::MessageEnd(event) => sum.1 += tokens(event),
        Event::MessageStart(event) => drop(black_box(event)),
        Event::ContentEnd(event) => drop(black_box(event)),
    }
}

/// A struct chosen by the name of the event, which spares the search for the `type`.
pub(crate) fn by_name(name: &str, data: &str, sum: &mut Sum) {
    match name {
        "content-start" | "content-delta" => sum.0 += size(serde_json::from_str(data).unwrap()),
        "message-end" => sum.1 += tokens(serde_json::from_str(data).unwrap()),
        _ => {}
    }
}

fn size(event: Content) -> usize {
    let text = event.delta.and_then(|delta| delta.message).and_then(|message| message.content);
    text.map_or(0, |text| [text.text, text.thinking].iter().flatten().map(String::len).sum())
}

fn tokens(event: MessageEnd) -> u64 {
    let tokens = event.delta.and_then(|delta| delta.usage).and_then(|usage| usage.tokens);
    tokens.map_or(0, |tokens| tokens.input_tokens.unwrap_or(0) + tokens.output_tokens.unwrap_or(0))
}
