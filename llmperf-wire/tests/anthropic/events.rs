//! What the events of an answer carry.

use super::*;

fn delta(delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":3,"delta":{delta}}}"#)
}

fn start(block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":3,"content_block":{block}}}"#)
}

#[test]
fn deltas_are_output_of_their_kind() {
    for (json, piece) in [
        (r#"{"type":"text_delta","text":"ab"}"#, PieceKind::Text),
        (r#"{"type":"thinking_delta","thinking":"ab"}"#, PieceKind::Reasoning),
        (r#"{"type":"input_json_delta","partial_json":"ab"}"#, PieceKind::Tool),
        (r#"{"text":"ab"}"#, PieceKind::Text),
        (r#"{"thinking":"ab"}"#, PieceKind::Reasoning),
        (r#"{"type":null,"partial_json":"ab"}"#, PieceKind::Tool),
    ] {
        let json = delta(json);
        assert_eq!(event(MESSAGES, &json), one(piece, "ab"), "{json}");
        assert_eq!(event(MESSAGES, &format!("{json}       ")), one(piece, "ab"), "blanks pad the payload");
    }
}

#[test]
fn empty_deltas_signatures_and_citations_are_no_output() {
    for json in [
        r#"{"type":"text_delta","text":""}"#,
        r#"{"type":"text_delta","text":null}"#,
        r#"{"type":"text_delta"}"#,
        r#"{"type":"thinking_delta","thinking":""}"#,
        r#"{"type":"input_json_delta","partial_json":""}"#,
        r#"{"type":"signature_delta","signature":"EqQB"}"#,
        r#"{"type":"citations_delta","citation":{"type":"char_location","cited_text":"a"}}"#,
        r#"{"type":"text_delta","text":{"text":"a"}}"#,
        "{}",
        "null",
    ] {
        assert_silent(MESSAGES, &delta(json));
    }
}

#[test]
fn a_call_begins_with_its_name() {
    for kind in ["tool_use", "server_tool_use", "mcp_tool_use"] {
        let json = start(&format!(r#"{{"type":"{kind}","id":"t-1","name":"now","input":{{}},"server_name":"s"}}"#));
        assert_eq!(event(MESSAGES, &json), one(PieceKind::Tool, "now"), "{kind}");
    }
}

#[test]
fn a_block_may_begin_with_words_but_mostly_does_not() {
    assert_eq!(event(MESSAGES, &start(r#"{"type":"text","text":"ab"}"#)), one(PieceKind::Text, "ab"));
    let thinking = start(r#"{"type":"thinking","thinking":"ab","signature":""}"#);
    assert_eq!(event(MESSAGES, &thinking), one(PieceKind::Reasoning, "ab"));
    for block in [
        r#"{"type":"text","text":""}"#,
        r#"{"type":"thinking","thinking":"","signature":""}"#,
        r#"{"type":"redacted_thinking","data":"EmwK"}"#,
        r#"{"type":"web_search_tool_result","tool_use_id":"t","content":[{"type":"web_search_result","title":"a"}]}"#,
        r#"{"type":"mcp_tool_result","content":[{"type":"text","text":"a"}],"is_error":false}"#,
        r#"{"type":"something_new","text":"a","name":"b"}"#,
        r#"{"type":"tool_use","name":""}"#,
        "null",
    ] {
        assert_silent(MESSAGES, &start(block));
    }
}

#[test]
fn pings_and_stops_are_chunks_that_say_nothing() {
    assert_silent(MESSAGES, r#"{"type": "ping"}"#);
    assert_silent(MESSAGES, r#"{"type":"content_block_stop","index":0       }"#);
}

#[test]
fn the_message_names_itself() {
    let json = r#"{"type":"message_start","message":{"model":"claude-5","id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null}}"#;
    let expected = Said { id: Some("msg_1".to_owned()), model: Some("claude-5".to_owned()), ..Said::default() };
    assert_eq!(event(MESSAGES, json), expected);
}

#[test]
fn the_name_of_the_event_stands_in_for_a_type_that_is_missing() {
    let frame = "event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n";
    let (said, counts) = stream(MESSAGES, &format!("{frame}data: [DONE]\n\ndata:\n\nevent: ping\ndata: {{}}\n\n"));
    assert_eq!(said, [one(PieceKind::Text, "a"), Said::default(), Said::default(), Said::default()]);
    assert_eq!(counts.unknown, 0);
    let (said, _) = stream(MESSAGES, "event: message\ndata: {\"type\":\"message_stop\"}\n\n");
    assert!(said[0].terminal, "the payload knows what it is");
}

#[test]
fn unknown_types_are_chunks_that_are_counted() {
    for json in [
        r#"{"type":"message_annotation","delta":{"type":"text_delta","text":"a"}}"#,
        r#"{"delta":{"type":"text_delta","text":"a"}}"#,
        r#"{"type":"content_block_delta","delta":{"type":"video_delta","text":"a"}}"#,
        r#"{"type":7}"#,
        "{}",
    ] {
        assert_unknown(MESSAGES, &format!("data: {json}\n\n"));
    }
}

#[test]
fn what_does_not_parse_is_counted_and_no_chunk() {
    for data in [r#"{"type":"message_stop""#, "[1]", "overloaded", r#"{"type":"ping"} {}"#] {
        let (said, counts) = stream(MESSAGES, &format!("event: ping\ndata: {data}\n\n"));
        assert_eq!((said.len(), counts.malformed, counts.unknown), (0, 1, 0), "{data}");
    }
}
