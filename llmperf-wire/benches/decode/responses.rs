//! OpenAI Responses: a stream as OpenAI sends it, and typed structs for it.

use serde::Deserialize;

use crate::{FRAMES, Sum, WORDS, named};

const RESPONSE: &str = r#""id":"resp_6866d2dec420819c92534dcf75e4751208","object":"response","created_at":1764547200,"background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":"gpt-5-2025-08-07","output":[],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"service_tier":"default","store":false,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled","user":null,"metadata":{}"#;
const ITEM: &str = "msg_6866d2df1c0c819c885ca369ba853e7f0847a84b87aad89c";

pub(crate) fn frames() -> Vec<Vec<u8>> {
    let event = |kind: &str, number: usize, rest: String| {
        named(kind, &format!(r#"{{"type":"{kind}","sequence_number":{number},{rest}}}"#))
    };
    let mut frames: Vec<_> = ["response.created", "response.in_progress"]
        .iter()
        .zip(0..)
        .map(|(kind, number)| {
            event(kind, number, format!(r#""response":{{"status":"in_progress",{RESPONSE},"usage":null}}"#))
        })
        .collect();
    frames.push(event(
        "response.output_item.added",
        2,
        format!(r#""output_index":0,"item":{{"id":"{ITEM}","type":"message","status":"in_progress","content":[],"role":"assistant"}}"#),
    ));
    frames.extend((0..FRAMES).map(|n| {
        let (word, obfuscation) = (WORDS[n % WORDS.len()], &"x9LpQ2vTzKw4a1Bc"[..n % 16]);
        event(
            "response.output_text.delta",
            n + 3,
            format!(r#""item_id":"{ITEM}","output_index":0,"content_index":0,"delta":"{word}","logprobs":[],"obfuscation":"{obfuscation}""#),
        )
    }));
    frames.push(event(
        "response.output_text.done",
        FRAMES + 3,
        format!(
            r#""item_id":"{ITEM}","output_index":0,"content_index":0,"text":"{}","logprobs":[]"#,
            WORDS.concat().repeat(FRAMES / WORDS.len())
        ),
    ));
    frames.push(event(
        "response.completed",
        FRAMES + 4,
        format!(r#""response":{{"status":"completed",{RESPONSE},"usage":{{"input_tokens":14,"input_tokens_details":{{"cached_tokens":0}},"output_tokens":2000,"output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":2014}}}}"#),
    ));
    frames
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum Event {
    #[serde(rename = "response.created", alias = "response.in_progress", alias = "response.completed")]
    Response(ResponseEvent),
    #[serde(rename = "response.output_item.added")]
    ItemAdded(ItemEvent),
    #[serde(rename = "response.output_text.delta")]
    TextDelta(TextDelta),
    #[serde(rename = "response.output_text.done")]
    TextDone(TextDone),
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct ResponseEvent {
    sequence_number: u64,
    response: Response,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct Response {
    id: String,
    object: String,
    created_at: u64,
    status: String,
    model: String,
    output: Vec<Item>,
    service_tier: Option<String>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct ItemEvent {
    sequence_number: u64,
    output_index: u32,
    item: Item,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct Item {
    id: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    status: Option<String>,
    role: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TextDelta {
    sequence_number: u64,
    item_id: String,
    output_index: u32,
    content_index: u32,
    delta: String,
    logprobs: Option<Vec<serde_json::Value>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TextDone {
    sequence_number: u64,
    item_id: String,
    output_index: u32,
    content_index: u32,
    text: String,
}

/// One enum tagged by the `type`, as client crates have it.
pub(crate) fn tagged(_: &str, data: &str, sum: &mut Sum) {
    match serde_json::from_str(data).unwrap() {
        Event::Response(event) => whole(&event, sum),
        Event::TextDelta(event) => sum.0 += event.delta.len(),
        Event::ItemAdded(event) => assert!(event.item.name.is_none()),
        Event::TextDone(event) => assert!(!event.text.is_empty()),
    }
}

/// A struct chosen by the name of the event, which spares the search for the `type`.
pub(crate) fn by_name(name: &str, data: &str, sum: &mut Sum) {
    match name {
        "response.output_text.delta" => sum.0 += serde_json::from_str::<TextDelta>(data).unwrap().delta.len(),
        "response.output_text.done" => assert!(!serde_json::from_str::<TextDone>(data).unwrap().text.is_empty()),
        "response.output_item.added" => {
            assert!(serde_json::from_str::<ItemEvent>(data).unwrap().item.name.is_none());
        }
        _ => whole(&serde_json::from_str(data).unwrap(), sum),
    }
}

fn whole(event: &ResponseEvent, sum: &mut Sum) {
    if let Some(usage) = &event.response.usage {
        sum.1 = usage.input_tokens + usage.output_tokens;
    }
}
