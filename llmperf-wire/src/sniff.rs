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

/// How many events without a sign of their dialect are waited for.
const MOST_EVENTS: u32 = 16;

/// Names of fields that server-sent events begin with, and one that servers make up for errors.
const FIELDS: &[&[u8]] = &[b"data", b"event", b"id", b"retry", b"error"];

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
        } else if is("application/json")
            || essence.rsplit('+').next().is_some_and(|suffix| suffix.eq_ignore_ascii_case("json"))
        {
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

/// Waits for the bytes that show an answer's form. It holds what it has seen of them: a few bytes, white space left out.
#[derive(Debug)]
pub(crate) struct Opening {
    declared: Declared,
    /// An array can be a stream.
    array_streams: bool,
    held: Vec<u8>,
}

impl Opening {
    pub(crate) fn new(declared: Declared, array_streams: bool) -> Self {
        Self { declared, array_streams, held: Vec::new() }
    }

    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes the next bytes. Once the form is clear, it comes with those that are held and those that are not taken.
    pub(crate) fn push<'r>(&mut self, read: &'r [u8]) -> Option<(Form, Vec<u8>, &'r [u8])> {
        let mut rest = read;
        while let [byte, tail @ ..] = rest {
            rest = tail;
            let says_nothing = byte.is_ascii_whitespace() || self.held.is_empty() && is_of_byte_order_mark(*byte);
            if says_nothing && matches!(self.held.as_slice(), [] | [b'[']) {
                continue;
            }
            self.held.push(*byte);
            if let Some(form) = self.form() {
                return Some((form, std::mem::take(&mut self.held), rest));
            }
        }
        None
    }

    /// The form of an answer that ended before it was clear, with what is held.
    pub(crate) fn finish(&mut self) -> Option<(Form, Vec<u8>)> {
        let held = std::mem::take(&mut self.held);
        let is_json = self.declared == Declared::Json || held.starts_with(b"[");
        (!held.is_empty()).then_some((if is_json { Form::Whole } else { Form::Blind }, held))
    }

    fn form(&self) -> Option<Form> {
        let form = match self.held.as_slice() {
            [] => return None,
            [b'{', ..] if self.declared == Declared::Lines => Form::Lines,
            [b'{', ..] => Form::Whole,
            [b'['] => return None,
            [b'[', b'{', ..] if self.array_streams => Form::Array,
            [b'[', ..] => Form::Whole,
            [0, ..] => Form::Binary,
            [b':', ..] => Form::ServerSentEvents,
            _ if self.declared == Declared::EventStream => Form::ServerSentEvents,
            word if FIELDS.iter().any(|field| word.starts_with(field)) => Form::ServerSentEvents,
            head if FIELDS.iter().any(|field| field.starts_with(head)) => return None,
            _ if self.declared == Declared::Json => Form::Whole,
            _ => Form::Blind,
        };
        Some(form)
    }
}

fn is_of_byte_order_mark(byte: u8) -> bool {
    matches!(byte, 0xEF | 0xBB | 0xBF)
}

/// Waits for the event that shows the dialect of a stream.
#[derive(Debug, Default)]
pub(crate) struct Signs {
    events: u32,
}

impl Signs {
    /// The dialect that an event shows.
    pub(crate) fn look(&mut self, name: &[u8], data: &[u8]) -> Option<Dialect> {
        self.events += 1;
        by_word(name).or_else(|| by_fields(data))
    }

    /// True if it is no use to wait any longer.
    pub(crate) fn is_over(&self) -> bool {
        self.events >= MOST_EVENTS
    }
}

/// The dialect that has events of this name or type.
fn by_word(word: &[u8]) -> Option<Dialect> {
    match word {
        b"message_start" | b"message_delta" | b"message_stop" => Some(Dialect::Anthropic),
        b"message-start" | b"message-end" | b"content-start" | b"content-delta" | b"tool-plan-delta"
        | b"tool-call-start" | b"tool-call-delta" => Some(Dialect::Cohere),
        _ if word.starts_with(b"content_block_") => Some(Dialect::Anthropic),
        _ if word.starts_with(b"response.") => Some(Dialect::OpenAiResponses),
        _ => None,
    }
}

/// The dialect whose events have these fields.
fn by_fields(data: &[u8]) -> Option<Dialect> {
    let mut found = None;
    let (mut done, mut words) = (false, false);
    let read: Parsed<()> = Json::only_object(data, |json, name| {
        match name {
            b"choices" => found = Some(Dialect::OpenAiChat),
            b"candidates" | b"usageMetadata" | b"promptFeedback" => found = Some(Dialect::Gemini),
            b"done" => done = true,
            b"message" | b"response" => words = true,
            b"type" => {
                found = found.or(json.name()?.and_then(by_word));
                return Ok(());
            }
            _ => {}
        }
        json.skip()
    });
    match read {
        Ok(()) => found.or((done && words).then_some(Dialect::Ollama)),
        Err(Malformed) => None,
    }
}
