//! The decoder of one answer: a framing and a reading put together, and the count of what made no event.

mod answer;

use crate::dialect::{Dialect, Known, Payload, Reading, Sees, exception};
use crate::endpoint::Endpoint;
use crate::event::{Chunk, Event, Origin};
use crate::framing::{self, Frame, Framing};
use crate::json::Malformed;
use crate::sniff::Declared;
use crate::whole::Refusal;
use answer::{Answer, Open, Plan};

/// Turns the bytes of one answer into [`Event`]s.
///
/// The answer is a stream of a [known dialect](Self::new), or shows by itself [what it is](Self::sniffing): a stream, an
/// answer given whole, an error. A whole answer makes one chunk, as if it were the only event of a stream.
///
/// Nothing is allocated per event once the buffers have grown, and what is held is bounded by the
/// [`limit`](Self::limit), whatever comes in.
#[derive(Debug)]
pub struct Decoder {
    framing: Framing,
    reading: Reading,
    counts: Counts,
    /// What an answer needs that is not just a stream of a known dialect.
    answer: Option<Box<Answer>>,
}

/// What an answer turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// A stream of events.
    Stream,
    /// One JSON value.
    Whole,
    /// Nothing that can be read: a page for people, compressed bytes.
    Blind,
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
    /// A decoder for one stream of a dialect that is known.
    pub fn new(dialect: Dialect) -> Self {
        Self { framing: dialect.framing(), reading: dialect.reading(), counts: Counts::default(), answer: None }
    }

    /// A decoder for one answer that is not streamed. What it is shows in it; `hint` decides where it does not.
    pub fn whole(hint: Option<Dialect>) -> Self {
        Self::planned(Plan::Whole(hint))
    }

    /// A decoder for one answer of which its content type, its first bytes and its first events say what it is.
    ///
    /// The dialect in `hint`, which the request was meant for, holds unless the answer contradicts it.
    ///
    /// ```
    /// use llmperf_wire::{Decoder, Dialect, Event, Form};
    ///
    /// // A stream was asked for, an error came.
    /// let mut decoder = Decoder::sniffing(Some(Dialect::OpenAiChat), Some("application/json")).status(429);
    /// let mut error_type = None;
    /// decoder.push(br#"{"error":{"code":"rate_limit_exceeded","message":"Slow down."}}"#, |event| {
    ///     if let Event::Chunk(chunk) = event {
    ///         error_type = chunk.failure.map(|failure| failure.error_type().into_owned());
    ///     }
    /// });
    /// assert_eq!(decoder.form(), Some(Form::Whole));
    /// assert_eq!(error_type.as_deref(), Some("rate_limit_exceeded"));
    /// ```
    pub fn sniffing(hint: Option<Dialect>, content_type: Option<&str>) -> Self {
        let array_streams = hint.is_none_or(Dialect::streams_in_array);
        Self::planned(Plan::Sniff { hint, declared: Declared::of(content_type), array_streams })
    }

    /// The same for the answer of a recognised endpoint.
    pub fn answer_of(endpoint: &Endpoint, content_type: Option<&str>) -> Self {
        let hint = endpoint.dialect();
        let array_streams = hint.is_some_and(Dialect::streams_in_array);
        Self::planned(Plan::Sniff { hint, declared: Declared::of(content_type), array_streams })
    }

    /// Sets how many bytes of one event may be held; 1 MiB by default. A larger event is dropped and counted.
    #[must_use = "the setter consumes the decoder and returns it"]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.framing = self.framing.limit(bytes);
        if let Some(answer) = &mut self.answer {
            answer.limit = Some(bytes);
        }
        self
    }

    /// Sets the HTTP status that the answer came with. From 400 on a whole answer reports a failure, whatever it says,
    /// and the status is the number of any failure that has none of its own.
    #[must_use = "the setter consumes the decoder and returns it"]
    pub fn status(self, status: u16) -> Self {
        if status < 400 { self } else { self.refused(|refusal| refusal.status = Some(status)) }
    }

    /// Sets the kind of error that the head of the answer names, as AWS has it in `x-amzn-errortype`. It is the type of
    /// a failure that has neither type nor code of its own.
    #[must_use = "the setter consumes the decoder and returns it"]
    pub fn error_kind(self, kind: &str) -> Self {
        self.refused(|refusal| refusal.set_kind(kind))
    }

    /// The dialect that it reads; none while the answer has not shown it, or if it has none.
    pub fn dialect(&self) -> Option<Dialect> {
        self.reading.dialect()
    }

    /// What the answer is; none while it has not shown it.
    pub fn form(&self) -> Option<Form> {
        match &self.reading {
            Reading::Whole(reader) if reader.is_stream() => Some(Form::Stream),
            _ => self.answer.as_ref().map_or(Some(Form::Stream), |answer| answer.form),
        }
    }

    /// The clearest sign of a good end that is sure to come: that of the dialect which is known or expected.
    pub fn sees(&self) -> Sees {
        match self.answer.as_ref().map(|answer| answer.plan) {
            None => self.dialect().map_or(Sees::Finish, Dialect::sees),
            Some(Plan::Stream(dialect) | Plan::Sniff { hint: Some(dialect), .. }) => dialect.sees(),
            Some(Plan::Whole(_)) => Sees::Marker,
            Some(Plan::Sniff { hint: None, .. }) => Sees::Finish,
        }
    }

    /// What it met so far besides well-formed events that it knows.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes that are held at present because their event is not whole; never more than the limit (or the few that have
    /// not shown yet what they begin).
    pub fn held(&self) -> usize {
        match self.answer.as_ref().map(|answer| &answer.open) {
            Some(Open::Form(opening)) => opening.held(),
            _ => self.framing.held(),
        }
    }

    /// Takes the next bytes of the answer and gives every event that they complete to `sink`, in order.
    pub fn push(&mut self, read: &[u8], mut sink: impl FnMut(Event<'_>)) {
        if self.answer.is_some() {
            return self.push_answer(read, &mut sink);
        }
        let Self { framing, reading, counts, .. } = self;
        framing.push(read, Interpreter { reading, open: None, refusal: None, counts, sink: &mut sink });
    }

    /// Says that the answer has ended: gives the event that it left unfinished, if there is one, to `sink`, and makes
    /// the decoder ready for another answer. The counts go on.
    pub fn finish(&mut self, mut sink: impl FnMut(Event<'_>)) {
        if let Some(Open::Form(opening)) = self.answer.as_mut().map(|answer| &mut answer.open)
            && let Some((form, held)) = opening.finish()
        {
            self.settle(form);
            self.push_framed(&held, &mut sink);
        }
        let Self { framing, reading, answer, counts } = self;
        let (open, refusal) = match answer.as_deref_mut() {
            None => (None, None),
            Some(Answer { refusal, open, .. }) => (Some(open), refusal.as_ref()),
        };
        framing.finish(Interpreter { reading, open, refusal, counts, sink: &mut sink });
        self.begin();
    }
}

impl From<Dialect> for Decoder {
    fn from(dialect: Dialect) -> Self {
        Self::new(dialect)
    }
}

/// Makes events of what the framing finds.
struct Interpreter<'d, S> {
    reading: &'d mut Reading,
    /// What the answer has still to show, if that is not known beforehand.
    open: Option<&'d mut Open>,
    refusal: Option<&'d Refusal>,
    counts: &'d mut Counts,
    sink: &'d mut S,
}

impl<S: FnMut(Event<'_>)> framing::Sink for Interpreter<'_, S> {
    #[inline]
    fn frame(&mut self, frame: Frame<'_>) {
        let Self { reading, open, refusal, counts, sink } = self;
        if let Some(open) = open {
            open.look(frame, reading);
        }
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
                if let Some(refusal) = refusal {
                    refusal.complete(&mut chunk, matches!(reading, Reading::Whole(_)));
                }
                chunk.dialect = reading.dialect();
                sink(Event::Chunk(&chunk));
            }
            Err(Malformed) => {
                counts.malformed += 1;
                sink(Event::Malformed(payload.data));
            }
        }
    }

    #[inline]
    fn ahead(&mut self, ahead: &[u8]) -> Option<usize> {
        let mut chunk = Chunk::new(Origin::Event, false);
        let length = self.reading.read_ahead(ahead, &mut chunk)?;
        chunk.dialect = self.reading.dialect();
        (self.sink)(Event::Chunk(&chunk));
        Some(length)
    }
}
