//! Dialects: a framing (how bytes become payloads) and a reading (what a payload says). Each reading is one module; all
//! of them report the same events.

pub(crate) mod anthropic;
pub(crate) mod bedrock;
pub(crate) mod cohere;
pub(crate) mod failure;
mod finish;
pub(crate) mod gemini;
pub(crate) mod ollama;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
mod shape;

use crate::event::Chunk;
use crate::framing::{EventStream, Framing, JsonArray, Lines, Sse};
use crate::json::Parsed;
use crate::whole;

pub(crate) use bedrock::exception;

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
    /// Google's `streamGenerateContent` as server-sent events (`alt=sse`): Gemini API, Vertex AI.
    Gemini,
    /// The same as one JSON array that grows.
    GeminiArray,
    /// Ollama's own protocol, chat and generate.
    Ollama,
    /// Amazon Bedrock's `ConverseStream`.
    BedrockConverse,
}

impl Dialect {
    /// Which end of a stream this dialect shows.
    pub fn sees(self) -> Sees {
        match self {
            Self::OpenAiChat
            | Self::OpenAiResponses
            | Self::Anthropic
            | Self::Cohere
            | Self::GeminiArray
            | Self::Ollama
            | Self::BedrockConverse => Sees::Marker,
            Self::Gemini => Sees::Finish,
        }
    }

    /// True if the payloads of both are read alike.
    pub(crate) fn reads_like(self, other: Self) -> bool {
        self == other || self.streams_in_array() && other.streams_in_array()
    }

    /// True if an array can be its stream.
    pub(crate) fn streams_in_array(self) -> bool {
        matches!(self, Self::Gemini | Self::GeminiArray)
    }

    pub(crate) fn framing(self) -> Framing {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses | Self::Anthropic | Self::Cohere => {
                Framing::Sse(Sse::new().fields(&["error"]).bare_json(true))
            }
            Self::Gemini => Framing::Sse(Sse::new().bare_json(true)),
            Self::GeminiArray => Framing::JsonArray(JsonArray::new()),
            Self::Ollama => Framing::Lines(Lines::new()),
            Self::BedrockConverse => Framing::EventStream(EventStream::new()),
        }
    }

    pub(crate) fn reading(self) -> Reading {
        match self {
            Self::OpenAiChat => Reading::OpenAiChat(openai_chat::Reader::default()),
            Self::OpenAiResponses => Reading::OpenAiResponses(openai_responses::Reader::default()),
            Self::Anthropic => Reading::Anthropic(anthropic::Reader::default()),
            Self::Cohere => Reading::Cohere(cohere::Reader::default()),
            Self::Gemini => Reading::Gemini(gemini::Reader::default()),
            Self::GeminiArray => Reading::GeminiArray(gemini::Reader::default()),
            Self::Ollama => Reading::Ollama(ollama::Reader::default()),
            Self::BedrockConverse => Reading::BedrockConverse(bedrock::Reader::default()),
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
    Gemini(gemini::Reader),
    GeminiArray(gemini::Reader),
    Ollama(ollama::Reader),
    BedrockConverse(bedrock::Reader),
    /// An answer that is not streamed.
    Whole(Box<whole::Reader>),
    /// A dialect that has not shown itself.
    Unknown,
}

impl Reading {
    /// The dialect that it reads, if that is known.
    #[inline]
    pub(crate) fn dialect(&self) -> Option<Dialect> {
        Some(match self {
            Self::OpenAiChat(_) => Dialect::OpenAiChat,
            Self::OpenAiResponses(_) => Dialect::OpenAiResponses,
            Self::Anthropic(_) => Dialect::Anthropic,
            Self::Cohere(_) => Dialect::Cohere,
            Self::Gemini(_) => Dialect::Gemini,
            Self::GeminiArray(_) => Dialect::GeminiArray,
            Self::Ollama(_) => Dialect::Ollama,
            Self::BedrockConverse(_) => Dialect::BedrockConverse,
            Self::Whole(reader) => return reader.dialect(),
            Self::Unknown => return None,
        })
    }

    /// Puts into `chunk` what a payload says.
    #[inline]
    pub(crate) fn read<'a>(&mut self, payload: Payload<'a>, chunk: &mut Chunk<'a>) -> Parsed<Known> {
        match self {
            Self::OpenAiChat(reader) => reader.read(payload, chunk),
            Self::OpenAiResponses(reader) => reader.read(payload, chunk),
            Self::Anthropic(reader) => reader.read(payload, chunk),
            Self::Cohere(reader) => reader.read(payload, chunk),
            Self::Gemini(reader) | Self::GeminiArray(reader) => reader.read(payload, chunk),
            Self::Ollama(reader) => reader.read(payload.data, chunk),
            Self::BedrockConverse(reader) => reader.read(payload, chunk),
            Self::Whole(reader) => reader.read(payload.data, chunk),
            Self::Unknown => whole::read_unknown(payload, chunk),
        }
    }

    /// Puts into `chunk` what the payload says that `ahead` begins with, if that can be told before its end is known;
    /// gives its length.
    #[inline]
    pub(crate) fn read_ahead<'a>(&mut self, ahead: &'a [u8], chunk: &mut Chunk<'a>) -> Option<usize> {
        match self {
            Self::GeminiArray(reader) => reader.read_ahead(ahead, chunk),
            _ => None,
        }
    }
}
