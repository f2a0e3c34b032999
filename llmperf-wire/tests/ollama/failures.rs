//! Failures inside a stream that began well.

use super::*;

/// `error.type` and message.
fn failure(json: &str) -> Option<(String, Option<String>)> {
    line(json, |chunk| {
        let failure = chunk.failure.as_ref()?;
        Some((failure.error_type().into_owned(), failure.message.map(|message| message.to_string())))
    })
}

fn failed(kind: &str, message: &str) -> Option<(String, Option<String>)> {
    Some((kind.to_owned(), Some(message.to_owned())))
}

#[test]
fn an_error_line_is_a_message_without_a_type() {
    assert_eq!(failure(r#"{"error":"model runner has stopped"}"#), failed("_OTHER", "model runner has stopped"));
}

#[test]
fn an_error_of_a_gateway_may_be_an_object() {
    assert_eq!(failure(r#"{"error":{"code":"gone","message":"m"}}"#), failed("gone", "m"));
    assert_eq!(failure(r#"{"error":{"type":"api_error","code":null,"message":"m"}}"#), failed("api_error", "m"));
    assert_eq!(failure(r#"{"error":{"code":502,"message":"m"}}"#), failed("502", "m"));
}

#[test]
fn a_null_or_empty_error_is_none() {
    assert_eq!(failure(r#"{"error":null,"response":"x"}"#), None);
    assert_eq!(failure(r#"{"error":"","response":"x"}"#), None);
}

#[test]
fn an_error_line_does_not_end_the_stream_well() {
    assert!(!line(r#"{"error":"gone"}"#, |chunk| chunk.terminal));
}
