//! How an answer ends: marker, finish reason, usage, failure.

use super::*;

fn ending(kind: &str, response: &str) -> String {
    format!(r#"{{"type":"response.{kind}","sequence_number":9,"response":{response}}}"#)
}

fn finish(json: &str) -> (String, FinishKind) {
    let said = event(RESPONSES, json);
    assert!(said.terminal);
    said.finish.unwrap()
}

#[test]
fn a_completed_answer_stops() {
    assert_eq!(RESPONSES.sees(), Sees::Marker);
    let completed = ("completed".to_owned(), FinishKind::Stop);
    assert_eq!(finish(&ending("completed", r#"{"id":"r","status":"completed","error":null}"#)), completed);
    assert_eq!(finish(&ending("completed", "{}")), completed);
    assert_eq!(finish(&ending("completed", "null")), completed);
    assert_eq!(finish(r#"{"type":"response.completed"}"#), completed);
}

#[test]
fn an_incomplete_answer_ended_for_its_reason() {
    for (details, kind) in [
        (r#"{"reason":"max_output_tokens"}"#, FinishKind::Length),
        (r#"{"reason":"content_filter"}"#, FinishKind::ContentFilter),
        (r#"{"reason":"something_new"}"#, FinishKind::Length),
        ("null", FinishKind::Length),
    ] {
        let json = ending("incomplete", &format!(r#"{{"status":"incomplete","incomplete_details":{details}}}"#));
        assert_eq!(finish(&json), ("incomplete".to_owned(), kind), "{details}");
    }
}

#[test]
fn an_answer_that_leaves_a_call_to_the_caller_ends_in_it() {
    let end = |kind: &str, items: &[&str]| {
        let added = items.iter().map(|item| {
            format!(
                "data: {{\"item\":{{\"name\":\"n\",\"type\":\"{item}\"}},\"type\":\"response.output_item.added\"}}\n\n"
            )
        });
        let end = format!("data: {}\n\n", ending(kind, &format!(r#"{{"status":"{kind}"}}"#)));
        let (said, _) = stream(RESPONSES, &added.chain([end]).collect::<String>());
        said.last().unwrap().finish.as_ref().unwrap().1
    };
    assert_eq!(end("completed", &["message", "function_call"]), FinishKind::ToolCall);
    assert_eq!(end("completed", &["custom_tool_call", "message"]), FinishKind::ToolCall);
    assert_eq!(end("completed", &["mcp_approval_request"]), FinishKind::ToolCall);
    assert_eq!(end("completed", &["mcp_call", "web_search_call", "message"]), FinishKind::Stop);
    assert_eq!(end("incomplete", &["function_call"]), FinishKind::Length);
}

#[test]
fn another_stream_of_the_same_decoder_begins_without_calls() {
    let mut decoder = llmperf_wire::Decoder::new(RESPONSES);
    decoder.push(
        b"data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"name\":\"n\"}}\n\n",
        |_| {},
    );
    decoder.finish(|_| {});
    let mut kinds = Vec::new();
    decoder.push(b"data: {\"type\":\"response.completed\"}\n\n", |event| {
        if let llmperf_wire::Event::Chunk(chunk) = event {
            kinds.extend(chunk.finishes().map(|finish| finish.kind));
        }
    });
    assert_eq!(kinds, [FinishKind::Stop]);
}

#[test]
fn the_last_event_has_the_usage_and_the_tier() {
    let json = ending(
        "completed",
        r#"{"id":"resp_1","model":"gpt-5","status":"completed","service_tier":"default","output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}],"usage":{"input_tokens":28,"input_tokens_details":{"cached_tokens":20,"cache_write_tokens":5,"audio_tokens":1},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4,"audio_tokens":2},"total_tokens":37},"tool_usage":{"image_gen":{"input_tokens":77}}}"#,
    );
    let said = event(RESPONSES, &json);
    let usage = said.usage.unwrap();
    assert_eq!(
        (usage.input, usage.cache_read, usage.cache_write, usage.audio_input),
        (Some(28), Some(20), Some(5), Some(1))
    );
    assert_eq!((usage.output, usage.reasoning, usage.audio_output), (Some(9), Some(4), Some(2)));
    assert_eq!((usage.billed_input, usage.billed_output), (None, None));
    assert_eq!((said.model.as_deref(), said.service_tier.as_deref()), (Some("gpt-5"), Some("default")));
    assert_eq!(said.output, [], "what it repeats is no output");
}

#[test]
fn usage_is_told_as_it_comes_and_absent_where_it_is_not() {
    let usage = |usage: &str| event(RESPONSES, &ending("incomplete", &format!(r#"{{"usage":{usage}}}"#))).usage;
    let zeros =
        usage(r#"{"input_tokens":0,"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0}}"#).unwrap();
    assert_eq!((zeros.input, zeros.output, zeros.reasoning, zeros.cache_read), (Some(0), Some(0), Some(0), None));
    for none in ["null", "{}", "[]", "7", r#"{"input_tokens":null,"output_tokens":-1,"output_tokens_details":null}"#] {
        assert_eq!(usage(none), None, "{none}");
    }
}

#[test]
fn a_failed_answer_has_its_error() {
    let json = ending(
        "failed",
        r#"{"status":"failed","error":{"code":"server_error","message":"m"},"usage":{"input_tokens":3}}"#,
    );
    let said = event(RESPONSES, &json);
    assert_eq!((said.failure, said.finish, said.terminal), (failed("server_error", "m"), None, true));
    assert_eq!(said.usage.unwrap().input, Some(3));
    let said = event(RESPONSES, &ending("failed", r#"{"status":"failed","error":null}"#));
    assert_eq!(said.failure, Some(("failed".to_owned(), None)));
    let said = event(RESPONSES, r#"{"type":"response.failed"}"#);
    assert_eq!(said.failure, Some(("_OTHER".to_owned(), None)));
}

#[test]
fn an_error_event_is_nested_or_flat() {
    for frame in [
        r#"{"type":"error","sequence_number":2,"error":{"type":"server_error","code":"gone","message":"m","param":null}}"#,
        r#"{"type":"error","code":"gone","message":"m","param":null,"sequence_number":2}"#,
        r#"{"error":{"code":"gone","message":"m"}}"#,
    ] {
        let said = event(RESPONSES, frame);
        assert_eq!((said.failure, said.terminal), (failed("gone", "m"), false), "{frame}");
        let (said, _) = stream(RESPONSES, &format!("event: error\ndata: {frame}\n\n"));
        assert_eq!(said[0].failure, failed("gone", "m"), "{frame}");
    }
    let flat = r#"{"type":"error","code":null,"message":"m","param":null}"#;
    assert_eq!(event(RESPONSES, flat).failure, failed("_OTHER", "m"), "the type of the event is not that of the error");
    let (said, _) = stream(RESPONSES, "event: error\ndata: {\"type\":\"server_error\",\"message\":\"m\"}\n\n");
    assert_eq!(said[0].failure, failed("server_error", "m"));
}

#[test]
fn an_error_between_the_events_is_a_failure_but_no_event() {
    for stray in [
        "error: {\"error\":{\"code\":\"gone\",\"message\":\"m\"}}\n\n",
        "{\"error\":{\"code\":\"gone\",\"message\":\"m\"}}\n",
    ] {
        let (said, _) = stream(RESPONSES, stray);
        assert_eq!(said, [Said { between_the_events: true, failure: failed("gone", "m"), ..Said::default() }]);
    }
}

#[test]
fn a_failed_tool_of_the_provider_does_not_fail_the_answer() {
    assert_silent(RESPONSES, r#"{"type":"response.mcp_call.failed","item_id":"i"}"#);
    assert_silent(
        RESPONSES,
        r#"{"type":"response.output_item.done","item":{"type":"mcp_call","error":{"type":"x","message":"m"}}}"#,
    );
    assert_silent(RESPONSES, r#"{"type":"response.output_text.delta","delta":"","error":null}"#);
}
