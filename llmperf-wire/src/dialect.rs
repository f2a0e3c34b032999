//! Dialects: a framing (how bytes become payloads) and a reading (what a payload says). Each reading is one module; all
//! of them report the same events.

mod anthropic;
mod cohere;
mod failure;
mod finish;
mod openai_chat;
mod openai_responses;
mod shape;

use crate::event::Chunk;
use crate::framing::{Framing, Sse};
use crate::json::Parsed;

/// A provider's streaming protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI Chat Completions and all that speak like it: Azure, vLLM, SGLang, llama.cpp, TGI, Groq, OpenRouter,
    /// DeepSeek, xAI, Mistral, Perplexity, GPUStack, Writer.
    OpenAiChat,
    /// OpenAI Responses: OpenAI, Azure, xAI, OpenRouter, vLLM.
    OpenAiResponses,
    /// Anthropic Messages: Anthropic, its resellers, llama.cpp, vLLM.
    Anthropic,
    /// Cohere v2 chat.
    Cohere,
}

impl Dialect {
    /// Which end of a stream this dialect shows.
    pub fn sees(self) -> Sees {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic | Self::Cohere => Sees::Marker,
        }
    }

    pub(crate) fn framing(self) -> Framing {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic | Self::Cohere => {
                Framing::Sse(Sse::new().fields(&["error"]).bare_json(true))
            }
        }
    }

    pub(crate) fn reading(self) -> Reading {
        match self {
            Self::OpenAiChat => Reading::OpenAiChat(openai_chat::Reader::default()),
            Self::OpenAiResponses => Reading::OpenAiResponses(openai_responses::Reader::default()),
            Self::Anthropic => Reading::Anthropic(anthropic::Reader::default()),
            Self::Cohere => Reading::Cohere(cohere::Reader::default()),
        }
    }
}

/// The clearest sign of a good end that a dialect gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sees {
    /// A last event that every whole stream has ([`Chunk::terminal`](crate::Chunk)); and finish reasons before it.
    Marker,
    /// Finish reasons alone.
    Finish,
}

/// What a framing found that a dialect may understand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payload<'a> {
    /// The event's name; empty if it has none.
    pub(crate) name: &'a [u8],
    /// Without white space at its beginning.
    pub(crate) data: &'a [u8],
}

/// Whether a dialect knows a payload's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Yes,
    /// A chunk that says nothing to us: providers add kinds of events at any time.
    No,
}

/// The reading of one stream, with what it has to remember.
#[derive(Debug)]
pub(crate) enum Reading {
    OpenAiChat(openai_chat::Reader),
    OpenAiResponses(openai_responses::Reader),
    Anthropic(anthropic::Reader),
    Cohere(cohere::Reader),
}

impl Reading {
    /// Puts into `chunk` what a payload says.
    #[inline]
    pub(crate) fn read<'a>(&mut self, payload: Payload<'a>, chunk: &mut Chunk<'a>) -> Parsed<Known> {
        match self {
            Self::OpenAiChat(reader) => reader.read(payload, chunk),
            Self::OpenAiResponses(reader) => reader.read(payload, chunk),
            Self::Anthropic(reader) => reader.read(payload, chunk),
            Self::Cohere(reader) => reader.read(payload, chunk),
        }
    }
}
