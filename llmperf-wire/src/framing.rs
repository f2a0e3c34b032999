//! Framings: how the bytes of a stream, cut anywhere, become payloads.
//!
//! Each is a push parser of its own file, all of them report the same [`Frame`]s, none looks into a payload. What lies
//! whole in one read is lent from it; only what a cut has parted is kept, up to a limit.

mod event_stream;
mod json_array;
mod lines;
mod sse;
mod whole;

pub use event_stream::EventStream;
pub use json_array::JsonArray;
pub use lines::Lines;
pub use sse::Sse;
pub(crate) use whole::Whole;

/// How many bytes of one event may be held, unless it is said otherwise.
const DEFAULT_LIMIT: usize = 1 << 20;

/// What a framing found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame<'a> {
    /// An event with data: a server-sent event at its empty line, a line, an element of an array, a binary message.
    Event {
        /// Its name or type; empty when it has none (the rules of server-sent events then call it `message`).
        name: &'a [u8],
        /// Its payload; data lines of a server-sent event are joined by LF.
        data: &'a [u8],
        /// True if the stream ended before the event was whole.
        unterminated: bool,
    },
    /// A comment line without its colon and the blank after it, at its line end.
    Comment(&'a [u8]),
    /// A field that was asked for by [`Sse::fields`], at its line end.
    Field {
        /// The field's name.
        name: &'static str,
        /// The field's value.
        value: &'a [u8],
    },
    /// A JSON object that stands between the events without a field name, if asked for by [`Sse::bare_json`], or in
    /// place of the array.
    Bare {
        /// The object's text.
        data: &'a [u8],
        /// True if the stream ended before the object did.
        unterminated: bool,
    },
    /// A message of the event stream that says what failed: an exception, or an error.
    Exception {
        /// Its type or code.
        name: &'a [u8],
        /// What its headers say of it; an exception says it in its payload.
        message: &'a [u8],
        /// Its payload.
        data: &'a [u8],
        /// True if the stream ended before the message was whole.
        unterminated: bool,
    },
    /// An event, field or comment passed the limit; it and the rest of its event are dropped.
    Oversized,
    /// The array was closed: nothing more belongs to it.
    End,
    /// The bytes are not of this framing, or it can no longer be told where events begin: the rest is dropped.
    Broken,
}

/// Whom a framing gives its frames to.
pub(crate) trait Sink {
    /// Takes a frame.
    fn frame(&mut self, frame: Frame<'_>);

    /// Takes the event that `ahead` begins with, if the sink can tell its end faster than the framing; says how long it
    /// is.
    #[inline]
    fn ahead(&mut self, _ahead: &[u8]) -> Option<usize> {
        None
    }
}

impl<F: FnMut(Frame<'_>)> Sink for F {
    #[inline]
    fn frame(&mut self, frame: Frame<'_>) {
        self(frame);
    }
}

/// The framing of a decoder.
#[derive(Debug)]
pub(crate) enum Framing {
    Sse(Sse),
    Lines(Lines),
    Whole(Box<Whole>),
    /// Takes all and gives nothing.
    Blind,
    JsonArray(JsonArray),
    EventStream(EventStream),
}

impl Framing {
    pub(crate) fn limit(self, bytes: usize) -> Self {
        match self {
            Self::Sse(sse) => Self::Sse(sse.limit(bytes)),
            Self::Lines(lines) => Self::Lines(lines.limit(bytes)),
            Self::Whole(whole) => Self::Whole(Box::new(whole.limit(bytes))),
            Self::Blind => Self::Blind,
            Self::JsonArray(array) => Self::JsonArray(array.limit(bytes)),
            Self::EventStream(messages) => Self::EventStream(messages.limit(bytes)),
        }
    }

    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Sse(sse) => sse.held(),
            Self::Lines(lines) => lines.held(),
            Self::Whole(whole) => whole.held(),
            Self::Blind => 0,
            Self::JsonArray(array) => array.held(),
            Self::EventStream(messages) => messages.held(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, read: &[u8], mut sink: impl Sink) {
        match self {
            Self::Sse(sse) => sse.push(read, |frame| sink.frame(frame)),
            Self::Lines(lines) => lines.push(read, |frame| sink.frame(frame)),
            Self::Whole(whole) => whole.push(read, |frame| sink.frame(frame)),
            Self::Blind => {}
            Self::JsonArray(array) => array.push_to(read, &mut sink),
            Self::EventStream(messages) => messages.push(read, |frame| sink.frame(frame)),
        }
    }

    pub(crate) fn finish(&mut self, mut sink: impl Sink) {
        match self {
            Self::Sse(sse) => sse.finish(|frame| sink.frame(frame)),
            Self::Lines(lines) => lines.finish(|frame| sink.frame(frame)),
            Self::Whole(whole) => whole.finish(|frame| sink.frame(frame)),
            Self::Blind => {}
            Self::JsonArray(array) => array.finish(|frame| sink.frame(frame)),
            Self::EventStream(messages) => messages.finish(|frame| sink.frame(frame)),
        }
    }
}
