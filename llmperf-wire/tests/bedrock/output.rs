//! What is output, and of which kind.

use super::*;

fn output(name: &str, json: &str) -> Vec<(PieceKind, String)> {
    one(name, json, |chunk| {
        assert!(chunk.outputs().all(|piece| piece.choice == 0), "blocks are no choices");
        chunk.outputs().map(|piece| (piece.kind, piece.text.to_string())).collect()
    })
}

fn delta(json: &str) -> Vec<(PieceKind, String)> {
    output("contentBlockDelta", &format!(r#"{{"contentBlockIndex":1,"delta":{json},"p":"abc"}}"#))
}

fn piece(kind: PieceKind, text: &str) -> Vec<(PieceKind, String)> {
    vec![(kind, text.to_owned())]
}

#[test]
fn text_reasoning_tool_input_and_images_are_output() {
    assert_eq!(delta(r#"{"text":" you\n"}"#), piece(PieceKind::Text, " you\n"));
    assert_eq!(delta(r#"{"reasoningContent":{"text":"Hm"}}"#), piece(PieceKind::Reasoning, "Hm"));
    assert_eq!(delta(r#"{"toolUse":{"input":"{\"a\":"}}"#), piece(PieceKind::Tool, r#"{"a":"#));
    assert_eq!(delta(r#"{"image":{"source":{"bytes":"QUJD"}}}"#), piece(PieceKind::Media, "QUJD"));
}

#[test]
fn the_start_of_a_tool_use_is_its_name() {
    let json = r#"{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t1","name":"weather"}}}"#;
    assert_eq!(output("contentBlockStart", json), piece(PieceKind::Tool, "weather"));
    assert_eq!(output("contentBlockStart", r#"{"start":{"image":{"format":"png"}}}"#), []);
}

#[test]
fn signatures_redacted_reasoning_citations_tool_results_and_empty_texts_are_no_output() {
    for json in [
        r#"{"reasoningContent":{"signature":"abc"}}"#,
        r#"{"reasoningContent":{"redactedContent":"QUJD"}}"#,
        r#"{"reasoningContent":{"text":""}}"#,
        r#"{"citation":{"title":"t","sourceContent":[{"text":"x"}]}}"#,
        r#"{"toolResult":[{"text":"42"}]}"#,
        r#"{"toolUse":{"input":""}}"#,
        r#"{"text":""}"#,
        r#"{"text":null}"#,
        "null",
        "{}",
    ] {
        assert_eq!(delta(json), [], "{json}");
    }
    assert_eq!(output("messageStart", r#"{"role":"assistant"}"#), []);
    assert_eq!(output("contentBlockStop", r#"{"contentBlockIndex":0}"#), []);
}

#[test]
fn an_event_says_only_what_its_type_says() {
    assert_eq!(output("messageStart", r#"{"delta":{"text":"x"}}"#), []);
    assert_eq!(output("contentBlockStart", r#"{"delta":{"text":"x"}}"#), []);
    one("contentBlockDelta", r#"{"stopReason":"end_turn","usage":{"inputTokens":1}}"#, |chunk| {
        assert!(chunk.finishes().count() == 0 && chunk.usage.is_none());
    });
}
