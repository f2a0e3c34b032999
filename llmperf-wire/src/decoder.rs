//! The decoder of one answer: a framing and a reading put together, and the count of what made no event.

use crate::dialect::{Dialect, Known, Payload, Reading, Sees, exception};
use crate::endpoint::Endpoint;
use crate::event::{Chunk, Event, Origin};
use crate::framing::{EventStream, Frame, Framing, JsonArray, Lines, Sse, Whole};
use crate::json::Malformed;
use crate::sniff::{self, Declared, Opening, Signs};
use crate::whole::{self, Refusal};

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

/// An answer whose head is known, or that has to show what it is.
#[derive(Debug)]
struct Answer {
    plan: Plan,
    limit: Option<usize>,
    refusal: Option<Refusal>,
    form: Option<Form>,
    open: Open,
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

/// How each answer is begun.
#[derive(Debug, Clone, Copy)]
enum Plan {
    Stream(Dialect),
    Whole(Option<Dialect>),
    Sniff {
        hint: Option<Dialect>,
        declared: Declared,
        /// An array can be a stream.
        array_streams: bool,
    },
}

/// What the bytes have still to show.
#[derive(Debug)]
enum Open {
    Nothing,
    Form(Opening),
    Dialect(Signs),
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

    fn planned(plan: Plan) -> Self {
        let answer = Answer { plan, limit: None, refusal: None, form: None, open: Open::Nothing };
        let mut decoder = Self {
            framing: Framing::Blind,
            reading: Reading::Unknown,
            counts: Counts::default(),
            answer: Some(Box::new(answer)),
        };
        decoder.begin();
        decoder
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

    fn refused(mut self, set: impl FnOnce(&mut Refusal)) -> Self {
        let plan = self.dialect().map_or(Plan::Whole(None), Plan::Stream);
        let answer = self.answer.get_or_insert_with(|| {
            Box::new(Answer { plan, limit: None, refusal: None, form: Some(Form::Stream), open: Open::Nothing })
        });
        set(answer.refusal.get_or_insert_default());
        if let Reading::Whole(reader) = &mut self.reading {
            reader.refuse();
        }
        self
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
        framing.push(read, |frame| interpret(frame, reading, None, counts, &mut sink));
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
        let Self { framing, reading, answer, counts, .. } = self;
        let refusal = answer.as_ref().and_then(|answer| answer.refusal.as_ref());
        framing.finish(|frame| interpret(frame, reading, refusal, counts, &mut sink));
        self.begin();
    }

    /// Makes it ready for an answer; the buffers of a known framing are used again.
    fn begin(&mut self) {
        match self.answer.as_ref().map(|answer| answer.plan) {
            None | Some(Plan::Stream(_)) => self.reading = self.dialect().map_or(Reading::Unknown, Dialect::reading),
            Some(Plan::Whole(hint)) => self.expect_whole(hint),
            Some(Plan::Sniff { declared, array_streams, .. }) => {
                self.framing = Framing::Blind;
                self.reading = Reading::Unknown;
                if let Some(answer) = &mut self.answer {
                    answer.form = None;
                    answer.open = Open::Form(Opening::new(declared, array_streams));
                }
            }
        }
    }

    fn frame(&mut self, framing: Framing, form: Form) {
        let limit = self.answer.as_mut().and_then(|answer| {
            answer.form = Some(form);
            answer.limit
        });
        self.framing = match limit {
            Some(bytes) => framing.limit(bytes),
            None => framing,
        };
    }

    fn expect_whole(&mut self, hint: Option<Dialect>) {
        let refused = self.answer.as_ref().is_some_and(|answer| answer.refusal.is_some());
        self.frame(Framing::Whole(Box::new(Whole::new())), Form::Whole);
        self.reading = Reading::Whole(Box::new(whole::Reader::new(hint, refused)));
    }

    /// The same as `push` where an answer has still to show something, or comes with a status.
    #[inline(never)]
    fn push_answer(&mut self, read: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let mut rest = read;
        if let Some(Open::Form(opening)) = self.answer.as_mut().map(|answer| &mut answer.open) {
            let Some((form, held, behind)) = opening.push(read) else {
                return;
            };
            self.settle(form);
            self.push_framed(&held, sink);
            rest = behind;
        }
        self.push_framed(rest, sink);
    }

    /// The form has become clear.
    fn settle(&mut self, form: sniff::Form) {
        let Some(answer) = &mut self.answer else {
            return;
        };
        let Plan::Sniff { hint, .. } = answer.plan else {
            return;
        };
        answer.open = Open::Nothing;
        let (framing, dialect) = match form {
            sniff::Form::Whole => return self.expect_whole(hint),
            // An error, in the array that was expected.
            sniff::Form::Array if answer.refusal.is_some() => return self.expect_whole(hint),
            sniff::Form::Blind => return self.frame(Framing::Blind, Form::Blind),
            sniff::Form::ServerSentEvents => {
                answer.open = Open::Dialect(Signs::default());
                let hint = if hint == Some(Dialect::GeminiArray) { Some(Dialect::Gemini) } else { hint };
                (Framing::Sse(Sse::new().fields(&["error"]).bare_json(true)), hint)
            }
            sniff::Form::Lines => {
                answer.open = Open::Dialect(Signs::default());
                (Framing::Lines(Lines::new()), hint)
            }
            sniff::Form::Array => (Framing::JsonArray(JsonArray::new()), Some(Dialect::GeminiArray)),
            sniff::Form::Binary => (Framing::EventStream(EventStream::new()), Some(Dialect::BedrockConverse)),
        };
        self.frame(framing, Form::Stream);
        self.reading = dialect.map_or(Reading::Unknown, Dialect::reading);
    }

    /// Takes bytes whose form is known, and looks out for their dialect.
    fn push_framed(&mut self, read: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let mut dialect = self.dialect();
        let Self { framing, reading, answer, counts } = self;
        let Some(Answer { refusal, open, .. }) = answer.as_deref_mut() else {
            return;
        };
        let refusal = refusal.as_ref();
        framing.push(read, |frame| {
            if let (Frame::Event { name, data, .. }, Open::Dialect(signs)) = (frame, &mut *open) {
                let shown = signs.look(name, data);
                if let Some(shown) = shown.filter(|shown| dialect.is_none_or(|expected| !expected.reads_like(*shown))) {
                    dialect = Some(shown);
                    *reading = shown.reading();
                }
                if shown.is_some() || signs.is_over() {
                    *open = Open::Nothing;
                }
            }
            interpret(frame, reading, refusal, counts, sink);
        });
    }
}

impl From<Dialect> for Decoder {
    fn from(dialect: Dialect) -> Self {
        Self::new(dialect)
    }
}

#[inline]
fn interpret<'f>(
    frame: Frame<'f>,
    reading: &mut Reading,
    refusal: Option<&'f Refusal>,
    counts: &mut Counts,
    sink: &mut impl FnMut(Event<'_>),
) {
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
