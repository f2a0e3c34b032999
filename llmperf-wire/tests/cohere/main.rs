//! The rules of the Cohere dialect, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::{Dialect, FinishKind, PieceKind, Sees};

#[path = "../said/mod.rs"]
mod said;

use said::*;

const COHERE: Dialect = Dialect::Cohere;

fn message(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"{kind}","index":1,"delta":{{"message":{message}}}}}"#)
}

fn end(delta: &str) -> String {
    format!(r#"{{"type":"message-end","id":"c-1","delta":{delta}}}"#)
}

#[test]
fn text_reasoning_plans_and_calls_are_output() {
    for (kind, content, piece) in [
        ("content-delta", r#"{"content":{"text":"ab"}}"#, PieceKind::Text),
        ("content-delta", r#"{"content":{"thinking":"ab"}}"#, PieceKind::Reasoning),
        ("content-start", r#"{"content":{"type":"text","text":"ab"}}"#, PieceKind::Text),
        ("content-start", r#"{"content":[{"type":"thinking","thinking":"ab"}]}"#, PieceKind::Reasoning),
        ("tool-plan-delta", r#"{"tool_plan":"ab"}"#, PieceKind::Text),
        (
            "tool-call-start",
            r#"{"tool_calls":{"id":"t","type":"function","function":{"name":"ab","arguments":""}}}"#,
            PieceKind::Tool,
        ),
        ("tool-call-delta", r#"{"tool_calls":{"function":{"arguments":"ab"}}}"#, PieceKind::Tool),
        ("tool-call-delta", r#"{"tool_calls":[{"function":{"arguments":"ab"}}]}"#, PieceKind::Tool),
    ] {
        let json = message(kind, content);
        assert_eq!(event(COHERE, &json), one(piece, "ab"), "{json}");
    }
}

#[test]
fn what_is_empty_begins_ends_or_cites_is_no_output() {
    for json in [
        message("content-start", r#"{"content":{"type":"text","text":""}}"#),
        message("content-delta", r#"{"content":{"text":null}}"#),
        message("content-delta", r#"{"content":"ab"}"#),
        message("content-delta", "null"),
        message("tool-plan-delta", r#"{"tool_plan":""}"#),
        message("tool-call-start", r#"{"tool_calls":{"function":{"name":"","arguments":""}}}"#),
        message(
            "citation-start",
            r#"{"citations":{"start":1,"end":2,"text":"ab","sources":[{"document":{"text":"ab"}}]}}"#,
        ),
        r#"{"type":"citation-end","index":0}"#.to_owned(),
        r#"{"type":"content-end","index":0}"#.to_owned(),
        r#"{"type":"tool-call-end","index":0}"#.to_owned(),
        r#"{"type":"debug","prompt":"ab"}"#.to_owned(),
        r#"{"type":"content-delta","logprobs":{"text":"ab","token_ids":[1],"logprobs":[-0.1]}}"#.to_owned(),
    ] {
        assert_silent(COHERE, &json);
    }
}

#[test]
fn the_start_has_the_id_and_nothing_else() {
    let json = r#"{"delta":{"message":{"citations":[],"content":[],"role":"assistant","tool_calls":[],"tool_plan":""}},"id":"c-1","type":"message-start"}"#;
    assert_eq!(event(COHERE, json), Said { id: Some("c-1".to_owned()), ..Said::default() });
}

#[test]
fn the_end_has_reason_and_usage() {
    assert_eq!(COHERE.sees(), Sees::Marker);
    let json = end(
        r#"{"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":68,"output_tokens":24,"search_units":1},"tokens":{"input_tokens":1493,"output_tokens":38},"cached_tokens":992}}"#,
    );
    let said = event(COHERE, &json);
    assert!(said.terminal && said.failure.is_none());
    assert_eq!(said.finish, Some(("COMPLETE".to_owned(), FinishKind::Stop)));
    let usage = said.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cache_read), (Some(1493), Some(38), Some(992)));
    assert_eq!((usage.billed_input, usage.billed_output), (Some(68), Some(24)));
}

#[test]
fn reasons_have_their_kind() {
    for (word, kind) in [
        ("STOP_SEQUENCE", FinishKind::Stop),
        ("MAX_TOKENS", FinishKind::Length),
        ("TOOL_CALL", FinishKind::ToolCall),
        ("SOMETHING_NEW", FinishKind::Other),
    ] {
        let said = event(COHERE, &end(&format!(r#"{{"finish_reason":"{word}","error":null}}"#)));
        assert_eq!((said.finish, said.failure), (Some((word.to_owned(), kind)), None));
    }
}

#[test]
fn generation_that_broke_off_is_a_failure_named_by_its_reason() {
    for word in ["ERROR", "TIMEOUT"] {
        let said = event(COHERE, &end(&format!(r#"{{"error":"m","finish_reason":"{word}"}}"#)));
        assert_eq!(said.finish, Some((word.to_owned(), FinishKind::Error)));
        assert_eq!((said.failure, said.terminal), (failed(word, "m"), true));
        let said = event(COHERE, &end(&format!(r#"{{"finish_reason":"{word}"}}"#)));
        assert_eq!(said.failure, Some((word.to_owned(), None)));
    }
    assert_eq!(event(COHERE, &end(r#"{"error":"m"}"#)).failure, failed("_OTHER", "m"));
}

#[test]
fn an_end_may_lack_all_but_its_type() {
    for json in [
        r#"{"type":"message-end"}"#,
        r#"{"type":"message-end","delta":null}"#,
        r#"{"type":"message-end","delta":{"finish_reason":null,"usage":{"tokens":null,"billed_units":7}}}"#,
    ] {
        assert_eq!(event(COHERE, json), Said { terminal: true, ..Said::default() }, "{json}");
    }
    let odd = end(r#"{"usage":{"tokens":{"input_tokens":9.0,"output_tokens":"3"}}}"#);
    let usage = event(COHERE, &odd).usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.billed_input), (Some(9), None, None));
}

#[test]
fn other_errors_are_failures() {
    for json in [r#"{"type":"error","message":"m"}"#, r#"{"error":"m"}"#, r#"{"type":"error","error":{"message":"m"}}"#]
    {
        assert_eq!(event(COHERE, json).failure, failed("_OTHER", "m"), "{json}");
        let (said, _) = stream(COHERE, &format!("event: error\ndata: {json}\n\nerror: {json}\n{json}\n"));
        assert!(said.len() == 3 && said.iter().all(|said| said.failure == failed("_OTHER", "m")), "{json}");
    }
}

#[test]
fn the_name_of_the_event_stands_in_for_a_type_that_is_missing() {
    let frame = "event: content-delta\ndata: {\"delta\":{\"message\":{\"content\":{\"text\":\"a\"}}}}\n\n";
    let (said, counts) = stream(COHERE, &format!("{frame}event: message-end\ndata: {{}}\n\ndata: [DONE]\n\n"));
    assert_eq!(said, [one(PieceKind::Text, "a"), Said { terminal: true, ..Said::default() }, Said::default()]);
    assert_eq!(counts.unknown, 0);
}

#[test]
fn unknown_types_are_chunks_that_are_counted_and_hold_no_output() {
    for json in [
        message("image-delta", r#"{"content":{"text":"a"}}"#),
        r#"{"delta":{"message":{"tool_plan":"a"}}}"#.to_owned(),
        "{}".to_owned(),
    ] {
        assert_unknown(COHERE, &format!("data: {json}\n\n"));
    }
}

#[test]
fn what_does_not_parse_is_counted_and_no_chunk() {
    for data in [r#"{"type":"message-end""#, "[]", "no"] {
        let (said, counts) = stream(COHERE, &format!("event: message-end\ndata: {data}\n\n"));
        assert_eq!((said.len(), counts.malformed, counts.unknown), (0, 1, 0), "{data}");
    }
}
