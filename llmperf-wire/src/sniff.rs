//! What an answer is, by its content type, its first bytes and its first events.
//!
//! | first bytes | read as |
//! |---|---|
//! | `{` | lines if the content type says so, else whole values |
//! | `[{` | the growing array of a Gemini stream |
//! | `[` and anything else | a whole value |
//! | NUL: the length of a binary message is far below 16 MiB | an event stream of AWS |
//! | `data`, `event`, `id`, `retry`, `:`; anything under `text/event-stream` | server-sent events |
//! | anything under a content type of JSON | a whole value, which will not parse |
//! | anything else: a page for people, compressed bytes | nothing: the decoder is blind |
//!
//! White space and byte order marks before them say nothing. So the bytes win over the content type wherever they are
//! plain; the content type decides where they are not.
//!
//! | first event | dialect |
//! |---|---|
//! | named or typed `message_start`, `message_delta`, `content_block_…` | `Anthropic` |
//! | named or typed `response.…` | `OpenAiResponses` |
//! | typed `message-start`, `content-start`, `content-delta`, `tool-plan-delta`, `tool-call-start`, `message-end` | `Cohere` |
//! | with `choices` | `OpenAiChat` |
//! | with `candidates`, `usageMetadata` or `promptFeedback` | `Gemini`, `GeminiArray` |
//! | with `done` and a `message` or a `response` | `Ollama` |

use crate::Dialect;
use crate::json::{Json, Malformed, Parsed};

/// What is held of an answer that has not shown what it is.
const MOST_HELD: usize = 4 << 10;

/// How many events without a sign of their dialect are waited for.
const MOST_EVENTS: u32 = 16;

/// What the head of an answer declares about its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declared {
    Nothing,
    EventStream,
    Lines,
    Json,
    Binary,
}

impl Declared {
    pub(crate) fn of(content_type: Option<&str>) -> Self {
        let Some(content_type) = content_type else {
            return Self::Nothing;
        };
        let essence = content_type.split(';').next().unwrap_or("").trim();
        let is = |name: &str| essence.eq_ignore_ascii_case(name);
        let any = |names: &[&str]| names.iter().any(|name| is(name));
        if is("text/event-stream") {
            Self::EventStream
        } else if any(&["application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"]) {
            Self::Lines
        } else if is("application/vnd.amazon.eventstream") {
            Self::Binary
        } else if is("application/json") || essence.as_bytes().to_ascii_lowercase().ends_with(b"+json") {
            Self::Json
        } else {
            Self::Nothing
        }
    }
}

/// How an answer is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    ServerSentEvents,
    Lines,
    Array,
    Binary,
    Whole,
    Blind,
}

/// Holds the first bytes of an answer until they show its form.
#[derive(Debug)]
pub(crate) struct Opening {
    declared: Declared,
    held: Vec<u8>,
}

impl Opening {
    pub(crate) fn new(declared: Declared) -> Self {
        Self { declared, held: Vec::new() }
    }

    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes the next bytes. Once the form is clear, all that came is to be given to its framing: what is held, which is
    /// handed out here, then the bytes at hand.
    pub(crate) fn push(&mut self, read: &[u8]) -> Option<(Form, Vec<u8>)> {
        let form = if self.held.is_empty() {
            form(self.declared, read)
        } else {
            // A few bytes only decide: no need to look at more.
            let mut first = self.held.clone();
            first.extend(read.iter().take(MOST_HELD));
            form(self.declared, &first)
        };
        if form.is_none() && self.held.len().saturating_add(read.len()) <= MOST_HELD {
            self.held.extend_from_slice(read);
            return None;
        }
        Some((form.unwrap_or(Form::Blind), std::mem::take(&mut self.held)))
    }

    /// The answer has ended.
    pub(crate) fn finish(&mut self) -> Option<(Form, Vec<u8>)> {
        let held = std::mem::take(&mut self.held);
        let form = match without_blanks(&held) {
            [] => return None,
            [b'[' | b'{', ..] => Form::Whole,
            _ if self.declared == Declared::EventStream => Form::ServerSentEvents,
            _ => Form::Blind,
        };
        Some((form, held))
    }
}
