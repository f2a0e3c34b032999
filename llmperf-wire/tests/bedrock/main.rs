//! The rules of Bedrock's dialect, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../messages/mod.rs"]
mod messages;

use std::time::Duration;

use llmperf_wire::{Chunk, Counts, Decoder, Dialect, Event, FinishKind, PieceKind, Sees, Usage};
use messages::{event, exception, message, text_header};

mod failures;
mod output;

/// Feeds a whole stream and gives each chunk to `look`.
fn decode(stream: &[u8], mut look: impl FnMut(&Chunk<'_>)) -> Counts {
    let mut decoder = Decoder::new(Dialect::BedrockConverse);
    let mut take = |event: Event<'_>| {
        if let Event::Chunk(chunk) = event {
            look(chunk);
        }
    };
    decoder.push(stream, &mut take);
    decoder.finish(&mut take);
    decoder.counts()
}

/// Gives `look` the one chunk that an event makes, all of which is known.
fn one<T>(name: &str, json: &str, look: impl Fn(&Chunk<'_>) -> T) -> T {
    let mut looked = Vec::new();
    let counts = decode(&event(name, json), |chunk| looked.push(look(chunk)));
    assert_eq!(counts, Counts::default(), "{name} {json}");
    assert_eq!(looked.len(), 1, "one chunk: {name} {json}");
    looked.pop().unwrap()
}

#[test]
fn the_metadata_is_the_marker() {
    assert_eq!(Dialect::BedrockConverse.sees(), Sees::Marker);
    assert!(one("metadata", r#"{"usage":{},"metrics":{"latencyMs":1}}"#, |chunk| chunk.terminal));
    for name in ["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"] {
        assert!(!one(name, "{}", |chunk| chunk.terminal), "{name}");
    }
}

#[test]
fn the_metadata_has_usage_time_and_tier() {
    let json = r#"{"metrics":{"latencyMs":1999},"p":"abc","serviceTier":{"type":"flex"},"usage":{"inputTokens":36,"outputTokens":73,"totalTokens":109}}"#;
    one("metadata", json, |chunk| {
        let Usage { input, output, cache_read, cache_write, reasoning, .. } = chunk.usage.unwrap();
        assert_eq!((input, output, cache_read, cache_write, reasoning), (Some(36), Some(73), None, None, None));
        assert_eq!(chunk.timings.unwrap().total, Some(Duration::from_millis(1999)));
        assert_eq!(chunk.service_tier.unwrap(), "flex");
    });
}

#[test]
fn what_came_through_the_cache_is_added_to_the_input() {
    let usage = |json: &str| one("metadata", &format!(r#"{{"usage":{json}}}"#), |chunk| chunk.usage.unwrap());
    let figures = |usage: Usage| (usage.input, usage.cache_read, usage.cache_write);
    let both = r#"{"inputTokens":4,"cacheReadInputTokens":1500,"cacheWriteInputTokens":20,"outputTokens":9}"#;
    assert_eq!(figures(usage(both)), (Some(1524), Some(1500), Some(20)));
    assert_eq!(figures(usage(r#"{"cacheReadInputTokens":1500,"inputTokens":4}"#)), (Some(1504), Some(1500), None));
    assert_eq!(figures(usage(r#"{"inputTokens":4,"cacheWriteInputTokens":null}"#)), (Some(4), None, None));
    assert_eq!(figures(usage(r#"{"cacheReadInputTokens":3,"outputTokens":9}"#)), (None, Some(3), None));
    let total =
        |total| format!(r#"{{"inputTokens":24,"outputTokens":4,"totalTokens":{total},"cacheReadInputTokens":16}}"#);
    assert_eq!(figures(usage(&total(44))), (Some(40), Some(16), None));
    assert_eq!(figures(usage(&total(28))), (Some(24), Some(16), None), "the total says that it is in there");
    let overflow = r#"{"inputTokens":18446744073709551615,"cacheReadInputTokens":1}"#;
    assert_eq!(figures(usage(overflow)), (None, Some(1), None));
}

#[test]
fn metadata_without_figures_says_nothing_of_them() {
    one("metadata", r#"{"usage":null,"metrics":null,"trace":{"guardrail":{"usage":{"inputTokens":1}}}}"#, |chunk| {
        assert!(chunk.usage.is_none() && chunk.timings.is_none() && chunk.service_tier.is_none());
    });
}

#[test]
fn stop_reasons_keep_the_services_word_and_have_a_kind() {
    for (word, kind) in [
        ("end_turn", FinishKind::Stop),
        ("stop_sequence", FinishKind::Stop),
        ("max_tokens", FinishKind::Length),
        ("model_context_window_exceeded", FinishKind::Length),
        ("tool_use", FinishKind::ToolCall),
        ("content_filtered", FinishKind::ContentFilter),
        ("guardrail_intervened", FinishKind::ContentFilter),
        ("malformed_model_output", FinishKind::Error),
        ("malformed_tool_use", FinishKind::Error),
        ("something_new", FinishKind::Other),
    ] {
        let json = format!(r#"{{"additionalModelResponseFields":{{"stopReason":"x"}},"stopReason":"{word}"}}"#);
        one("messageStop", &json, |chunk| {
            let finish = chunk.finishes().next().unwrap();
            assert_eq!((finish.choice, finish.reason.to_string().as_str(), finish.kind), (0, word, kind));
        });
    }
    assert_eq!(one("messageStop", r#"{"stopReason":null}"#, |chunk| chunk.finishes().count()), 0);
}

#[test]
fn an_event_of_another_type_is_a_chunk_and_counted_as_unknown() {
    let mut chunks = 0;
    let stream = [event("contentBlockPing", r#"{"delta":{"text":"x"}}"#), message(b"", b"{}")].concat();
    let counts = decode(&stream, |chunk| {
        chunks += 1;
        assert_eq!(chunk.outputs().count(), 0);
    });
    assert_eq!((chunks, counts.unknown), (2, 2));
    one("initial-response", "{}", |_| {});
}

#[test]
fn a_payload_that_is_no_object_is_malformed_whatever_its_type() {
    for name in ["contentBlockDelta", "contentBlockStop", "metadata", "unheardOf"] {
        for payload in ["", "{", r#"{"delta":{"text":"x"}"#, "[1]", "{} {}", "\u{1}"] {
            let mut chunks = 0;
            let counts = decode(&event(name, payload), |_| chunks += 1);
            assert_eq!((chunks, counts.malformed), (0, 1), "{name} {payload}");
        }
    }
}

#[test]
fn a_stream_that_breaks_is_said_and_counted_once() {
    let mut stream = [event("contentBlockDelta", r#"{"delta":{"text":"x"}}"#), event("messageStop", "{}")].concat();
    let last = stream.len() - 1;
    stream[last] ^= 1;
    stream.extend(event("metadata", "{}"));
    let mut decoder = Decoder::new(Dialect::BedrockConverse);
    let mut seen = Vec::new();
    for read in stream.chunks(7) {
        decoder.push(read, |event| seen.push(matches!(event, Event::Broken)));
    }
    decoder.finish(|event| seen.push(matches!(event, Event::Broken)));
    assert_eq!(seen, [false, true]);
    assert_eq!(decoder.counts().broken, 1);
}
