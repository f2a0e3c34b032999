//! Content capture: off by default; where it is on, bounded, redacted, never in metrics.

use std::{borrow::Cow, fmt, sync::Arc};

use serde_json::json;

use crate::{
    output::{Kind, Piece},
    text::cut,
};

type Redact = Arc<dyn Fn(&str) -> Cow<'_, str> + Send + Sync>;

/// Whether prompts and answers leave the process, where to, and how much of them.
///
/// ```
/// use llmperf_core::Capture;
///
/// let capture = Capture::on_spans().limit(4 * 1024).redact(|text| text.replace("secret", "***").into());
/// assert!(!Capture::off().is_on() && capture.is_on());
/// ```
#[derive(Clone)]
pub struct Capture {
    spans: bool,
    events: bool,
    limit: usize,
    redact: Option<Redact>,
}

impl Capture {
    /// Nothing is captured.
    #[must_use]
    pub fn off() -> Self {
        Self { spans: false, events: false, limit: 16 * 1024, redact: None }
    }

    /// Messages become span attributes (`gen_ai.input.messages`, `gen_ai.output.messages`).
    #[must_use]
    pub fn on_spans() -> Self {
        Self { spans: true, ..Self::off() }
    }

    /// Messages become a `tracing` event `gen_ai.client.inference.operation.details`.
    #[must_use]
    pub fn on_events() -> Self {
        Self { events: true, ..Self::off() }
    }

    /// Both.
    #[must_use]
    pub fn on_spans_and_events() -> Self {
        Self { spans: true, ..Self::on_events() }
    }

    /// What `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says; an unknown value captures nothing and is said.
    #[must_use]
    pub fn from_env() -> Self {
        const NAME: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
        let Ok(value) = std::env::var(NAME) else { return Self::off() };
        Self::named(&value).unwrap_or_else(|| {
            tracing::warn!(target: "llmperf", "{NAME} has an unknown value; no content is captured");
            Self::off()
        })
    }

    fn named(value: &str) -> Option<Self> {
        match value.trim().to_ascii_uppercase().as_str() {
            "" | "NO_CONTENT" => Some(Self::off()),
            "SPAN_ONLY" => Some(Self::on_spans()),
            "EVENT_ONLY" => Some(Self::on_events()),
            "SPAN_AND_EVENT" => Some(Self::on_spans_and_events()),
            _ => None,
        }
    }

    /// Most bytes of a prompt and of an answer, each; cut at a character boundary. Default: 16 KiB.
    #[must_use = "this returns the capture with the limit"]
    pub fn limit(self, bytes: usize) -> Self {
        Self { limit: bytes, ..self }
    }

    /// What is done to each text before it leaves the process. A hook that panics drops the text.
    #[must_use = "this returns the capture with the hook"]
    pub fn redact(self, hook: impl Fn(&str) -> Cow<'_, str> + Send + Sync + 'static) -> Self {
        Self { redact: Some(Arc::new(hook)), ..self }
    }

    /// Whether anything is captured.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.spans || self.events
    }

    /// Whether content becomes attributes of spans.
    #[must_use]
    pub fn to_spans(&self) -> bool {
        self.spans
    }

    /// Most bytes of a text, as [`limit`](Self::limit) has set it.
    #[must_use]
    pub fn most_bytes(&self) -> usize {
        self.limit
    }

    /// A text as it may leave the process: redacted, then cut. For authors of parts. A hook that panics does so here.
    #[must_use]
    pub fn release(&self, text: &str) -> String {
        // What is gathered before redaction: twice the limit, so that a hook that shortens still fills it.
        let mut part = Part::default();
        part.append(text, self.limit.saturating_mul(2));
        self.released(&part)
    }

    pub(crate) fn to_events(&self) -> bool {
        self.events
    }

    /// The text as it may leave: redacted, then cut.
    fn released(&self, part: &Part) -> String {
        let text = part.whole_words();
        let redacted = self.redact.as_ref().map_or(Cow::Borrowed(text), |redact| redact(text));
        cut(&redacted, self.limit).to_owned()
    }
}

impl Default for Capture {
    fn default() -> Self {
        Self::off()
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture")
            .field("spans", &self.spans)
            .field("events", &self.events)
            .field("limit", &self.limit)
            .field("redact", &self.redact.is_some())
            .finish()
    }
}

/// The content of one call, while it lives.
#[derive(Debug)]
pub(crate) struct Content {
    capture: Capture,
    prompt: Part,
    answer: Part,
    reasoning: Part,
    tools: Part,
    error: Part,
}

/// A text that is gathered up to a limit.
#[derive(Debug, Default)]
struct Part {
    text: String,
    full: bool,
}

impl Part {
    fn append(&mut self, text: &str, room: usize) {
        if !self.full {
            let fits = cut(text, room.saturating_sub(self.text.len()));
            self.text.push_str(fits);
            self.full = fits.len() < text.len();
        }
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What a redaction hook may judge: of a text that was cut off, not its last word, of which it would see a part.
    fn whole_words(&self) -> &str {
        match self.text.rfind(char::is_whitespace) {
            Some(end) if self.full => &self.text[..end],
            _ => &self.text,
        }
    }
}

impl Content {
    pub(crate) fn new(capture: Capture) -> Self {
        let [prompt, answer, reasoning, tools, error] = std::array::from_fn(|_| Part::default());
        Self { capture, prompt, answer, reasoning, tools, error }
    }

    pub(crate) fn capture(&self) -> &Capture {
        &self.capture
    }

    pub(crate) fn prompt(&mut self, text: &str) {
        let room = self.room();
        self.prompt.append(text, room);
    }

    /// The message of a provider's error: it quotes prompts, so it is content.
    pub(crate) fn error(&mut self, message: &str) {
        let room = self.room();
        self.error.append(message, room);
    }

    pub(crate) fn piece(&mut self, piece: Piece<'_>) {
        let room = self.room();
        let part = match piece.kind {
            Kind::Reasoning | Kind::ReasoningSummary => &mut self.reasoning,
            Kind::Tool => &mut self.tools,
            _ => &mut self.answer,
        };
        part.append(piece.text, room);
    }

    /// `gen_ai.input.messages`, as JSON; absent without a prompt.
    pub(crate) fn input_messages(&self) -> Option<String> {
        (!self.prompt.is_empty()).then(|| {
            let content = self.capture.released(&self.prompt);
            json!([{ "parts": [{ "content": content, "type": "text" }], "role": "user" }]).to_string()
        })
    }

    /// `gen_ai.output.messages`, as JSON; absent without output. Keys are written in order, so that the text is the same
    /// whether or not something in the build has serde_json keep the order of insertion.
    pub(crate) fn output_messages(&self, finish: &str) -> Option<String> {
        let parts: Vec<_> = [("reasoning", &self.reasoning), ("text", &self.answer), ("tool_call", &self.tools)]
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(kind, text)| {
                let key = if kind == "tool_call" { "arguments" } else { "content" };
                json!({ key: self.capture.released(text), "type": kind })
            })
            .collect();
        (!parts.is_empty())
            .then(|| json!([{ "finish_reason": finish, "parts": parts, "role": "assistant" }]).to_string())
    }

    /// `error.message`; absent without one.
    pub(crate) fn error_message(&self) -> Option<String> {
        (!self.error.is_empty()).then(|| self.capture.released(&self.error))
    }

    /// What is gathered before redaction: twice the limit, so that a hook that shortens still fills it.
    fn room(&self) -> usize {
        self.capture.limit.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_sees_the_text_before_it_is_cut() {
        let capture = Capture::on_spans().limit(5).redact(|text| text.replace("password", "*").into());
        let mut content = Content::new(capture);
        content.prompt("password1");
        assert_eq!(content.input_messages().unwrap(), r#"[{"parts":[{"content":"*1","type":"text"}],"role":"user"}]"#);
    }

    #[test]
    fn the_environment_names_the_mode_in_any_case() {
        assert!(Capture::named("span_only").is_some_and(|capture| capture.spans && !capture.events));
        assert!(Capture::named("NO_CONTENT").is_some_and(|capture| !capture.is_on()));
        assert!(Capture::named("true").is_none());
    }

    #[test]
    fn of_a_text_that_was_cut_off_no_half_word_passes_the_hook() {
        let capture = Capture::on_spans().limit(8).redact(|text| text.replace("password1", "*").into());
        let mut content = Content::new(capture);
        content.prompt("and password1 password1 and");
        assert!(!content.input_messages().unwrap().contains("passw"), "{:?}", content.input_messages());
    }

    #[test]
    fn an_answer_without_end_is_bounded() {
        let mut content = Content::new(Capture::on_spans().limit(10));
        for _ in 0..100_000 {
            content.piece(Piece { kind: Kind::Text, bytes: 3, text: "abc" });
        }
        assert!(content.answer.text.len() <= 20);
    }
}
