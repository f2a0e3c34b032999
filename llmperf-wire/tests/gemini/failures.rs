//! Failures inside a stream that began well, and in place of one.

use super::*;

const ERROR: &str = "{\n  \"error\": {\n    \"code\": 499,\n    \"message\": \"The operation was cancelled.\",\n    \"status\": \"CANCELLED\",\n    \"details\": [\n      {\"code\": 1}\n    ]\n  }\n}\n";

/// Origin, `error.type`, number and message of the chunks that report a failure.
fn failures(dialect: Dialect, stream: &str) -> Vec<(Origin, String, Option<u64>, Option<String>)> {
    let mut seen = Vec::new();
    decode(dialect, stream, |chunk| {
        seen.extend(chunk.failure.map(|failure| {
            let message = failure.message.map(|message| message.to_string());
            (chunk.origin, failure.error_type().into_owned(), failure.number, message)
        }));
    });
    seen
}

fn cancelled(origin: Origin) -> Vec<(Origin, String, Option<u64>, Option<String>)> {
    vec![(origin, "CANCELLED".to_owned(), Some(499), Some("The operation was cancelled.".to_owned()))]
}

#[test]
fn a_failure_stands_bare_between_the_events_or_in_place_of_them() {
    let late = format!("data: {{\"candidates\":[]}}\r\n\r\n{ERROR}\r\n");
    assert_eq!(failures(Dialect::Gemini, &late), cancelled(Origin::Bare));
    assert_eq!(failures(Dialect::Gemini, ERROR), cancelled(Origin::Bare));
    assert_eq!(failures(Dialect::GeminiArray, ERROR), cancelled(Origin::Bare));
}

#[test]
fn a_failure_may_be_an_event_or_an_element() {
    let data = ERROR.replace('\n', "");
    assert_eq!(failures(Dialect::Gemini, &format!("data: {data}\n\n")), cancelled(Origin::Event));
    assert_eq!(failures(Dialect::GeminiArray, &format!("[{ERROR}]")), cancelled(Origin::Event));
    let late = format!("[{{\"candidates\":[]}}\n,\n{ERROR}]");
    assert_eq!(failures(Dialect::GeminiArray, &late), cancelled(Origin::Event));
}

#[test]
fn a_failure_without_a_status_is_named_by_its_code_and_may_be_a_message() {
    let kind = |json: &str| payload(json, |chunk| chunk.failure.map(|failure| failure.error_type().into_owned()));
    assert_eq!(kind(r#"{"error":{"code":503,"message":"m"}}"#).as_deref(), Some("503"));
    assert_eq!(kind(r#"{"error":{}}"#).as_deref(), Some("_OTHER"));
    assert_eq!(kind(r#"{"error":"gone"}"#).as_deref(), Some("_OTHER"));
    assert_eq!(kind(r#"{"error":null}"#), None);
}
