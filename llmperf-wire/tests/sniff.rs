//! What an answer is: found out by its content type, its first bytes and its first events, wherever reads are cut.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::{Counts, Decoder, Dialect, Event, Form, Sees};
use proptest::prelude::*;

#[path = "messages/mod.rs"]
mod messages;
mod recordings;

const ALL: [Dialect; 8] = [
    Dialect::OpenAiChat,
    Dialect::OpenAiResponses,
    Dialect::Anthropic,
    Dialect::Cohere,
    Dialect::Gemini,
    Dialect::GeminiArray,
    Dialect::Ollama,
    Dialect::BedrockConverse,
];

/// A small stream of a dialect, with the content type that it comes with.
fn stream(dialect: Dialect) -> (&'static str, Vec<u8>) {
    let sse = "text/event-stream; charset=utf-8";
    let text = |text: &str| text.as_bytes().to_vec();
    match dialect {
        Dialect::OpenAiChat => (
            sse,
            text(concat!(
                ": PROCESSING\n\n",
                "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n",
                "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1}}\n\n",
                "data: [DONE]\n\n",
            )),
        ),
        Dialect::OpenAiResponses => (
            sse,
            text(concat!(
                "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"m\"}}\n\n",
                "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n",
                "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":1}}}\n\n",
            )),
        ),
        Dialect::Anthropic => (
            sse,
            text(concat!(
                "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"g\",\"model\":\"m\",\"usage\":{\"input_tokens\":1}}}\n\n",
                "event: ping\ndata: {\"type\":\"ping\"}\n\n",
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n",
                "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n",
                "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            )),
        ),
        Dialect::Cohere => (
            sse,
            text(concat!(
                "event: message-start\ndata: {\"type\":\"message-start\",\"id\":\"c\"}\n\n",
                "event: content-delta\ndata: {\"type\":\"content-delta\",\"delta\":{\"message\":{\"content\":{\"text\":\"Hi\"}}}}\n\n",
                "event: message-end\ndata: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\",\"usage\":{\"tokens\":{\"input_tokens\":1}}}}\n\n",
            )),
        ),
        Dialect::Gemini => (
            sse,
            text(concat!(
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]}}],\"modelVersion\":\"m\"}\r\n\r\n",
                "data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1}}\r\n\r\n",
            )),
        ),
        Dialect::GeminiArray => (
            "application/json; charset=UTF-8",
            text(concat!(
                "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]}}],\"modelVersion\":\"m\"}\r\n,\r\n",
                "{\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1}}\r\n]",
            )),
        ),
        Dialect::Ollama => (
            "application/x-ndjson",
            text(concat!(
                "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n",
                "{\"model\":\"m\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":1}\n",
            )),
        ),
        Dialect::BedrockConverse => (
            "application/vnd.amazon.eventstream",
            [
                messages::event("messageStart", r#"{"role":"assistant"}"#),
                messages::event("contentBlockDelta", r#"{"delta":{"text":"Hi"}}"#),
                messages::event("messageStop", r#"{"stopReason":"end_turn"}"#),
                messages::event("metadata", r#"{"usage":{"inputTokens":1},"metrics":{"latencyMs":5}}"#),
            ]
            .concat(),
        ),
        other => unreachable!("{other:?}"),
    }
}

/// All that a decoder reports, with what it has found out before the end.
#[derive(Debug, PartialEq)]
struct Found {
    events: Vec<String>,
    form: Option<Form>,
    dialect: Option<Dialect>,
    counts: Counts,
}

fn find<'r>(mut decoder: Decoder, reads: impl IntoIterator<Item = &'r [u8]>) -> Found {
    let mut events = Vec::new();
    for read in reads {
        decoder.push(read, |event| events.push(format!("{event:?}")));
        if decoder.form().is_none() {
            assert!(decoder.held() <= 8, "{} bytes are held", decoder.held());
        }
    }
    let (form, dialect) = (decoder.form(), decoder.dialect());
    decoder.finish(|event| events.push(format!("{event:?}")));
    Found { events, form, dialect, counts: decoder.counts() }
}

fn expected(dialect: Dialect, stream: &[u8]) -> Found {
    find(Decoder::new(dialect), [stream])
}

#[test]
fn every_dialect_shows_itself_at_every_cut_with_and_without_a_content_type_and_whatever_was_expected() {
    for dialect in ALL {
        let (content_type, stream) = stream(dialect);
        let expected = expected(dialect, &stream);
        assert!(expected.events.len() >= 2 && expected.counts.malformed == 0);
        for hint in ALL.map(Some).into_iter().chain([None]) {
            // What looks like an array is one only where an array can be a stream.
            if dialect == Dialect::GeminiArray && !matches!(hint, None | Some(Dialect::Gemini | Dialect::GeminiArray)) {
                continue;
            }
            for content_type in [Some(content_type), None, Some("text/plain")] {
                let decoder = || Decoder::sniffing(hint, content_type);
                let told = format!("{dialect:?}, expected {hint:?}, {content_type:?}");
                assert_eq!(find(decoder(), [stream.as_slice()]), expected, "{told}");
                assert_eq!(find(decoder(), stream.chunks(1)), expected, "{told}");
                for cut in 1..stream.len() {
                    let (head, tail) = stream.split_at(cut);
                    assert_eq!(find(decoder(), [head, tail]), expected, "{told}, cut at {cut}");
                }
            }
        }
    }
}

#[test]
fn the_recorded_streams_show_themselves() {
    let Some(recordings) = recordings::recordings() else { return };
    for recording in recordings {
        let (dialect, stream) = (recording.dialect, recording.bytes);
        let expected = expected(dialect, &stream);
        for hint in [None, Some(dialect), Some(Dialect::Anthropic)] {
            for length in [1, 13, stream.len()] {
                let mut found = find(Decoder::sniffing(hint, None), stream.chunks(length));
                // A stream whose only event lacks its end shows its dialect at the end.
                if found.counts.unterminated > 0 {
                    found.dialect = Some(dialect);
                }
                assert_eq!(found, expected, "{} with {hint:?}", recording.entry["file"]);
            }
        }
    }
}

/// What is found of these bytes, whole and byte by byte.
fn form(hint: Option<Dialect>, content_type: Option<&str>, bytes: &[u8]) -> (Option<Form>, Option<Dialect>) {
    let whole = find(Decoder::sniffing(hint, content_type), [bytes]);
    assert_eq!(find(Decoder::sniffing(hint, content_type), bytes.chunks(1)), whole);
    (whole.form, whole.dialect)
}

#[test]
fn plain_bytes_win_over_the_content_type() {
    let stream = b"data: {\"choices\":[]}\n\n";
    for content_type in [Some("application/json"), Some("text/html"), Some("application/x-ndjson"), Some(""), None] {
        assert_eq!(form(None, content_type, stream), (Some(Form::Stream), Some(Dialect::OpenAiChat)));
    }
    for content_type in [Some("text/event-stream"), Some("text/plain"), Some("application/problem+json"), None] {
        let whole = form(None, content_type, b" \r\n{\"choices\":[]}");
        assert_eq!(whole, (Some(Form::Whole), Some(Dialect::OpenAiChat)));
    }
}

#[test]
fn every_field_of_a_server_sent_event_may_come_first() {
    for first in [
        "event: x\n",
        "id: 1\n",
        "retry: 5\n",
        ": comment\n",
        ":\n",
        "data:\n\n",
        "error: {\"error\":\"e\"}\n",
        "\r\n\r\n",
    ] {
        let stream = format!("{first}data: {{\"choices\":[]}}\n\n");
        assert_eq!(form(None, None, stream.as_bytes()).0, Some(Form::Stream), "{first:?}");
    }
    let unknown = b"x-own: 1\ndata: {\"choices\":[]}\n\n";
    assert_eq!(form(None, Some("text/event-stream"), unknown).1, Some(Dialect::OpenAiChat));
    assert_eq!(form(None, None, unknown).0, Some(Form::Blind));
}

#[test]
fn a_byte_order_mark_says_nothing() {
    assert_eq!(form(None, None, b"\xEF\xBB\xBFdata: {\"choices\":[]}\n\n").1, Some(Dialect::OpenAiChat));
    assert_eq!(form(None, None, b"\xEF\xBB\xBF{\"choices\":[]}").0, Some(Form::Whole));
}

#[test]
fn what_cannot_be_read_is_not() {
    for bytes in [&b"<!doctype html>"[..], b"\x1F\x8B\x08\0", b"\x28\xB5\x2F\xFD", b"upstream connect error", b"\xFF"] {
        let found = find(Decoder::sniffing(None, None), [bytes]);
        assert_eq!((found.form, found.events.len(), found.counts), (Some(Form::Blind), 0, Counts::default()));
    }
    let found = find(Decoder::sniffing(None, Some("application/json")), [&b"upstream connect error"[..]]);
    assert_eq!((found.form, found.counts.malformed), (Some(Form::Whole), 1));
}

#[test]
fn what_ends_before_it_shows_itself_is_an_empty_array_an_empty_body_or_nothing() {
    for (content_type, bytes, events) in
        [(None, "", 0), (None, " \n ", 0), (None, "[", 1), (None, "da", 0), (Some("application/json"), "e", 1)]
    {
        let found = find(Decoder::sniffing(None, content_type), [bytes.as_bytes()]);
        assert_eq!((found.form, found.events.len()), (None, events), "{bytes:?}");
    }
}

#[test]
fn white_space_without_end_is_not_held() {
    let mut decoder = Decoder::sniffing(None, None);
    for _ in 0..100 {
        decoder.push(&[b' '; 1_000], |_| {});
        decoder.push(&[b'\n'; 1_000], |_| {});
    }
    assert_eq!((decoder.held(), decoder.form()), (0, None));
    decoder.push(b"[", |_| {});
    for _ in 0..100 {
        decoder.push(&[b' '; 1_000], |_| {});
    }
    assert_eq!((decoder.held(), decoder.form()), (1, None));
}

#[test]
fn comments_are_told_before_the_dialect_is_known() {
    let mut decoder = Decoder::sniffing(Some(Dialect::OpenAiChat), Some("text/event-stream"));
    let mut comments = 0;
    decoder.push(b": keep-alive\n\n", |event| comments += u32::from(matches!(event, Event::Comment(_))));
    assert_eq!(comments, 1);
}

#[test]
fn an_event_without_a_sign_is_read_by_the_expected_dialect_and_an_error_by_any() {
    let ping = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let expected = find(Decoder::sniffing(Some(Dialect::Anthropic), None), [&ping[..]]);
    assert_eq!((expected.counts.unknown, expected.dialect), (0, Some(Dialect::Anthropic)));
    let unexpected = find(Decoder::sniffing(None, None), [&ping[..]]);
    assert_eq!((unexpected.counts.unknown, unexpected.dialect), (1, None));
    for stream in ["data: {\"error\":{\"code\":\"c\"}}\n\n", "event: error\ndata: {\"code\":\"c\"}\n\n"] {
        let found = find(Decoder::sniffing(None, None), [stream.as_bytes()]);
        assert!(found.events[0].contains("code: Some(\"c\")"), "{found:?}");
        assert_eq!(found.counts.unknown, 0);
    }
}

#[test]
fn signs_are_waited_for_a_while_only() {
    let stream = "data: {\"x\":1}\n\n".repeat(100) + "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    let found = find(Decoder::sniffing(None, None), [stream.as_bytes()]);
    assert_eq!((found.dialect, found.counts.unknown), (None, 101));
}

#[test]
fn a_sniffing_decoder_sees_what_the_expected_dialect_does() {
    for dialect in ALL {
        assert_eq!(Decoder::sniffing(Some(dialect), None).sees(), dialect.sees());
    }
    assert_eq!(Decoder::sniffing(None, None).sees(), Sees::Finish);
    assert_eq!(Decoder::whole(None).sees(), Sees::Marker);
}

#[test]
fn the_limit_holds_for_whatever_is_found() {
    for dialect in ALL {
        let (content_type, stream) = stream(dialect);
        let mut decoder = Decoder::sniffing(None, Some(content_type)).limit(16);
        for read in stream.chunks(5) {
            decoder.push(read, |_| {});
            assert!(decoder.held() <= 16, "{dialect:?}: {} bytes", decoder.held());
        }
        assert!(decoder.counts().oversized > 0, "{dialect:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_no_cut_changes_what_is_found(
        parts in prop::collection::vec(prop::sample::select(vec![
            &b"data: {\"choices\":[]}\n\n"[..], b"event: message_start\n", b"{\"done\":false,\"response\":\"x\"}\n", b"[{",
            b"[", b"{", b"}", b"]", b",", b"\0\0\0\x10", b"\n", b" ", b"\xEF\xBB\xBF", b"id", b":", b"\xFF", b"x", b"\"",
        ]), 0..24),
        length in 1usize..7,
        hint in prop::option::of(prop::sample::select(ALL.to_vec())),
        content_type in prop::option::of(prop::sample::select(vec!["application/json", "text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream", "é;"])),
    ) {
        let bytes = parts.concat();
        let decoder = || Decoder::sniffing(hint, content_type).limit(64);
        let whole = find(decoder(), [bytes.as_slice()]);
        prop_assert_eq!(find(decoder(), bytes.chunks(length)), whole);
    }
}

#[test]
fn a_stream_that_has_shown_itself_allocates_nothing_per_event() {
    let delta = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\n";
    let mut decoder = Decoder::sniffing(None, Some("text/event-stream")).status(200);
    let mut push = || {
        let mut events = 0;
        for read in delta.as_bytes().chunks(20) {
            decoder.push(read, |_| events += 1);
        }
        assert_eq!(events, 1);
    };
    (0..10).for_each(|_| push());
    let allocations = allocation_counter::measure(|| (0..100).for_each(|_| push()));
    assert_eq!(allocations.count_total, 0);
}
