//! How an answer ends: finish reason, marker, failure.

use super::*;

#[test]
fn the_reason_comes_before_the_end() {
    for (word, kind) in [
        ("end_turn", FinishKind::Stop),
        ("stop_sequence", FinishKind::Stop),
        ("pause_turn", FinishKind::Stop),
        ("max_tokens", FinishKind::Length),
        ("model_context_window_exceeded", FinishKind::Length),
        ("tool_use", FinishKind::ToolCall),
        ("refusal", FinishKind::Refusal),
        ("something_new", FinishKind::Other),
    ] {
        let json = format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{word}","stop_sequence":"END"}},"usage":{{"output_tokens":5}}}}"#
        );
        let said = event(MESSAGES, &json);
        assert_eq!((said.finish, said.terminal), (Some((word.to_owned(), kind)), false));
        assert_eq!(said.usage.unwrap().output, Some(5));
        assert_eq!(said.output, [], "a stop sequence is no output");
    }
    assert_eq!(MESSAGES.sees(), Sees::Marker);
    assert_eq!(event(MESSAGES, r#"{"type":"message_stop"}"#), Said { terminal: true, ..Said::default() });
}

#[test]
fn a_message_delta_without_a_reason_ends_nothing() {
    for json in [r#"{"type":"message_delta","delta":{"stop_reason":null}}"#, r#"{"type":"message_delta","delta":null}"#]
    {
        assert_silent(MESSAGES, json);
    }
}

#[test]
fn an_error_is_named_by_its_type() {
    let json = r#"{"type":"error","error":{"type":"overloaded_error","message":"m","details":null},"request_id":"r"}"#;
    assert_eq!(event(MESSAGES, json), Said { failure: failed("overloaded_error", "m"), ..Said::default() });
    for (json, error_type) in [
        (r#"{"type":"error","message":"m"}"#, "_OTHER"),
        (r#"{"type":"error","error":"m"}"#, "_OTHER"),
        (r#"{"error":{"type":"api_error","message":"m"}}"#, "api_error"),
        (r#"{"error":{"code":500,"message":"m","type":"server_error"}}"#, "server_error"),
    ] {
        assert_eq!(event(MESSAGES, json).failure, failed(error_type, "m"), "{json}");
        let (said, _) = stream(MESSAGES, &format!("event: error\ndata: {json}\n\n"));
        assert_eq!(said[0].failure, failed(error_type, "m"), "{json}");
    }
    let (said, _) = stream(MESSAGES, "event: error\ndata: {\"type\":\"overloaded_error\",\"message\":\"m\"}\n\n");
    assert_eq!(said[0].failure, failed("overloaded_error", "m"));
}

#[test]
fn an_error_between_the_events_is_a_failure_but_no_event() {
    let error = r#"{"type":"error","error":{"type":"api_error","message":"m"}}"#;
    for stray in [format!("error: {error}\n\n"), format!("{error}\n")] {
        let (said, _) = stream(MESSAGES, &stray);
        assert_eq!(said, [Said { between_the_events: true, failure: failed("api_error", "m"), ..Said::default() }]);
    }
}

#[test]
fn a_null_error_is_none() {
    assert_silent(MESSAGES, r#"{"type":"ping","error":null}"#);
}

#[test]
fn a_marker_may_be_repeated_and_followed_by_another_dialects() {
    let stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let (said, counts) = stream(MESSAGES, &format!("{stop}{stop}data: [DONE]\n\n"));
    assert_eq!(said.iter().map(|said| said.terminal).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(counts, llmperf_wire::Counts::default());
}
