//! The prompt in a request, for those who capture content; nobody else looks.

use serde_json::Value;

/// The words that a request gives the model, one message behind another; empty if none are found.
pub(crate) fn of(body: &[u8]) -> String {
    let Ok(Value::Object(request)) = serde_json::from_slice::<Value>(body) else { return String::new() };
    let mut words = Words::default();
    // Instructions come first, whatever the order of the fields.
    for field in ["instructions", "preamble", "system", "systemInstruction", "system_instruction"] {
        words.take(request.get(field));
    }
    for field in ["prompt", "input", "inputs", "contents", "messages", "query", "documents"] {
        words.take(request.get(field));
    }
    words.0
}

#[derive(Default)]
struct Words(String);

impl Words {
    /// Takes text, messages, and parts of messages, as all providers write them.
    fn take(&mut self, value: Option<&Value>) {
        match value {
            Some(Value::String(text)) => self.line(text),
            Some(Value::Array(values)) => values.iter().for_each(|value| self.take(Some(value))),
            Some(Value::Object(fields)) => {
                for field in ["content", "parts", "text"] {
                    self.take(fields.get(field));
                }
            }
            _ => {}
        }
    }

    fn line(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_words_of_each_providers_request_are_found() {
        for (request, words) in [
            (
                r#"{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}"#,
                "Be brief.\nHi",
            ),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"image_url":{}}]}],"system":"S"}"#,
                "S\nHi",
            ),
            (
                r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"systemInstruction":{"parts":[{"text":"S"}]}}"#,
                "S\nHi",
            ),
            (r#"{"input":"Hi","instructions":"S"}"#, "S\nHi"),
            (r#"{"prompt":"Hi"}"#, "Hi"),
            (r#"{"messages":[{"role":"user","content":[{"text":"Hi"}]}],"system":[{"text":"S"}]}"#, "S\nHi"),
            ("[1]", ""),
            ("{", ""),
        ] {
            assert_eq!(super::of(request.as_bytes()), words, "{request}");
        }
    }
}
