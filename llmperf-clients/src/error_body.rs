//! What the body of an error says: the same few shapes at all providers.

use std::borrow::Cow;

use llmperf_core::Failure;
use serde_json::Value;

/// An error that stands in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorBody<'a> {
    /// The first listed of code, type, status, number that is a name; absent where there is a message only.
    pub(crate) error_type: Option<Cow<'a, str>>,
    pub(crate) message: Option<&'a str>,
}

/// The error in a body, or in an event of a stream; `None` where it is none.
///
/// | shape | whose |
/// |---|---|
/// | `{"error": {"code", "type", "status", "message"}}` | OpenAI and its family, Gemini |
/// | `{"type": "error", "error": {"type", "message"}}` | Anthropic |
/// | `{"error": "message"}` | Ollama, text generation servers (with `error_type`) |
/// | `{"object": "error", "code", "type", "message"}` | vLLM of old |
pub(crate) fn in_event(event: &Value) -> Option<ErrorBody<'_>> {
    match event.get("error") {
        Some(Value::Null | Value::Bool(false)) | None => is_error(event).then(|| of(event)),
        Some(Value::String(message)) => Some(ErrorBody { error_type: word(event), message: Some(message) }),
        Some(error) => Some(of(error)),
    }
}

/// What an error's own object says.
pub(crate) fn of(error: &Value) -> ErrorBody<'_> {
    ErrorBody { error_type: word(error), message: error.get("message").and_then(Value::as_str) }
}

fn is_error(event: &Value) -> bool {
    ["object", "type"].iter().any(|name| event.get(name).and_then(Value::as_str) == Some("error"))
}

fn word(error: &Value) -> Option<Cow<'_, str>> {
    let words = ["code", "type", "error_type", "status"].iter().filter_map(|name| error.get(name)?.as_str());
    let mut numbers =
        ["code", "status", "status_code", "http_status_code"].iter().filter_map(|name| error.get(name)?.as_u64());
    let word = words.filter(|word| Failure::is_name(word) && *word != "error").map(Cow::Borrowed).next();
    word.or_else(|| numbers.next().map(|number| number.to_string().into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error_type(event: &Value) -> Option<String> {
        in_event(event)?.error_type.map(Cow::into_owned)
    }

    #[test]
    fn the_first_listed_of_code_type_status_and_number_is_the_type() {
        let cases = [
            (json!({"error": {"code": "rate_limit_exceeded", "type": "requests"}}), "rate_limit_exceeded"),
            (json!({"error": {"code": 503, "type": "server_error"}}), "server_error"),
            (json!({"error": {"code": null, "message": "no", "status": "UNAVAILABLE"}}), "UNAVAILABLE"),
            (json!({"error": {"code": 503, "message": "no"}}), "503"),
            (json!({"type": "error", "error": {"type": "overloaded_error"}}), "overloaded_error"),
            (json!({"object": "error", "type": "BadRequestError", "code": 400}), "BadRequestError"),
            (json!({"error": "no room", "error_type": "overloaded"}), "overloaded"),
            (json!({"error": {"code": "Rate limit reached for m", "type": "requests"}}), "requests"),
            (json!({"error": {"code": "Rate limit reached for m", "status": 429}}), "429"),
        ];
        for (event, expected) in cases {
            assert_eq!(error_type(&event).as_deref(), Some(expected), "{event}");
        }
    }

    #[test]
    fn a_message_is_never_the_type() {
        let body = json!({"error": "the prompt was too long"});
        assert_eq!(in_event(&body), Some(ErrorBody { error_type: None, message: Some("the prompt was too long") }));
    }

    #[test]
    fn what_has_no_error_is_none() {
        for event in
            [json!({"choices": []}), json!({"error": null}), json!({"error": false}), json!([1]), json!("error")]
        {
            assert_eq!(in_event(&event), None, "{event}");
        }
    }
}
