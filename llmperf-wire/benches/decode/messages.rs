//! Anthropic Messages: a stream as Anthropic sends it, and typed structs for it.

use std::hint::black_box;

use serde::Deserialize;

use crate::{FRAMES, Sum, WORDS, named};

pub(crate) fn frames() -> Vec<Vec<u8>> {
    let mut frames = vec![
        named(
            "message_start",
            r#"{"type":"message_start","message":{"model":"claude-sonnet-5","id":"msg_01JqiwuyYfmoZBJx1GLkqxLf","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":14,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":4,"service_tier":"standard"}}        }"#,
        ),
        named(
            "content_block_start",
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}      }"#,
        ),
        named("ping", r#"{"type": "ping"}"#),
    ];
    frames.extend((0..FRAMES).map(|n| {
        let (word, padding) = (WORDS[n % WORDS.len()], &"                "[..n % 16]);
        named(
            "content_block_delta",
            &format!(
                r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{word}"}}{padding}}}"#
            ),
        )
    }));
    frames.push(named("content_block_stop", r#"{"type":"content_block_stop","index":0    }"#));
    frames.push(named(
        "message_delta",
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2000}   }"#,
    ));
    frames.push(named("message_stop", r#"{"type":"message_stop"     }"#));
    frames
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart(MessageStart),
    ContentBlockStart(BlockStart),
    ContentBlockDelta(BlockDelta),
    ContentBlockStop(BlockStop),
    MessageDelta(MessageDelta),
    MessageStop,
    Ping,
}

#[derive(Deserialize)]
struct MessageStart {
    message: Message,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct Message {
    id: String,
    model: String,
    role: String,
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
    usage: StartUsage,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct StartUsage {
    input_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: u64,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct BlockStart {
    index: u32,
    content_block: Block,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(dead_code, reason = "a typed struct is filled whole")]
enum Block {
    Text { text: String },
    Thinking { thinking: String },
    ToolUse { id: String, name: String },
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct BlockDelta {
    index: u32,
    delta: Delta,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the provider's own names")]
enum Delta {
    TextDelta { text: String },
    ThinkingDelta { thinking: String },
    InputJsonDelta { partial_json: String },
    SignatureDelta { signature: String },
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct BlockStop {
    index: u32,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct MessageDelta {
    delta: StopDelta,
    usage: DeltaUsage,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct StopDelta {
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
}

#[derive(Deserialize)]
struct DeltaUsage {
    output_tokens: u64,
}

/// One enum tagged by the `type`, as client crates have it.
pub(crate) fn tagged(_: &str, data: &str, sum: &mut Sum) {
    match serde_json::from_str(data).unwrap() {
        Event::MessageStart(event) => sum.1 += event.message.usage.input_tokens,
        Event::ContentBlockDelta(event) => sum.0 += size(&event),
        Event::MessageDelta(event) => sum.1 += event.usage.output_tokens,
        Event::ContentBlockStart(event) => drop(black_box(event)),
        Event::ContentBlockStop(event) => drop(black_box(event)),
        Event::MessageStop | Event::Ping => {}
    }
}

/// A struct chosen by the name of the event, which spares the search for the `type`.
pub(crate) fn by_name(name: &str, data: &str, sum: &mut Sum) {
    match name {
        "content_block_delta" => sum.0 += size(&serde_json::from_str(data).unwrap()),
        "message_start" => sum.1 += serde_json::from_str::<MessageStart>(data).unwrap().message.usage.input_tokens,
        "message_delta" => sum.1 += serde_json::from_str::<MessageDelta>(data).unwrap().usage.output_tokens,
        _ => {}
    }
}

fn size(event: &BlockDelta) -> usize {
    match &event.delta {
        Delta::TextDelta { text } => text.len(),
        Delta::ThinkingDelta { thinking } => thinking.len(),
        Delta::InputJsonDelta { partial_json } => partial_json.len(),
        Delta::SignatureDelta { signature } => black_box(signature).len(),
    }
}
