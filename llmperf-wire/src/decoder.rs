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
    plan: Plan,
    framing: Framing,
    reading: Reading,
    limit: Option<usize>,
    /// The dialect of the reading.
    dialect: Option<Dialect>,
    form: Option<Form>,
    /// What the bytes have still to show.
    open: Option<Box<Open>>,
    refusal: Option<Box<Refusal>>,
    counts: Counts,
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

#[derive(Debug)]
enum Open {
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
        Self::planned(Plan::Stream(dialect))
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
        let mut decoder = Self {
            plan,
            framing: Framing::Blind,
            reading: Reading::Unknown,
            limit: None,
            dialect: None,
            form: None,
            open: None,
            refusal: None,
            counts: Counts::default(),
        };
        decoder.begin();
        decoder
    }

    /// Sets how many bytes of one event may be held; 1 MiB by default. A larger event is dropped and counted.
    #[must_use = "the setter consumes the decoder and returns it"]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = Some(bytes);
        self.begin();
        self
    }

    /// Sets the HTTP status that the answer came with. From 400 on a whole answer reports a failure, whatever it says,
    /// and the status is its number unless it has one of its own.
    #[must_use = "the setter consumes the decoder and returns it"]
    pub fn status(mut self, status: u16) -> Self {
        if status >= 400 {
            self.refusal.get_or_insert_default().status = Some(status);
            self.begin();
        }
        self
    }

    /// Sets the kind of error that the head of the answer names, as AWS has it in `x-amzn-errortype`. It is the
    /// failure's type unless the body names one.
    #[must_use = "the setter consumes the decoder and returns it"]
    pub fn error_kind(mut self, kind: &str) -> Self {
        self.refusal.get_or_insert_default().set_kind(kind);
        self.begin();
        self
    }

    /// The dialect that it reads; none while the answer has not shown it, or if it has none.
    pub fn dialect(&self) -> Option<Dialect> {
        match &self.reading {
            Reading::Whole(reader) => reader.dialect(),
            _ => self.dialect,
        }
    }

    /// What the answer is; none while it has not shown it.
    pub fn form(&self) -> Option<Form> {
        match &self.reading {
            Reading::Whole(reader) if reader.is_stream() => Some(Form::Stream),
            _ => self.form,
        }
    }

    /// The clearest sign of a good end that is sure to come: that of the dialect which is known or expected.
    pub fn sees(&self) -> Sees {
        match self.plan {
            Plan::Stream(dialect) | Plan::Sniff { hint: Some(dialect), .. } => dialect.sees(),
            Plan::Whole(_) => Sees::Marker,
            Plan::Sniff { hint: None, .. } => Sees::Finish,
        }
    }

    /// What it met so far besides well-formed events that it knows.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes that are held at present because their event is not whole; never more than the limit (or the few that have
    /// not shown yet what they begin).
    pub fn held(&self) -> usize {
        match self.open.as_deref() {
            Some(Open::Form(opening)) => opening.held(),
            _ => self.framing.held(),
        }
    }

    /// Takes the next bytes of the answer and gives every event that they complete to `sink`, in order.
    pub fn push(&mut self, read: &[u8], mut sink: impl FnMut(Event<'_>)) {
        if self.open.is_some() {
            return self.push_open(read, &mut sink);
        }
        let Self { framing, reading, refusal, counts, .. } = self;
        let refusal = refusal.as_deref();
        framing.push(read, |frame| interpret(frame, reading, refusal, counts, &mut sink));
    }

    /// Says that the answer has ended: gives the event that it left unfinished, if there is one, to `sink`, and makes
    /// the decoder ready for another answer. The counts go on.
    pub fn finish(&mut self, mut sink: impl FnMut(Event<'_>)) {
        if let Some(Open::Form(opening)) = self.open.as_deref_mut()
            && let Some((form, held)) = opening.finish()
        {
            self.settle(form);
            self.push_framed(&held, &mut sink);
        }
        let Self { framing, reading, refusal, counts, .. } = self;
        let refusal = refusal.as_deref();
        framing.finish(|frame| interpret(frame, reading, refusal, counts, &mut sink));
        match self.plan {
            // The buffers of its framing are used again.
            Plan::Stream(dialect) => self.reading = dialect.reading(),
            Plan::Whole(_) | Plan::Sniff { .. } => self.begin(),
        }
    }

    /// Makes it ready for an answer.
    fn begin(&mut self) {
        match self.plan {
            Plan::Stream(dialect) => {
                self.frame(dialect.framing(), Form::Stream);
                self.reading = dialect.reading();
                self.dialect = Some(dialect);
            }
            Plan::Whole(hint) => self.expect_whole(hint),
            Plan::Sniff { declared, array_streams, .. } => {
                self.framing = Framing::Blind;
                self.reading = Reading::Unknown;
                self.dialect = None;
                self.form = None;
                self.open = Some(Box::new(Open::Form(Opening::new(declared, array_streams))));
            }
        }
    }

    fn frame(&mut self, framing: Framing, form: Form) {
        self.framing = match self.limit {
            Some(bytes) => framing.limit(bytes),
            None => framing,
        };
        self.form = Some(form);
    }

    fn expect_whole(&mut self, hint: Option<Dialect>) {
        self.frame(Framing::Whole(Whole::new()), Form::Whole);
        self.reading = Reading::Whole(whole::Reader::new(hint, self.refusal.is_some()));
    }

    /// The same as `push` while form or dialect are not known.
    #[cold]
    fn push_open(&mut self, read: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let mut rest = read;
        if let Some(Open::Form(opening)) = self.open.as_deref_mut() {
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
        let hint = match self.plan {
            Plan::Sniff { hint, .. } => hint,
            Plan::Stream(_) | Plan::Whole(_) => None,
        };
        self.open = None;
        let framing = match form {
            sniff::Form::Whole => return self.expect_whole(hint),
            sniff::Form::Blind => {
                self.form = Some(Form::Blind);
                return;
            }
            sniff::Form::ServerSentEvents => Framing::Sse(Sse::new().fields(&["error"]).bare_json(true)),
            sniff::Form::Lines => Framing::Lines(Lines::new()),
            sniff::Form::Array | sniff::Form::Binary => Framing::Blind,
        };
        self.frame(framing, Form::Stream);
        self.dialect = hint;
        self.reading = hint.map_or(Reading::Unknown, Dialect::reading);
        self.open = Some(Box::new(Open::Dialect(Signs::default())));
    }

    /// Takes bytes whose form is known, and looks out for their dialect.
    fn push_framed(&mut self, read: &[u8], sink: &mut impl FnMut(Event<'_>)) {
        let Self { framing, reading, dialect, refusal, counts, open, .. } = self;
        let refusal = refusal.as_deref();
        framing.push(read, |frame| {
            if let (Frame::Event { name, data, .. }, Some(Open::Dialect(signs))) = (frame, open.as_deref_mut()) {
                let shown = signs.look(name, data);
                if let Some(shown) = shown.filter(|shown| dialect.is_none_or(|expected| !expected.reads_like(*shown))) {
                    *dialect = Some(shown);
                    *reading = shown.reading();
                }
                if shown.is_some() || signs.is_over() {
                    *open = None;
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
            sink(Event::Chunk(&chunk));
        }
        Err(Malformed) => {
            counts.malformed += 1;
            sink(Event::Malformed(payload.data));
        }
    }
}
