//! One JSON array that grows while it is sent, as a push parser: bytes, cut anywhere, in; frames out.
//!
//! Each element is an event, as it is written; commas and white space between elements may stand as they like. The `]`
//! is [`Frame::End`], and what follows it is ignored. Where a server reports a failure in place of the array, its object
//! is [`Frame::Bare`]. What begins otherwise is [`Frame::Broken`].
//!
//! Elements are told apart by their brackets and strings alone: whether one is well-formed is for its reader to find.

use super::{DEFAULT_LIMIT, Frame, Sink};
use crate::json::quote_or_escape;

/// An incremental parser of a JSON array.
///
/// What lies whole in one read is lent from it without a copy; only what a cut has parted is kept, in a buffer that is
/// used again.
///
/// ```
/// use llmperf_wire::framing::{Frame, JsonArray};
///
/// let mut seen = Vec::new();
/// let mut array = JsonArray::new();
/// for read in [b"[{\"n\":1}\r\n,{\"te".as_slice(), b"xt\":\"]\"}", b"\n]"] {
///     array.push(read, |frame| match frame {
///         Frame::Event { data, .. } => seen.push(String::from_utf8_lossy(data).into_owned()),
///         other => seen.push(format!("{other:?}")),
///     });
/// }
/// assert_eq!(seen, ["{\"n\":1}", "{\"text\":\"]\"}", "End"]);
/// ```
#[derive(Debug)]
pub struct JsonArray {
    limit: usize,
    place: Place,
    /// Where in its element the parser is.
    inside: Inside,
    /// The head of an element whose end has not come yet.
    element: Vec<u8>,
    /// The element at hand was too large: what is left of it is thrown away.
    skipping: bool,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing but white space has come.
    Start,
    /// An object that stands where the array was expected.
    Bare,
    /// Between the elements.
    Between,
    /// An element.
    Element,
    /// Nothing that is read: the array was closed, or there is none.
    Past,
}

/// The brackets and the string that are open in an element.
#[derive(Debug, Clone, Copy, Default)]
struct Inside {
    depth: usize,
    string: bool,
    /// The last byte was a backslash in a string.
    escape: bool,
}

impl Default for JsonArray {
    fn default() -> Self {
        Self::new()
    }
}

impl JsonArray {
    /// A parser for one stream.
    pub fn new() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
            place: Place::Start,
            inside: Inside::default(),
            element: Vec::new(),
            skipping: false,
        }
    }

    /// Sets how many bytes of one element may be held; 1 MiB by default.
    ///
    /// Where a read is cut has no influence on what is too large.
    #[must_use = "the setter consumes the parser and returns it"]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Bytes that are held at present because their element is not whole; never more than the limit.
    pub fn held(&self) -> usize {
        self.element.len()
    }

    /// Takes the next bytes of the stream and gives every frame that they complete to `sink`.
    pub fn push(&mut self, read: &[u8], mut sink: impl FnMut(Frame<'_>)) {
        self.push_to(read, &mut sink);
    }

    /// The same for a sink that may know the end of an element before its brackets are looked at.
    pub(crate) fn push_to(&mut self, read: &[u8], sink: &mut impl Sink) {
        let mut rest = read;
        while !rest.is_empty() && self.place != Place::Past {
            rest = match self.place {
                Place::Element | Place::Bare => self.take_element(rest, sink),
                _ => self.find_element(rest, sink),
            };
        }
    }

    /// Says that the stream has ended: gives the element that it left unfinished to `sink`, and makes the parser ready
    /// for another.
    pub fn finish(&mut self, mut sink: impl FnMut(Frame<'_>)) {
        if !self.element.is_empty() {
            self.deliver(&self.element, true, &mut sink);
            self.element.clear();
        }
        self.place = Place::Start;
        self.inside = Inside::default();
        self.skipping = false;
    }

    /// Goes to the next element, and leaves it unless the sink takes it as it is.
    fn find_element<'r>(&mut self, rest: &'r [u8], sink: &mut impl Sink) -> &'r [u8] {
        let at_start = self.place == Place::Start;
        let mut rest = rest;
        while let Some((byte, tail)) = rest.split_first() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                b'[' if at_start => {
                    self.place = Place::Between;
                    return tail;
                }
                b'{' if at_start => {
                    self.place = Place::Bare;
                    return rest;
                }
                b',' if !at_start => {}
                b']' if !at_start => {
                    self.place = Place::Past;
                    sink.frame(Frame::End);
                    return tail;
                }
                _ if at_start => {
                    self.place = Place::Past;
                    sink.frame(Frame::Broken);
                    return tail;
                }
                _ => {
                    let ahead = rest.get(..self.limit).unwrap_or(rest);
                    if let Some(length) = sink.ahead(ahead) {
                        return rest.get(length..).unwrap_or_default();
                    }
                    self.place = Place::Element;
                    return rest;
                }
            }
            rest = tail;
        }
        rest
    }

    /// Takes what `rest` has of the element at hand; what follows it is left.
    fn take_element<'r>(&mut self, rest: &'r [u8], sink: &mut impl Sink) -> &'r [u8] {
        let Some(end) = self.inside.end(rest) else {
            self.hold(rest, sink);
            return &[];
        };
        let (part, tail) = rest.split_at(end);
        if !std::mem::take(&mut self.skipping) {
            if self.element.len() + part.len() > self.limit {
                sink.frame(Frame::Oversized);
            } else if self.element.is_empty() {
                self.deliver(part, false, sink);
            } else {
                self.element.extend_from_slice(part);
                self.deliver(&self.element, false, sink);
            }
            self.element.clear();
        }
        self.inside = Inside::default();
        self.place = if self.place == Place::Bare { Place::Start } else { Place::Between };
        tail
    }

    fn hold(&mut self, rest: &[u8], sink: &mut impl Sink) {
        if self.skipping {
            return;
        }
        if self.element.len() + rest.len() > self.limit {
            self.element.clear();
            self.skipping = true;
            sink.frame(Frame::Oversized);
        } else {
            self.element.extend_from_slice(rest);
        }
    }

    fn deliver(&self, data: &[u8], unterminated: bool, sink: &mut impl Sink) {
        sink.frame(if self.place == Place::Bare {
            Frame::Bare { data, unterminated }
        } else {
            Frame::Event { name: &[], data, unterminated }
        });
    }
}

impl Inside {
    /// Where the element ends that `bytes` go on with, if it does: behind the bracket or the quote that closes it, else
    /// before what follows it.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            if self.string {
                at += self.string_end(bytes.get(at..)?)?;
                if self.depth == 0 {
                    return Some(at);
                }
            }
            let rest = bytes.get(at..)?;
            at += if self.depth > 0 {
                rest.iter().position(|byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']'))?
            } else {
                rest.iter().position(|byte| b"\"{[}], \t\n\r".contains(byte))?
            };
            match (bytes.get(at)?, self.depth) {
                (b'"', _) => self.string = true,
                (b'{' | b'[', _) => self.depth += 1,
                (b'}' | b']', 1) => {
                    self.depth = 0;
                    return Some(at + 1);
                }
                (b'}', 0) => {}
                (_, 0) => return Some(at),
                _ => self.depth -= 1,
            }
            at += 1;
        }
    }

    /// How many bytes are left of the string that `bytes` go on with, its quote included.
    fn string_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = usize::from(std::mem::take(&mut self.escape));
        loop {
            at += quote_or_escape(bytes.get(at..)?)?;
            if bytes.get(at) == Some(&b'"') {
                self.string = false;
                return Some(at + 1);
            }
            at += 2;
            self.escape = at > bytes.len();
        }
    }
}
