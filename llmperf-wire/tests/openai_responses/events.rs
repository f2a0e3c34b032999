//! What the events of an answer carry.

use super::*;

#[test]
fn deltas_are_output_of_their_kind() {
    for (kind, piece) in [
        ("output_text", PieceKind::Text),
        ("audio.transcript", PieceKind::Text),
        ("reasoning_text", PieceKind::Reasoning),
        ("reasoning", PieceKind::Reasoning),
        ("reasoning_summary_text", PieceKind::ReasoningSummary),
        ("refusal", PieceKind::Refusal),
        ("function_call_arguments", PieceKind::Tool),
        ("custom_tool_call_input", PieceKind::Tool),
        ("mcp_call_arguments", PieceKind::Tool),
        ("code_interpreter_call_code", PieceKind::Tool),
        ("shell_call_command", PieceKind::Tool),
        ("apply_patch_call_operation_diff", PieceKind::Tool),
        ("audio", PieceKind::Media),
    ] {
        let json = format!(
            r#"{{"type":"response.{kind}.delta","sequence_number":4,"item_id":"i-1","output_index":2,"content_index":1,"delta":"ab\n","logprobs":[{{"delta":"no"}}],"obfuscation":"xyz"}}"#
        );
        assert_eq!(event(RESPONSES, &json), one(piece, "ab\n"), "{kind}");
        assert_silent(RESPONSES, &format!(r#"{{"type":"response.{kind}.delta","delta":""}}"#));
        assert_silent(RESPONSES, &format!(r#"{{"type":"response.{kind}.delta","delta":null}}"#));
        assert_silent(RESPONSES, &format!(r#"{{"type":"response.{kind}.delta"}}"#));
    }
}

#[test]
fn a_partial_image_is_media() {
    let json = r#"{"type":"response.image_generation_call.partial_image","partial_image_index":0,"partial_image_b64":"iVBORw0="}"#;
    assert_eq!(event(RESPONSES, json), one(PieceKind::Media, "iVBORw0="));
}

#[test]
fn a_call_that_begins_with_a_name_is_output() {
    let added = |item: &str| format!(r#"{{"type":"response.output_item.added","output_index":0,"item":{item}}}"#);
    for kind in ["function_call", "custom_tool_call", "mcp_call", "mcp_approval_request"] {
        let json = added(&format!(r#"{{"type":"{kind}","id":"i-1","call_id":"c-1","name":"now","arguments":""}}"#));
        assert_eq!(event(RESPONSES, &json), one(PieceKind::Tool, "now"), "{kind}");
    }
    for item in [
        r#"{"type":"message","status":"in_progress","content":[],"role":"assistant"}"#,
        r#"{"type":"reasoning","id":"r-1","summary":[]}"#,
        r#"{"type":"web_search_call","status":"in_progress"}"#,
        r#"{"type":"mcp_list_tools","name":"tools","tools":[{"name":"now"}]}"#,
        r#"{"type":"function_call","name":""}"#,
        r#"{"name":"now"}"#,
        "null",
        "[]",
    ] {
        assert_silent(RESPONSES, &added(item));
    }
}

#[test]
fn what_begins_ends_or_repeats_is_a_chunk_without_output() {
    for kind in [
        "output_item.done",
        "content_part.added",
        "content_part.done",
        "output_text.done",
        "output_text.annotation.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.done",
        "function_call_arguments.done",
        "custom_tool_call_input.done",
        "shell_call_command.added",
        "shell_call_output_content.delta",
        "code_interpreter_call.in_progress",
        "code_interpreter_call.interpreting",
        "code_interpreter_call_code.done",
        "file_search_call.searching",
        "image_generation_call.generating",
        "image_generation_call.completed",
        "mcp_list_tools.failed",
        "compaction.compacting",
        "web_search_call.completed",
    ] {
        let json = format!(
            r#"{{"type":"response.{kind}","text":"a","delta":{{"stdout":"b"}},"arguments":"c","code":"d","part":{{"type":"output_text","text":"e"}},"item":{{"type":"function_call","name":"f","status":"completed"}}}}"#
        );
        assert_silent(RESPONSES, &json);
    }
    assert_silent(RESPONSES, r#"{"type":"keepalive"}"#);
}

#[test]
fn the_first_events_name_the_answer() {
    for step in ["created", "queued", "in_progress"] {
        let json = format!(
            r#"{{"type":"response.{step}","response":{{"id":"resp_1","status":"{step}","error":null,"incomplete_details":null,"model":"gpt-5","output":[],"service_tier":"auto","usage":null}}}}"#
        );
        let expected = Said { id: Some("resp_1".to_owned()), model: Some("gpt-5".to_owned()), ..Said::default() };
        assert_eq!(event(RESPONSES, &json), expected);
    }
}

#[test]
fn the_name_of_the_event_stands_in_for_a_type_that_is_missing() {
    let (said, counts) =
        stream(RESPONSES, "event: response.output_text.delta\ndata: {\"delta\":\"a\"}\n\ndata: [DONE]\n\ndata:\n\n");
    assert_eq!(said, [one(PieceKind::Text, "a"), Said::default(), Said::default()]);
    assert_eq!(counts.unknown, 0);
    // Where both are there and differ, the payload knows what it is.
    let (said, _) =
        stream(RESPONSES, "event: message\ndata: {\"type\":\"response.refusal.delta\",\"delta\":\"a\"}\n\n");
    assert_eq!(said, [one(PieceKind::Refusal, "a")]);
}

#[test]
fn unknown_types_are_chunks_that_are_counted() {
    for frame in [
        "data: {\"type\":\"response.new_thing.delta\",\"delta\":\"a\"}\n\n",
        "data: {\"type\":\"response.video.progress\",\"response\":{\"id\":\"r\"}}\n\n",
        "data: {\"delta\":\"a\"}\n\n",
        "data: {\"type\":null,\"delta\":\"a\"}\n\n",
        "data: {\"type\":\"response.output\\u005ftext.delta\",\"delta\":\"a\"}\n\n",
        "event: response.telemetry\ndata: {}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
    ] {
        assert_unknown(RESPONSES, frame);
    }
}

#[test]
fn what_does_not_parse_is_counted_and_no_chunk() {
    for data in [r#"{"type":"response.output_text.delta","delta":"a"#, "[1]", "hello", r#"{"type":"error"}}"#] {
        let (said, counts) = stream(RESPONSES, &format!("data: {data}\n\n"));
        assert_eq!((said.len(), counts.malformed, counts.unknown), (0, 1, 0), "{data}");
    }
}
