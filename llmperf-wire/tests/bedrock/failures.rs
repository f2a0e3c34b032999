//! Failures inside a stream that began well.

use super::*;

/// `error.type`, number and message of the only chunk.
fn failure(stream: &[u8]) -> (String, Option<u64>, Option<String>) {
    let mut seen = Vec::new();
    decode(stream, |chunk| {
        let failure = chunk.failure.as_ref().unwrap();
        let message = failure.message.map(|message| message.to_string());
        seen.push((failure.error_type().into_owned(), failure.number, message));
        assert!(!chunk.terminal);
    });
    assert_eq!(seen.len(), 1);
    seen.pop().unwrap()
}

#[test]
fn an_exception_is_named_by_its_type() {
    let json = r#"{"message":"went \"wrong\"","originalMessage":"m","originalStatusCode":500}"#;
    assert_eq!(
        failure(&exception("modelStreamErrorException", json)),
        ("modelStreamErrorException".to_owned(), Some(500), Some("went \"wrong\"".to_owned()))
    );
    assert_eq!(
        failure(&exception("throttlingException", r#"{"Message":"slow down"}"#)),
        ("throttlingException".to_owned(), None, Some("slow down".to_owned()))
    );
}

#[test]
fn an_exception_needs_no_payload_that_parses() {
    for payload in ["", "{}", "null", "oops", r#"{"message":"cut"#] {
        let (kind, number, message) = failure(&exception("internalServerException", payload));
        assert_eq!((kind.as_str(), number, message), ("internalServerException", None, None), "{payload}");
    }
}

#[test]
fn an_exception_without_a_type_is_a_failure_all_the_same() {
    let nameless = message(&text_header(":message-type", "exception"), br#"{"message":"m"}"#);
    assert_eq!(failure(&nameless), ("_OTHER".to_owned(), None, Some("m".to_owned())));
}

#[test]
fn an_error_says_what_it_is_in_its_headers() {
    let headers = [
        text_header(":message-type", "error"),
        text_header(":error-code", "InternalError"),
        text_header(":error-message", "gone \\u0041"),
    ]
    .concat();
    let gone = Some("gone \\u0041".to_owned());
    assert_eq!(failure(&message(&headers, b"")), ("InternalError".to_owned(), None, gone));
}
