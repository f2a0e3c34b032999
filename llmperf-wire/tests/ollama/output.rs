//! What is output, and of which kind.

use super::*;

fn output(json: &str) -> Vec<(PieceKind, String)> {
    line(json, pieces)
}

fn one(kind: PieceKind, text: &str) -> Vec<(PieceKind, String)> {
    vec![(kind, text.to_owned())]
}

#[test]
fn chat_and_generate_say_text_in_their_own_fields() {
    let chat = r#"{"model":"m","message":{"role":"assistant","content":" h\u00e9"},"done":false}"#;
    assert_eq!(output(chat), one(PieceKind::Text, " hé"));
    assert_eq!(output(r#"{"model":"m","response":"Hi","done":false}"#), one(PieceKind::Text, "Hi"));
}

#[test]
fn thinking_is_reasoning() {
    let chat = r#"{"message":{"role":"assistant","content":"","thinking":"Hm"},"done":false}"#;
    assert_eq!(output(chat), one(PieceKind::Reasoning, "Hm"));
    assert_eq!(output(r#"{"response":"","thinking":"Need","done":false}"#), one(PieceKind::Reasoning, "Need"));
}

#[test]
fn a_tool_call_is_its_name_and_its_arguments_object() {
    let json = r#"{"message":{"content":"","tool_calls":[{"id":"c1","function":{"index":0,"name":"weather","arguments":{"city":"Kiel"}}},{"function":{"name":"clock","arguments":{}}}]},"done":false}"#;
    let tool = |text: &str| (PieceKind::Tool, text.to_owned());
    assert_eq!(output(json), [tool("weather"), tool(r#"{"city":"Kiel"}"#), tool("clock"), tool("{}")]);
}

#[test]
fn images_are_media() {
    assert_eq!(output(r#"{"message":{"content":"","images":["QUJD"]}}"#), one(PieceKind::Media, "QUJD"));
    assert_eq!(output(r#"{"response":"","image":"QUJD","done":true}"#), one(PieceKind::Media, "QUJD"));
}

#[test]
fn empty_and_null_texts_are_no_output() {
    for json in [
        r#"{"message":{"role":"assistant","content":""}}"#,
        r#"{"message":{"content":null,"thinking":"","tool_calls":null,"images":[]}}"#,
        r#"{"message":null,"response":"","thinking":""}"#,
        r#"{"response":"","done":true,"context":[1,2,3]}"#,
    ] {
        assert_eq!(output(json), [], "{json}");
    }
}

#[test]
fn a_last_line_may_carry_output() {
    let json = r#"{"response":"all of it","done":true,"done_reason":"stop"}"#;
    assert_eq!(output(json), one(PieceKind::Text, "all of it"));
}
