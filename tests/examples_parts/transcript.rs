//! A reader of chat streams that shares no code with the server: what a client can tell from the bytes.

use serde_json::Value;

/// One stream as its client sees it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Transcript {
    pub(crate) comments: usize,
    /// Frames with a role and no output.
    pub(crate) role_frames: usize,
    pub(crate) reasoning: String,
    pub(crate) text: String,
    pub(crate) tool_names: Vec<String>,
    pub(crate) arguments: String,
    pub(crate) finish: Option<String>,
    pub(crate) usage: Option<Value>,
    pub(crate) error: Option<Value>,
    pub(crate) done: bool,
    /// Bytes after the last whole frame.
    pub(crate) rest: String,
}

impl Transcript {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap();
        let mut transcript = Self::default();
        let (frames, rest) = text.rsplit_once("\n\n").map_or(("", text), |(frames, rest)| (frames, rest));
        transcript.rest = rest.to_owned();
        for frame in frames.split("\n\n").filter(|frame| !frame.is_empty()) {
            assert!(!transcript.done, "something follows [DONE]");
            match frame.strip_prefix("data: ") {
                None => {
                    assert!(frame.starts_with(": "), "{frame}");
                    transcript.comments += 1;
                }
                Some("[DONE]") => transcript.done = true,
                Some(json) => transcript.event(&serde_json::from_str(json).unwrap()),
            }
        }
        transcript
    }

    /// Output tokens: a token is a word with its blank, a tool's name, or an end of its arguments.
    pub(crate) fn tokens(&self) -> usize {
        let words = |text: &str| text.matches(' ').count();
        let ends = match self.arguments.as_str() {
            "" => 0,
            "{}" => 1,
            whole if whole.ends_with("\"}") => 2,
            _ => 1,
        };
        words(&self.reasoning) + words(&self.text) + words(&self.arguments) + ends + self.tool_names.len()
    }

    fn event(&mut self, event: &Value) {
        if let Some(error) = event.get("error") {
            self.error = Some(error.clone());
            return;
        }
        if event["usage"].is_object() {
            assert_eq!(event["choices"], Value::Array(Vec::new()));
            self.usage = Some(event["usage"].clone());
            return;
        }
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        self.role_frames += usize::from(delta["role"] == "assistant");
        self.reasoning.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        let call = &delta["tool_calls"][0]["function"];
        self.tool_names.extend(call["name"].as_str().map(String::from));
        self.arguments.push_str(call["arguments"].as_str().unwrap_or_default());
        if let Some(finish) = choice["finish_reason"].as_str() {
            assert_eq!(self.finish, None, "two finish reasons");
            self.finish = Some(finish.to_owned());
        }
    }
}
