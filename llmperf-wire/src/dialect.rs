//! Dialects, and the decoder that speaks one.
//!
//! A dialect is a framing (how bytes become payloads) and a reading (what a payload says). Each reading is one module;
//! all of them report the same [`Event`]s.

use crate::event::Event;
use crate::openai_chat;
use crate::sse::{Frame, Sse};

/// A provider's streaming protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI Chat Completions and all that speak like it: Azure, vLLM, SGLang, llama.cpp, TGI, Groq, OpenRouter,
    /// DeepSeek, xAI, Mistral, Perplexity, GPUStack, Writer.
    OpenAiChat,
}

impl Dialect {
    /// Which end of a stream this dialect shows.
    pub fn sees(self) -> Sees {
        match self {
            Self::OpenAiChat => Sees::Marker,
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

/// Turns the bytes of one streamed answer into [`Event`]s.
///
/// Nothing is allocated per event once the buffers have grown, and what is held is bounded by the
/// [`limit`](Self::limit), whatever comes in.
#[derive(Debug)]
pub struct Decoder {
    dialect: Dialect,
    framing: Sse,
    reader: openai_chat::Reader,
    counts: Counts,
}

/// What a decoder met besides well-formed events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Comments.
    pub comments: u64,
    /// Payloads that do not parse.
    pub malformed: u64,
    /// Events that passed the limit and were dropped.
    pub oversized: u64,
    /// Events that the end of the stream left unterminated and that were read all the same.
    pub unterminated: u64,
}

impl Decoder {
    /// A decoder for one stream.
    pub fn new(dialect: Dialect) -> Self {
        let framing = match dialect {
            Dialect::OpenAiChat => Sse::new().fields(&["error"]).bare_json(true),
        };
        Self { dialect, framing, reader: openai_chat::Reader::default(), counts: Counts::default() }
    }

    /// Sets how many bytes of one event may be held; 1 MiB by default. A larger event is dropped and counted.
    #[must_use = "the setter consumes the decoder and returns it"]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.framing = self.framing.limit(bytes);
        self
    }

    /// The dialect that it speaks.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// What it met so far besides well-formed events.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes that are held at present because their event is not whole; never more than the limit.
    pub fn held(&self) -> usize {
        self.framing.held()
    }

    /// Takes the next bytes of the stream and gives every event that they complete to `sink`, in order.
    pub fn push(&mut self, read: &[u8], mut sink: impl FnMut(Event<'_>)) {
        let Self { framing, reader, counts, .. } = self;
        framing.push(read, |frame| interpret(frame, reader, counts, &mut sink));
    }

    /// Says that the stream has ended: gives the event that it left unfinished, if there is one, to `sink`, and makes
    /// the decoder ready for another stream. The counts go on.
    pub fn finish(&mut self, mut sink: impl FnMut(Event<'_>)) {
        let Self { framing, reader, counts, .. } = self;
        framing.finish(|frame| interpret(frame, reader, counts, &mut sink));
        *reader = openai_chat::Reader::default();
    }
}

fn interpret(
    frame: Frame<'_>,
    reader: &mut openai_chat::Reader,
    counts: &mut Counts,
    sink: &mut impl FnMut(Event<'_>),
) {
    match frame {
        Frame::Comment(text) => {
            counts.comments += 1;
            sink(Event::Comment(text));
            return;
        }
        Frame::Oversized => {
            counts.oversized += 1;
            sink(Event::Oversized);
            return;
        }
        Frame::Event { unterminated: true, .. } | Frame::Bare { unterminated: true, .. } => counts.unterminated += 1,
        Frame::Event { .. } | Frame::Bare { .. } | Frame::Field { .. } => {}
    }
    reader.interpret(frame, counts, sink);
}
