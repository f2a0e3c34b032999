//! The decoder of one stream: a framing and a reading put together, and the count of what made no event.

use crate::dialect::{Dialect, Known, Payload, Reading, exception};
use crate::event::{Chunk, Event, Origin};
use crate::framing::{Frame, Framing};
use crate::json::Malformed;

/// Turns the bytes of one streamed answer into [`Event`]s.
///
/// Nothing is allocated per event once the buffers have grown, and what is held is bounded by the
/// [`limit`](Self::limit), whatever comes in.
#[derive(Debug)]
pub struct Decoder {
    dialect: Dialect,
    framing: Framing,
    reading: Reading,
    counts: Counts,
}

/// What a decoder met besides well-formed events that it knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Comments.
    pub comments: u64,
    /// Payloads that do not parse.
    pub malformed: u64,
    /// Events of a kind that the dialect does not know.
    pub unknown: u64,
    /// Events that passed the limit and were dropped.
    pub oversized: u64,
    /// Events that the end of the stream left unterminated and that were read all the same.
    pub unterminated: u64,
    /// Streams whose bytes were not of the dialect's framing from somewhere on, and were dropped from there.
    pub broken: u64,
}

impl Decoder {
    /// A decoder for one stream.
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, framing: dialect.framing(), reading: dialect.reading(), counts: Counts::default() }
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

    /// What it met so far besides well-formed events that it knows.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes that are held at present because their event is not whole; never more than the limit.
    pub fn held(&self) -> usize {
        self.framing.held()
    }

    /// Takes the next bytes of the stream and gives every event that they complete to `sink`, in order.
    pub fn push(&mut self, read: &[u8], mut sink: impl FnMut(Event<'_>)) {
        let Self { framing, reading, counts, .. } = self;
        framing.push(read, |frame| interpret(frame, reading, counts, &mut sink));
    }

    /// Says that the stream has ended: gives the event that it left unfinished, if there is one, to `sink`, and makes
    /// the decoder ready for another stream. The counts go on.
    pub fn finish(&mut self, mut sink: impl FnMut(Event<'_>)) {
        let Self { framing, reading, counts, .. } = self;
        framing.finish(|frame| interpret(frame, reading, counts, &mut sink));
        self.reading = self.dialect.reading();
    }
}

#[inline]
fn interpret(frame: Frame<'_>, reading: &mut Reading, counts: &mut Counts, sink: &mut impl FnMut(Event<'_>)) {
    let (name, data, origin, unterminated) = match frame {
        Frame::Event { name, data, unterminated } => (name, data, Origin::Event, unterminated),
        Frame::Field { name, value } => (name.as_bytes(), value, Origin::Field, false),
        Frame::Bare { data, unterminated } => ([].as_slice(), data, Origin::Bare, unterminated),
        Frame::Comment(text) => {
            counts.comments += 1;
            return sink(Event::Comment(text));
        }
        Frame::Oversized => {
            counts.oversized += 1;
            return sink(Event::Oversized);
        }
        Frame::End => {
            let mut chunk = Chunk::new(Origin::Close, false);
            chunk.terminal = true;
            return sink(Event::Chunk(&chunk));
        }
        Frame::Broken => {
            counts.broken += 1;
            return sink(Event::Broken);
        }
        Frame::Exception { name, message, data, unterminated } => {
            counts.unterminated += u64::from(unterminated);
            let mut chunk = Chunk::new(Origin::Event, unterminated);
            chunk.failure = Some(exception(name, message, data));
            return sink(Event::Chunk(&chunk));
        }
    };
    counts.unterminated += u64::from(unterminated);
    let mut chunk = Chunk::new(origin, unterminated);
    let payload = Payload { name, data: data.trim_ascii_start() };
    match reading.read(payload, &mut chunk) {
        Ok(known) => {
            counts.unknown += u64::from(known == Known::No);
            sink(Event::Chunk(&chunk));
        }
        Err(Malformed) => {
            counts.malformed += 1;
            sink(Event::Malformed(payload.data));
        }
    }
}
