//! Answers that are not streamed: one JSON value, read once it is there.
//!
//! What it is shows in the fields at its top; where it does not, the dialect that the request was meant for decides.
//!
//! | fields | read as |
//! |---|---|
//! | an `error` that is none of null, false and empty; `object: "error"` | an error, but for answers that have one beside their output |
//! | `choices` | chat or completion of OpenAI's family |
//! | `object: "response"`, an array `output` | OpenAI Responses |
//! | an object `output` | Bedrock Converse |
//! | `type: "message"`, `stop_reason` | Anthropic |
//! | `candidates`, `promptFeedback` | Gemini |
//! | `done` | Ollama; a value that is not done is one of a stream |
//! | an object `message` with `finish_reason` | Cohere |
//! | `data`, `results`, `embedding`, `embeddings`, an array | figures of vectors or an order |
//! | anything, with a status that refuses | an error |
//!
//! Each is read by a module of its dialect. Whatever parses and is no failure is a whole answer: it ends the call.

mod figures;
mod refusal;

use crate::dialect::{
    Dialect, Known, Payload, anthropic, bedrock, cohere, gemini, ollama, openai_chat, openai_responses,
};
use crate::event::Chunk;
use crate::json::{Json, Parsed};

pub(crate) use refusal::Refusal;

/// Reads the values of one answer.
#[derive(Debug)]
pub(crate) struct Reader {
    /// The dialect that was asked for.
    hint: Option<Dialect>,
    refused: bool,
    /// The dialect that a value has shown.
    shown: Option<Dialect>,
    /// A value was an event of a stream.
    streams: bool,
    /// Reads the values of Ollama: only of its lines can each be taken for an answer.
    ollama: ollama::Reader,
}

impl Reader {
    pub(crate) fn new(hint: Option<Dialect>, refused: bool) -> Self {
        Self { hint, refused, shown: None, streams: false, ollama: ollama::Reader::default() }
    }

    /// The answer's head says that it is an error.
    pub(crate) fn refuse(&mut self) {
        self.refused = true;
    }

    pub(crate) fn dialect(&self) -> Option<Dialect> {
        self.shown
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.streams
    }

    /// Says what a value means.
    pub(crate) fn read<'a>(&mut self, data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<Known> {
        let shape = if self.refused { Shape::Error } else { Shape::of(data)? };
        let mut known = Known::Yes;
        match (shape, self.hint) {
            (Shape::Error, _) => refusal::read(data, chunk)?,
            (Shape::Figures, _) => figures::read(data, chunk)?,
            (Shape::OfDialect(dialect), _) => self.read_dialect(dialect, data, chunk)?,
            (Shape::Unknown, Some(dialect)) => {
                self.read_dialect(dialect, data, chunk)?;
                if says_nothing(chunk) {
                    known = Known::No;
                }
            }
            (Shape::Unknown, None) => known = Known::No,
        }
        if !self.streams {
            chunk.whole = true;
            chunk.terminal = chunk.failure.is_none();
        }
        Ok(known)
    }

    fn read_dialect<'a>(&mut self, dialect: Dialect, data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
        self.shown = Some(dialect);
        match dialect {
            Dialect::OpenAiChat => openai_chat::read_whole(data, chunk),
            Dialect::OpenAiResponses => openai_responses::whole::read(data, chunk),
            Dialect::Anthropic => anthropic::whole::read(data, chunk),
            Dialect::Cohere => cohere::whole::read(data, chunk),
            Dialect::BedrockConverse => bedrock::whole::read(data, chunk),
            Dialect::Gemini | Dialect::GeminiArray => {
                gemini::Reader::default().read(Payload { name: &[], data }, chunk).map(drop)
            }
            Dialect::Ollama => {
                let known = self.ollama.read(data, chunk)?;
                self.streams |= known == Known::Yes && !chunk.terminal && chunk.failure.is_none();
                Ok(())
            }
        }
    }
}

fn says_nothing(chunk: &Chunk<'_>) -> bool {
    chunk.usage.is_none()
        && chunk.failure.is_none()
        && chunk.model.is_none()
        && chunk.pieces.len() == 0
        && chunk.finishes.len() == 0
}

/// Reads an event of a stream whose dialect has not shown itself: failures look alike everywhere.
pub(crate) fn read_unknown<'a>(payload: Payload<'a>, chunk: &mut Chunk<'a>) -> Parsed<Known> {
    if payload.data.starts_with(b"[DONE]") {
        chunk.terminal = true;
        return Ok(Known::Yes);
    }
    let shape = Shape::of(payload.data)?;
    if shape == Shape::Error || payload.name == b"error" {
        refusal::read(payload.data, chunk)?;
        return Ok(Known::Yes);
    }
    Ok(Known::No)
}

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    OfDialect(Dialect),
    Figures,
    Error,
    Unknown,
}

impl Shape {
    fn of(data: &[u8]) -> Parsed<Self> {
        if data.starts_with(b"[") {
            return Self::of_array(data);
        }
        let mut signs = Signs::default();
        Json::only_object(data, |json, name| {
            signs.take(json, name);
            json.skip()
        })?;
        Ok(signs.shape())
    }

    /// An array holds an order of documents, or an error as its first element.
    fn of_array(data: &[u8]) -> Parsed<Self> {
        let mut signs = Signs::default();
        let mut json = Json::new(data);
        json.array(|json| {
            if json.peek() != Some(b'{') {
                return json.skip();
            }
            json.object(|json, name| {
                signs.take(json, name);
                json.skip()
            })
        })?;
        json.end()?;
        Ok(if signs.error { Self::Error } else { Self::Figures })
    }
}

/// The fields by which values are told apart.
#[derive(Debug, Default)]
struct Signs {
    dialect: Option<Dialect>,
    error: bool,
    figures: bool,
    message: bool,
    finish_reason: bool,
}

impl Signs {
    /// Looks at the field ahead.
    fn take(&mut self, json: &mut Json<'_>, name: &[u8]) {
        let first = json.peek();
        let is = |word: &str| matches!(json.clone().text(), Ok(Some(text)) if text.is(word));
        let dialect = match name {
            b"choices" => Dialect::OpenAiChat,
            b"object" if is("response") => Dialect::OpenAiResponses,
            b"output" if first == Some(b'[') => Dialect::OpenAiResponses,
            b"output" if first == Some(b'{') => Dialect::BedrockConverse,
            b"type" if is("message") => Dialect::Anthropic,
            b"stop_reason" => Dialect::Anthropic,
            b"candidates" | b"promptFeedback" => Dialect::Gemini,
            b"done" => Dialect::Ollama,
            b"error" => return self.error |= is_something(json),
            b"object" if is("error") => return self.error = true,
            b"message" => return self.message |= first == Some(b'{'),
            b"finish_reason" => return self.finish_reason = true,
            b"data" | b"results" | b"embedding" | b"embeddings" => return self.figures = true,
            _ => return,
        };
        self.dialect.get_or_insert(dialect);
    }

    fn shape(&self) -> Shape {
        // Those that say what failed beside what they have said so far.
        let has_own_error = matches!(self.dialect, Some(Dialect::OpenAiChat | Dialect::OpenAiResponses));
        match self.dialect {
            _ if self.error && !has_own_error => Shape::Error,
            Some(dialect) => Shape::OfDialect(dialect),
            None if self.message && self.finish_reason => Shape::OfDialect(Dialect::Cohere),
            None if self.figures => Shape::Figures,
            None => Shape::Unknown,
        }
    }
}

/// Null, false and the empty string are nothing.
fn is_something(json: &mut Json<'_>) -> bool {
    match json.peek() {
        Some(b'n' | b'f') | None => false,
        Some(b'"') => matches!(json.clone().text(), Ok(Some(_))),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests;
