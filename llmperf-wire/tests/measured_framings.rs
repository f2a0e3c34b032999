//! The dialects of the other framings, and Gemini, through `measure_wire`: how their streams end, what their servers tell
//! of themselves, and what is said of bytes that cannot be read.
#![cfg(feature = "measure")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod messages;

use std::time::Duration;

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{FinishKind, Outcome, Timing, testing::Probe};
use llmperf_wire::{Decoder, Dialect, Event, MeasureWire as _};
use messages::{event, exception};

/// Measures reads that come a second apart.
fn measured(probe: &Probe, dialect: Dialect, reads: &[&[u8]]) -> Timing {
    let clock = probe.clock();
    let body = stream::iter(reads.iter().map(|read| {
        clock.advance(Duration::from_secs(1));
        Ok::<_, std::io::Error>(*read)
    }));
    let mut body = body.measure_wire(probe.chat("provider", "model"), dialect);
    block_on(async { while body.next().await.is_some() {} });
    body.into_timing()
}

/// How often a thing was said that is odd.
fn odd(probe: &Probe, kind: &str) -> f64 {
    let points = probe.points("llmperf.internal.events");
    points.iter().filter(|point| point.attribute("llmperf.internal.kind") == kind).map(|point| point.sum).sum()
}

/// A whole stream: its output, its finish reason, its end.
struct Parts {
    dialect: Dialect,
    output: Vec<u8>,
    reason: Vec<u8>,
    end: Vec<u8>,
}

fn streams() -> [Parts; 4] {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let candidate = |fields: &str| format!("{{\"candidates\":[{{{fields}}}]}}");
    let output = candidate("\"content\":{\"parts\":[{\"text\":\"a\"}]}");
    let reason = candidate("\"finishReason\":\"STOP\"");
    [
        Parts {
            dialect: Dialect::Gemini,
            output: format!("data: {output}\r\n\r\n").into_bytes(),
            reason: format!("data: {reason}\r\n\r\n").into_bytes(),
            end: Vec::new(),
        },
        Parts {
            dialect: Dialect::GeminiArray,
            output: format!("[{output}\r\n").into_bytes(),
            reason: format!(",\r\n{reason}\r\n").into_bytes(),
            end: bytes("]\r\n"),
        },
        Parts {
            dialect: Dialect::Ollama,
            output: bytes("{\"model\":\"m\",\"response\":\"a\",\"done\":false}\n"),
            reason: Vec::new(),
            end: bytes("{\"model\":\"m\",\"response\":\"\",\"done\":true,\"done_reason\":\"stop\"}\n"),
        },
        Parts {
            dialect: Dialect::BedrockConverse,
            output: event("contentBlockDelta", "{\"delta\":{\"text\":\"a\"}}"),
            reason: event("messageStop", "{\"stopReason\":\"end_turn\"}"),
            end: event("metadata", "{\"usage\":{\"inputTokens\":3,\"outputTokens\":1}}"),
        },
    ]
}

#[test]
fn a_whole_stream_is_complete_and_its_end_is_no_chunk_of_its_own_where_it_has_no_event() {
    for Parts { dialect, output, reason, end } in streams() {
        let probe = Probe::new();
        let timing = measured(&probe, dialect, &[&output, &reason, &end]);
        assert_eq!((timing.outcome, timing.outputs), (Some(Outcome::Complete), 1), "{dialect:?}");
        assert_eq!(timing.chunks, if dialect == Dialect::BedrockConverse { 3 } else { 2 }, "{dialect:?}");
        let reasons: Vec<_> = timing.finish_reasons.iter().map(|reason| reason.kind).collect();
        assert_eq!(reasons, [FinishKind::Stop], "{dialect:?}");
        assert!(probe.points("llmperf.client.markers_missing").is_empty(), "{dialect:?}");
    }
}

#[test]
fn a_stream_that_stops_before_its_reason_is_interrupted_and_behind_it_complete() {
    for Parts { dialect, output, reason, .. } in streams() {
        let probe = Probe::new();
        assert_eq!(measured(&probe, dialect, &[&output]).outcome, Some(Outcome::Interrupted), "{dialect:?}");
        if !reason.is_empty() {
            let probe = Probe::new();
            assert_eq!(measured(&probe, dialect, &[&output, &reason]).outcome, Some(Outcome::Complete), "{dialect:?}");
            // Server-sent events of Gemini have no marker that could be missing.
            let missing = probe.points("llmperf.client.markers_missing").len();
            assert_eq!(missing, usize::from(dialect != Dialect::Gemini), "{dialect:?}");
        }
    }
}

#[test]
fn a_failure_beats_the_end_that_follows() {
    for Parts { dialect, output, reason, end } in streams() {
        let error = "{\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\",\"message\":\"m\"}}";
        let failure = match dialect {
            Dialect::BedrockConverse => exception("UNAVAILABLE", "{\"message\":\"m\"}"),
            Dialect::GeminiArray => format!(",{error}").into_bytes(),
            _ => format!("{error}\n").into_bytes(),
        };
        let timing = measured(&Probe::new(), dialect, &[&output, &reason, &failure, &end]);
        assert_eq!(timing.outcome, Some(Outcome::Error), "{dialect:?}");
        assert_eq!(timing.error_type.as_deref(), Some("UNAVAILABLE"), "{dialect:?}");
    }
}

#[test]
fn a_blocked_prompt_is_complete_without_output() {
    let blocked = b"data: {\"promptFeedback\":{\"blockReason\":\"OTHER\"}}\r\n\r\n";
    let timing = measured(&Probe::new(), Dialect::Gemini, &[blocked]);
    assert_eq!((timing.outcome, timing.outputs, timing.chunks), (Some(Outcome::Complete), 0, 1));
    assert_eq!(timing.time_to_first_token, None);
    let reason = &timing.finish_reasons[0];
    assert_eq!((&*reason.reason, reason.kind), ("OTHER", FinishKind::ContentFilter));
}

/// Events that end a choice: in what form, and with which words.
const ENDS: [(Dialect, &str, &[&str]); 3] = [
    (
        Dialect::Gemini,
        r#"{"candidates":[{"finishReason":"$"}]}"#,
        &[
            "STOP",
            "MAX_TOKENS",
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "MODEL_ARMOR",
            "IMAGE_SAFETY",
            "IMAGE_RECITATION",
            "IMAGE_PROHIBITED_CONTENT",
            "MALFORMED_FUNCTION_CALL",
            "MALFORMED_RESPONSE",
            "MISSING_THOUGHT_SIGNATURE",
            "TOO_MANY_TOOL_CALLS",
            "UNEXPECTED_TOOL_CALL",
            "OTHER",
        ],
    ),
    (Dialect::Ollama, r#"{"done_reason":"$","done":true}"#, &["stop", "length", "load", "unload"]),
    (
        Dialect::BedrockConverse,
        r#"{"stopReason":"$"}"#,
        &[
            "end_turn",
            "tool_use",
            "max_tokens",
            "stop_sequence",
            "guardrail_intervened",
            "content_filtered",
            "malformed_model_output",
            "malformed_tool_use",
            "model_context_window_exceeded",
        ],
    ),
];

#[test]
fn a_finish_reason_means_the_same_to_the_decoder_and_to_the_call() {
    for (dialect, form, words) in ENDS {
        for word in words {
            let json = form.replace('$', word);
            let bytes = match dialect {
                Dialect::Gemini => format!("data: {json}\n\n").into_bytes(),
                Dialect::BedrockConverse => event("messageStop", &json),
                _ => format!("{json}\n").into_bytes(),
            };
            let mut decoded = Vec::new();
            Decoder::new(dialect).push(&bytes, |event| {
                if let Event::Chunk(chunk) = event {
                    decoded.extend(chunk.finishes().map(|finish| format!("{:?}", finish.kind)));
                }
            });
            assert_eq!(decoded, [format!("{:?}", FinishKind::of(word))], "{word}");
            let told = measured(&Probe::new(), dialect, &[&bytes]).finish_reasons;
            assert_eq!((&*told[0].reason, told[0].kind), (*word, FinishKind::of(word)));
        }
    }
}

#[test]
fn the_servers_own_times_are_on_the_span() {
    let ollama = b"{\"model\":\"m\",\"done\":true,\"total_duration\":4000000000,\"load_duration\":1500000000,\"prompt_eval_duration\":500000000,\"eval_duration\":2000000000}\n";
    let bedrock = event("metadata", "{\"metrics\":{\"latencyMs\":1999}}");
    type Told<'a> = &'a [(&'a str, &'a str)];
    let cases: [(Dialect, &[u8], Told<'_>); 2] = [
        (
            Dialect::Ollama,
            ollama,
            &[
                ("llmperf.server_reported.total_time", "4"),
                ("llmperf.server_reported.load_time", "1.5"),
                ("llmperf.server_reported.prompt_time", "0.5"),
                ("llmperf.server_reported.generation_time", "2"),
            ],
        ),
        (Dialect::BedrockConverse, &bedrock, &[("llmperf.server_reported.total_time", "1.999")]),
    ];
    for (dialect, bytes, expected) in cases {
        let probe = Probe::new();
        measured(&probe, dialect, &[bytes]);
        let span = probe.span();
        let mut found: Vec<_> = span
            .attributes
            .iter()
            .filter(|found| found.key.as_str().contains("server_reported"))
            .map(|found| (found.key.as_str(), found.value.to_string()))
            .collect();
        let mut expected: Vec<_> = expected.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{dialect:?}");
    }
}

#[test]
fn a_stream_that_breaks_is_interrupted_and_the_decoder_said_to_be_blind_once() {
    let output = event("contentBlockDelta", "{\"delta\":{\"text\":\"a\"}}");
    let mut spoilt = event("messageStop", "{\"stopReason\":\"end_turn\"}");
    let last = spoilt.len() - 1;
    spoilt[last] ^= 1;
    let end = event("metadata", "{}");
    let probe = Probe::new();
    let timing = measured(&probe, Dialect::BedrockConverse, &[&output, &spoilt, &end]);
    assert_eq!((timing.outcome, timing.outputs), (Some(Outcome::Interrupted), 1));
    assert_eq!(odd(&probe, "decoder_blind"), 1.0);
}

#[test]
fn bytes_of_another_format_leave_each_decoder_blind_or_make_malformed_payloads() {
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xa5, b'\n', 0x10, 0, 0xff, b'\r', 7];
    for body in [&gzip[..], b"<!doctype html>\n<html><body>502 Bad Gateway</body></html>\n"] {
        for (dialect, kind) in [
            (Dialect::Gemini, "decoder_blind"),
            (Dialect::GeminiArray, "decoder_blind"),
            (Dialect::BedrockConverse, "decoder_blind"),
            (Dialect::Ollama, "malformed_payload"),
        ] {
            for read in [1, body.len()] {
                let probe = Probe::new();
                let reads: Vec<&[u8]> = body.chunks(read).collect();
                let timing = measured(&probe, dialect, &reads);
                assert_eq!((timing.outcome, timing.chunks), (Some(Outcome::Interrupted), 0), "{dialect:?}");
                assert!(odd(&probe, kind) >= 1.0, "{dialect:?}: {body:?}");
            }
        }
    }
}

#[test]
fn a_pace_is_taken_from_the_answer_where_thoughts_come_as_a_summary() {
    let frame = |part: &str, rest: &str| {
        format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{part}]}}}}]{rest}}}\r\n\r\n")
    };
    let usage = ",\"usageMetadata\":{\"promptTokenCount\":4,\"candidatesTokenCount\":10,\"thoughtsTokenCount\":300,\"totalTokenCount\":314}";
    let frames = [
        frame("{\"text\":\"plan\",\"thought\":true}", ""),
        frame("{\"text\":\"half\"}", ""),
        frame("{\"text\":\"half\"}", usage),
    ];
    let timing = measured(&Probe::new(), Dialect::Gemini, &frames.each_ref().map(String::as_bytes));
    assert_eq!((timing.usage.output_tokens(), timing.usage.reasoning_tokens()), (Some(310), Some(300)));
    assert_eq!(timing.time_to_first_token, Some(Duration::from_secs(1)));
    assert_eq!(timing.time_to_first_answer, Some(Duration::from_secs(2)));
    // A second for the five tokens of the second half: the 300 never came over the wire.
    assert_eq!(timing.time_per_output_token, Some(Duration::from_millis(200)));
}
