//! Answers that are not streamed: one JSON value, read once it is there.
//!
//! What it is shows in the fields at its top; where it does not, the dialect that the request was meant for decides.
//!
//! | fields | read as |
//! |---|---|
//! | an `error` that is none of null, false and empty, but for the answers that have one beside their output | an error |
//! | `choices` | chat or completion of OpenAI's family |
//! | `done` | Ollama; a value that is not done is one of a stream |
//! | `data`, `results`, `embedding`, `embeddings` | figures of vectors or an order |
//! | anything, with a status that refuses | an error |
//!
//! Each is read by a module of its dialect. Whatever parses and is no failure is a whole answer: it ends the call.

mod figures;
mod refusal;

use crate::dialect::{Dialect, Known, Payload, ollama, openai_chat};
use crate::event::Chunk;
use crate::json::{Json, Malformed, Parsed};

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
}

impl Reader {
    pub(crate) fn new(hint: Option<Dialect>, refused: bool) -> Self {
        Self { hint, refused, shown: None, streams: false }
    }

    /// The answer's head says that it is an error.
    pub(crate) fn refuse(&mut self) {
        self.refused = true;
    }

    pub(crate) fn dialect(&self) -> Option<Dialect> {
        self.shown.or(self.hint)
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.streams
    }

    /// Says what a value means.
    pub(crate) fn read<'a>(&mut self, data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<Known> {
        let shape = Shape::of(data)?;
        let shape = if self.refused { Shape::Error } else { shape };
        let mut known = Known::Yes;
        match shape {
            Shape::Chat => openai_chat::read_whole(data, chunk)?,
            Shape::Ollama => {
                known = ollama::read(data, chunk)?;
                self.streams |= !chunk.terminal;
                self.shown = Some(Dialect::Ollama);
                return Ok(known);
            }
            Shape::Figures => figures::read(data, chunk)?,
            Shape::Error => refusal::read(data, chunk)?,
            Shape::Unknown => known = Known::No,
        }
        self.shown = shape.dialect().or(self.shown);
        chunk.terminal = chunk.failure.is_none();
        Ok(known)
    }
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
    Chat,
    Ollama,
    Figures,
    Error,
    Unknown,
}

impl Shape {
    fn of(data: &[u8]) -> Parsed<Self> {
        if data.starts_with(b"[") {
            return Ok(Self::Figures);
        }
        if !data.starts_with(b"{") {
            return Err(Malformed);
        }
        let mut error = false;
        let mut shape = Self::Unknown;
        let mut json = Json::new(data);
        json.object(|json, name| {
            match name {
                b"error" => error = is_something(json),
                b"choices" => shape = Self::Chat,
                b"done" => shape = Self::Ollama,
                b"data" | b"results" | b"embedding" | b"embeddings" if shape == Self::Unknown => {
                    shape = Self::Figures;
                }
                b"object" => error |= json.clone().text()?.is_some_and(|object| object.is("error")),
                _ => {}
            }
            json.skip()
        })?;
        json.end()?;
        Ok(if error && shape != Self::Chat { Self::Error } else { shape })
    }

    fn dialect(self) -> Option<Dialect> {
        match self {
            Self::Chat => Some(Dialect::OpenAiChat),
            Self::Ollama => Some(Dialect::Ollama),
            Self::Figures | Self::Error | Self::Unknown => None,
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
