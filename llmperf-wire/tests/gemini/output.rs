//! What is output, and of which kind.

use super::*;

fn pieces(chunk: &Chunk<'_>) -> Vec<(PieceKind, u32, String)> {
    chunk.outputs().map(|piece| (piece.kind, piece.choice, piece.text.to_string())).collect()
}

/// The output of a candidate with these parts.
fn output(parts: &str) -> Vec<(PieceKind, String)> {
    let json = format!(r#"{{"candidates":[{{"content":{{"parts":{parts},"role":"model"}},"index":0}}]}}"#);
    payload(&json, pieces).into_iter().map(|(kind, _, text)| (kind, text)).collect()
}

fn one(kind: PieceKind, text: &str) -> Vec<(PieceKind, String)> {
    vec![(kind, text.to_owned())]
}

#[test]
fn text_is_text_and_a_thought_is_a_summary_of_reasoning() {
    assert_eq!(output(r#"[{"text":"First "}]"#), one(PieceKind::Text, "First "));
    let summary = one(PieceKind::ReasoningSummary, "**Plan**\n");
    assert_eq!(output(r#"[{"text":"**Plan**\n","thought":true}]"#), summary);
    assert_eq!(output(r#"[{"thought":true,"text":"**Plan**\n"}]"#), summary);
    assert_eq!(output(r#"[{"text":"a","thought":false}]"#), one(PieceKind::Text, "a"));
}

#[test]
fn the_parts_of_a_payload_are_its_pieces_in_order() {
    assert_eq!(
        output(r#"[{"text":"a","thought":true},{"text":"b"},{"functionCall":{"name":"f","args":{}}}]"#),
        [
            (PieceKind::ReasoningSummary, "a".to_owned()),
            (PieceKind::Text, "b".to_owned()),
            (PieceKind::Tool, "f".to_owned()),
            (PieceKind::Tool, "{}".to_owned()),
        ]
    );
}

#[test]
fn a_function_call_is_its_name_and_its_arguments() {
    let tool = |text: &str| (PieceKind::Tool, text.to_owned());
    let whole = r#"[{"functionCall":{"id":"c","name":"weather","args":{"city":"Kiel"}},"thoughtSignature":"abc"}]"#;
    assert_eq!(output(whole), [tool("weather"), tool(r#"{"city":"Kiel"}"#)]);
    assert_eq!(output(r#"[{"functionCall":{"name":"clock"}}]"#), [tool("clock")]);
    let partial = r#"[{"functionCall":{"partialArgs":[{"jsonPath":"$.city","stringValue":"Ki","willContinue":true},{"jsonPath":"$.n","numberValue":1.5}],"willContinue":true}}]"#;
    assert_eq!(output(partial), [tool("Ki"), tool("1.5")]);
    assert_eq!(output(r#"[{"functionCall":{}}]"#), []);
}

#[test]
fn code_that_the_provider_runs_is_output_and_its_result_is_none() {
    let code = r#"[{"executableCode":{"language":"PYTHON","code":"print(1)"}}]"#;
    assert_eq!(output(code), one(PieceKind::Tool, "print(1)"));
    assert_eq!(output(r#"[{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"}}]"#), []);
}

#[test]
fn inline_data_is_media() {
    let image = r#"[{"inlineData":{"mimeType":"image/png","data":"QUJD"}}]"#;
    assert_eq!(output(image), one(PieceKind::Media, "QUJD"));
}

#[test]
fn empty_texts_signatures_and_what_stands_around_the_parts_are_no_output() {
    for parts in [r#"[{"text":""}]"#, r#"[{"thoughtSignature":"abc"}]"#, r#"[{"text":null}]"#, "[{}]", "[]", "null"] {
        assert_eq!(output(parts), [], "{parts}");
    }
    for json in [
        r#"{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0}]}"#,
        r#"{"candidates":[{"groundingMetadata":{"parts":[{"text":"x"}]},"citationMetadata":{}}]}"#,
        r#"{"candidates":[{"safetyRatings":[{"category":"C","probability":"LOW"}],"tokenCount":3}]}"#,
        r#"{"candidates":null,"usageMetadata":{"promptTokenCount":3}}"#,
    ] {
        assert_eq!(payload(json, pieces), [], "{json}");
    }
}

#[test]
fn each_candidate_keeps_its_index_wherever_it_stands() {
    let json = r#"{"candidates":[{"content":{"parts":[{"text":"b"}]},"index":1},{"index":2,"content":{"parts":[{"text":"c"}]}},{"content":{"parts":[{"text":"a"}]}}]}"#;
    let text = |choice, text: &str| (PieceKind::Text, choice, text.to_owned());
    assert_eq!(payload(json, pieces), [text(1, "b"), text(2, "c"), text(0, "a")]);
}
