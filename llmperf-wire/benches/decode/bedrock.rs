//! Bedrock's ConverseStream: a stream as the service sends it, read by the SDK's own framing into typed structs.

use std::hint::black_box;

use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use aws_smithy_eventstream::smithy::parse_response_headers;
use bytes::BytesMut;
use serde::Deserialize;

use crate::event_stream::event;
use crate::{FRAMES, Sum, WORDS, named};

const PADDING: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The types and payloads of a stream.
fn typed_payloads() -> Vec<(&'static str, String)> {
    let padding = |n: usize| &PADDING[..n % PADDING.len()];
    let mut payloads = vec![("messageStart", r#"{"p":"abcdefghijkl","role":"assistant"}"#.to_owned())];
    payloads.extend((0..FRAMES).map(|n| {
        let (word, padding) = (WORDS[n % WORDS.len()], padding(n * 7));
        ("contentBlockDelta", format!(r#"{{"contentBlockIndex":0,"delta":{{"text":"{word}"}},"p":"{padding}"}}"#))
    }));
    payloads.push(("contentBlockStop", r#"{"contentBlockIndex":0,"p":"abcd"}"#.to_owned()));
    payloads.push(("messageStop", r#"{"p":"abcdefgh","stopReason":"end_turn"}"#.to_owned()));
    payloads.push((
        "metadata",
        r#"{"metrics":{"latencyMs":1999},"p":"abc","usage":{"inputTokens":14,"outputTokens":2000,"totalTokens":2014}}"#
            .to_owned(),
    ));
    payloads
}

pub(crate) fn messages() -> Vec<Vec<u8>> {
    typed_payloads().iter().map(|(kind, payload)| event(kind, payload)).collect()
}

/// The same payloads as server-sent events, their types as names.
pub(crate) fn events() -> Vec<Vec<u8>> {
    typed_payloads().iter().map(|(kind, payload)| named(kind, payload)).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockDelta {
    content_block_index: u32,
    delta: Option<Delta>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Delta {
    Text(String),
    ReasoningContent(Reasoning),
    ToolUse(ToolUse),
}

#[derive(Deserialize)]
struct Reasoning {
    text: Option<String>,
}

#[derive(Deserialize)]
struct ToolUse {
    input: String,
}

#[derive(Deserialize)]
struct Start {
    role: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockStop {
    content_block_index: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stop {
    stop_reason: String,
}

#[derive(Deserialize)]
struct Metadata {
    usage: Usage,
    metrics: Metrics,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    input_tokens: u64,
    output_tokens: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metrics {
    latency_ms: u64,
}

pub(crate) fn typed(reads: &[Vec<u8>]) -> Sum {
    let mut sum = (0, 0);
    let mut held = BytesMut::new();
    let mut decoder = MessageFrameDecoder::new();
    for read in reads {
        held.extend_from_slice(read);
        while let DecodedFrame::Complete(message) = decoder.decode_frame(&mut held).unwrap() {
            let headers = parse_response_headers(&message).unwrap();
            let payload = message.payload().as_ref();
            take(headers.smithy_type.as_str(), payload, &mut sum);
        }
    }
    sum
}

/// The same payloads where they come as server-sent events.
pub(crate) fn typed_event(name: &str, data: &str, sum: &mut Sum) {
    take(name, data.as_bytes(), sum);
}

fn take(kind: &str, payload: &[u8], sum: &mut Sum) {
    match kind {
        "contentBlockDelta" => sum.0 += size(&serde_json::from_slice(payload).unwrap()),
        "messageStart" => drop(black_box(serde_json::from_slice::<Start>(payload).unwrap().role)),
        "messageStop" => drop(black_box(serde_json::from_slice::<Stop>(payload).unwrap().stop_reason)),
        "contentBlockStop" => {
            black_box(serde_json::from_slice::<BlockStop>(payload).unwrap().content_block_index);
        }
        "metadata" => {
            let metadata: Metadata = serde_json::from_slice(payload).unwrap();
            black_box(metadata.metrics.latency_ms);
            sum.1 = metadata.usage.input_tokens + metadata.usage.output_tokens;
        }
        _ => {}
    }
}

fn size(event: &BlockDelta) -> usize {
    black_box(event.content_block_index);
    match &event.delta {
        Some(Delta::Text(text)) => text.len(),
        Some(Delta::ReasoningContent(reasoning)) => reasoning.text.as_deref().map_or(0, str::len),
        Some(Delta::ToolUse(tool)) => tool.input.len(),
        None => 0,
    }
}
