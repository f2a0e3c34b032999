//! The binary event stream of AWS (`application/vnd.amazon.eventstream`) as a push parser: bytes, cut anywhere, in;
//! frames out.
//!
//! A message is: its length and that of its headers (`u32` each, big-endian), the CRC-32 of these eight bytes, the
//! headers, the payload, and the CRC-32 of all before. Both checks are made. Where one fails, or a length or a header
//! makes no sense, nothing tells where the next message begins: that is [`Frame::Broken`], and what follows is dropped.
//! A message that passes the [`limit`](EventStream::limit) is not: its length is known, so just it is left out.

use super::{DEFAULT_LIMIT, Frame};

/// The two lengths and their check.
const PRELUDE: usize = 12;

/// The check at the end of a message.
const CHECK: usize = 4;

/// An incremental parser of event streams.
///
/// What lies whole in one read is lent from it without a copy; only what a cut has parted is kept, in a buffer that is
/// used again.
///
/// ```
/// use llmperf_wire::framing::{EventStream, Frame};
///
/// // A message without headers whose payload is `{}`.
/// let message = b"\0\0\0\x12\0\0\0\0\x7f\x02\x1b\x8b{}/\x92a\xfa";
/// let mut seen = Vec::new();
/// let mut messages = EventStream::new();
/// for read in message.chunks(5) {
///     messages.push(read, |frame| {
///         if let Frame::Event { data, .. } = frame {
///             seen.push(data.to_vec());
///         }
///     });
/// }
/// assert_eq!(seen, [b"{}"]);
/// ```
#[derive(Debug)]
pub struct EventStream {
    limit: usize,
    /// The head of a message whose end has not come yet.
    message: Vec<u8>,
    /// The length of that message; 0 as long as it is not known.
    length: usize,
    /// Bytes still to come of a message that is too large.
    skipping: usize,
    /// Nothing more can be read.
    broken: bool,
}

impl Default for EventStream {
    fn default() -> Self {
        Self::new()
    }
}

impl EventStream {
    /// A parser for one stream.
    pub fn new() -> Self {
        Self { limit: DEFAULT_LIMIT, message: Vec::new(), length: 0, skipping: 0, broken: false }
    }

    /// Sets how many bytes of one message may be held; 1 MiB by default. The 12 bytes that tell a message's length are
    /// held in any case.
    ///
    /// Where a read is cut has no influence on what is too large.
    #[must_use = "the setter consumes the parser and returns it"]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Bytes that are held at present because their message is not whole; never more than the limit.
    pub fn held(&self) -> usize {
        self.message.len()
    }

    /// Takes the next bytes of the stream and gives every frame that they complete to `sink`.
    pub fn push(&mut self, read: &[u8], mut sink: impl FnMut(Frame<'_>)) {
        let mut rest = read;
        while !rest.is_empty() && !self.broken {
            rest = if self.skipping > 0 {
                let (skipped, tail) = rest.split_at(self.skipping.min(rest.len()));
                self.skipping -= skipped.len();
                tail
            } else if self.message.is_empty() {
                self.take_lent(rest, &mut sink)
            } else {
                self.take_held(rest, &mut sink)
            };
        }
    }

    /// Says that the stream has ended, and makes the parser ready for another.
    ///
    /// A message that was cut behind its headers is given to `sink` as far as it came, unchecked.
    pub fn finish(&mut self, mut sink: impl FnMut(Frame<'_>)) {
        if self.length > 0 {
            let payload_end = self.message.len().min(self.length - CHECK);
            if let Some(content) = self.message.get(..payload_end).and_then(Content::read) {
                content.deliver(true, &mut sink);
            }
        }
        self.message.clear();
        self.length = 0;
        self.skipping = 0;
        self.broken = false;
    }

    /// Takes a message that begins with the first byte of `rest`; what follows it is left.
    fn take_lent<'r>(&mut self, rest: &'r [u8], sink: &mut impl FnMut(Frame<'_>)) -> &'r [u8] {
        let Some(prelude) = rest.first_chunk() else {
            self.message.extend_from_slice(rest);
            return &[];
        };
        let Some(length) = length(prelude) else {
            return self.give_up(sink);
        };
        if length > self.limit {
            self.skipping = length;
            sink(Frame::Oversized);
            return rest;
        }
        match rest.split_at_checked(length) {
            Some((message, tail)) => {
                self.check(message, sink);
                tail
            }
            None => {
                self.message.extend_from_slice(rest);
                self.length = length;
                &[]
            }
        }
    }

    /// Takes what `rest` has of the message that earlier reads began: its prelude, or what is left of it.
    fn take_held<'r>(&mut self, rest: &'r [u8], sink: &mut impl FnMut(Frame<'_>)) -> &'r [u8] {
        let wanted = if self.length == 0 { PRELUDE } else { self.length } - self.message.len();
        let (part, tail) = rest.split_at(wanted.min(rest.len()));
        self.message.extend_from_slice(part);
        if part.len() < wanted {
            return tail;
        }
        if self.length > 0 {
            self.length = 0;
            let mut message = std::mem::take(&mut self.message);
            self.check(&message, sink);
            message.clear();
            self.message = message;
            return tail;
        }
        match self.message.first_chunk().and_then(length) {
            None => self.give_up(sink),
            Some(length) if length > self.limit => {
                self.message.clear();
                self.skipping = length - PRELUDE;
                sink(Frame::Oversized);
                tail
            }
            Some(length) => {
                self.length = length;
                tail
            }
        }
    }

    /// Gives a whole message to `sink`, if it is one.
    fn check(&mut self, message: &[u8], sink: &mut impl FnMut(Frame<'_>)) {
        let content = message
            .split_last_chunk::<CHECK>()
            .filter(|(checked, check)| crc32fast::hash(checked) == u32::from_be_bytes(**check))
            .and_then(|(checked, _)| Content::read(checked));
        match content {
            Some(content) => content.deliver(false, sink),
            None => {
                self.give_up(sink);
            }
        }
    }

    #[cold]
    fn give_up(&mut self, sink: &mut impl FnMut(Frame<'_>)) -> &'static [u8] {
        self.message.clear();
        self.broken = true;
        sink(Frame::Broken);
        &[]
    }
}

/// The length of the message that begins so, if its prelude can be trusted.
fn length(prelude: &[u8; PRELUDE]) -> Option<usize> {
    let (lengths, check) = prelude.split_last_chunk::<4>()?;
    if crc32fast::hash(lengths) != u32::from_be_bytes(*check) {
        return None;
    }
    let (length, rest) = take_u32(lengths)?;
    let (headers, _) = take_u32(rest)?;
    (headers.checked_add(PRELUDE + CHECK)? <= length).then_some(length)
}

/// What a message says.
struct Content<'m> {
    failed: bool,
    name: &'m [u8],
    message: &'m [u8],
    payload: &'m [u8],
}

impl<'m> Content<'m> {
    /// Reads a message without its last check; none if its headers are not whole or make no sense.
    fn read(message: &'m [u8]) -> Option<Self> {
        let (_, lengths) = take_u32(message)?;
        let (headers, _) = take_u32(lengths)?;
        let (mut headers, payload) = message.get(PRELUDE..)?.split_at_checked(headers)?;
        let mut content = Self { failed: false, name: &[], message: &[], payload };
        while !headers.is_empty() {
            let (header, rest) = Header::take(headers)?;
            headers = rest;
            match header.name {
                b":message-type" => content.failed = matches!(header.text, b"exception" | b"error"),
                b":event-type" | b":exception-type" | b":error-code" => content.name = header.text,
                b":error-message" => content.message = header.text,
                _ => {}
            }
        }
        Some(content)
    }

    fn deliver(self, unterminated: bool, sink: &mut impl FnMut(Frame<'_>)) {
        let Self { failed, name, message, payload: data } = self;
        sink(if failed {
            Frame::Exception { name, message, data, unterminated }
        } else {
            Frame::Event { name, data, unterminated }
        });
    }
}

/// A header; its value, if that is a string, else empty.
struct Header<'m> {
    name: &'m [u8],
    text: &'m [u8],
}

impl<'m> Header<'m> {
    /// The first of the headers and those behind it; none if they make no sense.
    fn take(headers: &'m [u8]) -> Option<(Self, &'m [u8])> {
        let (&name_length, rest) = headers.split_first()?;
        let (name, rest) = rest.split_at_checked(usize::from(name_length))?;
        let (&kind, rest) = rest.split_first()?;
        let (length, rest) = match kind {
            // True, false.
            0 | 1 => (0, rest),
            // Integers of 8, 16, 32 and 64 bits.
            2 => (1, rest),
            3 => (2, rest),
            4 => (4, rest),
            5 => (8, rest),
            // Bytes, a string.
            6 | 7 => {
                let (length, rest) = rest.split_first_chunk()?;
                (usize::from(u16::from_be_bytes(*length)), rest)
            }
            // A time stamp, a UUID.
            8 => (8, rest),
            9 => (16, rest),
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        let text = if kind == 7 { value } else { &[] };
        Some((Self { name, text }, rest))
    }
}

fn take_u32(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((usize::try_from(u32::from_be_bytes(*number)).ok()?, rest))
}
