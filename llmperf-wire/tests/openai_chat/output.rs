//! Output and finish reasons.

use super::*;

#[test]
fn content_is_text() {
    assert_eq!(output(r#"{"content":"Hi"}"#), one(PieceKind::Text, "Hi"));
}

#[test]
fn role_only_empty_and_null_deltas_are_no_output() {
    for delta in [
        r#"{"role":"assistant","content":"","refusal":null}"#,
        r#"{"role":"assistant","content":null}"#,
        r#"{"reasoning_content":"","reasoning":null}"#,
        r#"{"tool_calls":[],"function_call":null,"audio":{"id":"audio_1"}}"#,
        r#"{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"","arguments":""}}]}"#,
        "{}",
        "null",
        "[]",
    ] {
        assert_eq!(output(delta), [], "{delta}");
    }
}

#[test]
fn a_choice_without_delta_is_no_output() {
    let azure = r#"{"choices":[{"content_filter_results":{},"content_filter_offsets":{"check_offset":1},"finish_reason":null,"index":0}],"id":"","model":""}"#;
    assert!(payload(azure, pieces).is_empty());
}

#[test]
fn refusal_is_output() {
    assert_eq!(output(r#"{"refusal":"No."}"#), one(PieceKind::Refusal, "No."));
}

#[test]
fn reasoning_counts_under_either_name_and_once_under_both() {
    let thought = one(PieceKind::Reasoning, "Hm");
    assert_eq!(output(r#"{"reasoning_content":"Hm"}"#), thought);
    assert_eq!(output(r#"{"reasoning":"Hm"}"#), thought);
    assert_eq!(output(r#"{"reasoning":"Hm","reasoning_content":"Hm"}"#), thought);
    assert_eq!(output(r#"{"reasoning":"Hm","reasoning_content":""}"#), thought);
    assert_eq!(output(r#"{"reasoning":"Hm","reasoning_details":[{"text":"Hm"}]}"#), thought);
}

#[test]
fn tool_names_and_arguments_are_output() {
    let start = r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"now","arguments":""}}]}"#;
    assert_eq!(output(start), one(PieceKind::Tool, "now"));
    let arguments = r#"{"tool_calls":[{"index":0,"id":null,"function":{"name":null,"arguments":"{\"a\":1}"}}]}"#;
    assert_eq!(output(arguments), one(PieceKind::Tool, r#"{"a":1}"#));
    let object = r#"{"tool_calls":[{"function":{"arguments":{"a": 1}}}]}"#;
    assert_eq!(output(object), one(PieceKind::Tool, r#"{"a": 1}"#));
    assert_eq!(
        output(r#"{"function_call":{"name":"now","arguments":"{}"}}"#),
        [(PieceKind::Tool, "now".to_owned()), (PieceKind::Tool, "{}".to_owned()),]
    );
}

#[test]
fn every_tool_call_of_a_delta_counts() {
    let calls: Vec<String> = (0..5).map(|n| format!(r#"{{"function":{{"name":"f{n}","arguments":"{n}"}}}}"#)).collect();
    let seen = output(&format!(r#"{{"tool_calls":[{}]}}"#, calls.join(",")));
    let expected = (0..5).flat_map(|n| [(PieceKind::Tool, format!("f{n}")), (PieceKind::Tool, n.to_string())]);
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

#[test]
fn audio_is_output() {
    assert_eq!(output(r#"{"audio":{"id":"a","data":"UklGRg=="}}"#), one(PieceKind::Media, "UklGRg=="));
    assert_eq!(output(r#"{"audio":{"transcript":"Hi"}}"#), one(PieceKind::Text, "Hi"));
}

#[test]
fn content_may_be_a_list_of_typed_parts() {
    let delta = r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"},{"type":"text","text":""}]},{"type":"thinking","thinking":"so"},{"type":"text","text":"Hi"},{"type":"reference","reference_ids":[1]}]}"#;
    assert_eq!(
        output(delta),
        [
            (PieceKind::Reasoning, "Hm".to_owned()),
            (PieceKind::Reasoning, "so".to_owned()),
            (PieceKind::Text, "Hi".to_owned()),
        ]
    );
}

#[test]
fn message_copies_beside_the_delta_are_not_counted() {
    let json = r#"{"choices":[{"index":0,"message":{"content":"Hello"},"delta":{"content":"lo"}}]}"#;
    assert_eq!(payload(json, pieces), [(PieceKind::Text, 0, "lo".to_owned())]);
}

#[test]
fn each_choice_keeps_its_index() {
    let json = r#"{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"},{"index":0,"delta":{"content":"a"}},{"index":2,"delta":{},"finish_reason":"length"}]}"#;
    assert_eq!(payload(json, pieces), [(PieceKind::Text, 1, "b".to_owned()), (PieceKind::Text, 0, "a".to_owned())]);
    let finishes =
        payload(json, |chunk| chunk.finishes().map(|finish| (finish.choice, finish.kind)).collect::<Vec<_>>());
    assert_eq!(finishes, [(1, FinishKind::Stop), (2, FinishKind::Length)]);
}

#[test]
fn finish_reasons_keep_the_providers_word_and_have_a_kind() {
    for (word, kind) in [
        ("stop", FinishKind::Stop),
        ("eos", FinishKind::Stop),
        ("length", FinishKind::Length),
        ("model_length", FinishKind::Length),
        ("tool_calls", FinishKind::ToolCall),
        ("function_call", FinishKind::ToolCall),
        ("content_filter", FinishKind::ContentFilter),
        ("refusal", FinishKind::Refusal),
        ("error", FinishKind::Error),
        ("insufficient_system_resource", FinishKind::Other),
    ] {
        let json = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}},"finish_reason":"{word}"}}]}}"#);
        payload(&json, |chunk| {
            let finish = chunk.finishes().next().unwrap();
            assert_eq!((finish.reason.to_string().as_str(), finish.kind), (word, kind));
            assert_eq!(chunk.outputs().count(), 1, "a finish may come together with content");
        });
    }
}

#[test]
fn null_and_empty_finish_reasons_say_nothing() {
    for reason in ["null", r#""""#, "false"] {
        let json = format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]}}"#);
        assert_eq!(payload(&json, |chunk| chunk.finishes().count()), 0, "{reason}");
    }
}
