//! Server-sent events as a push parser: bytes, cut anywhere, in; frames out.
//!
//! The rules are those of the WHATWG (lines end at LF, CR or CRLF, one byte order mark at the very beginning is
//! skipped, fields and comments, data lines are joined by LF), with what a measuring reader of LLM streams needs besides:
//!
//! - an event that the end of the stream leaves without its empty line is delivered, and says so;
//! - comments are reported: they show that a silent stream is alive;
//! - [`fields`](Sse::fields) that the rules ignore can be asked for, and so can [bare JSON objects](Sse::bare_json)
//!   between the events: servers report failures that way once the head is sent;
//! - an event that passes the [`limit`](Sse::limit) is dropped and reported, and reading goes on at the next one.
//!
//! `id` and `retry` are known and ignored: a request to a model is never sent again by a reader. Bytes are not decoded
//! here: UTF-8 never holds a CR or LF inside a character, so the lines are right, and the payload's own parser looks at it.

use memchr::{memchr, memchr2};

use super::{DEFAULT_LIMIT, Frame};

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// An incremental parser of server-sent events.
///
/// What lies whole in one read is lent from it without a copy; only what a cut has parted is kept, in buffers that are
/// used again, so that nothing is allocated per event once they have grown.
///
/// ```
/// use llmperf_wire::framing::{Frame, Sse};
///
/// let mut seen = Vec::new();
/// let mut sse = Sse::new();
/// for read in [b"event: greeting\r\nda".as_slice(), b"ta: hello\r", b"\n\r\n"] {
///     sse.push(read, |frame| {
///         if let Frame::Event { name, data, .. } = frame {
///             seen.push((name.to_vec(), data.to_vec()));
///         }
///     });
/// }
/// assert_eq!(seen, [(b"greeting".to_vec(), b"hello".to_vec())]);
/// ```
#[derive(Debug)]
pub struct Sse {
    fields: &'static [&'static str],
    bare_json: bool,
    limit: usize,
    /// The head of a line whose end has not come yet.
    line: Vec<u8>,
    /// The data of the open block, as far as it is not lent from the read at hand.
    data: Vec<u8>,
    name: Vec<u8>,
    block: Block,
    skipping: Skipping,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line, which may begin with a byte order mark, is still to come.
    at_start: bool,
}

/// What the data gathered so far belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    None,
    Event,
    Bare,
}

/// How much of the lines at hand is thrown away after a block that was too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skipping {
    No,
    /// Up to the next empty line.
    Block,
    /// The same, from the middle of a line that has bytes already.
    Line,
}

impl Default for Sse {
    fn default() -> Self {
        Self::new()
    }
}

impl Sse {
    /// A parser for one stream.
    pub fn new() -> Self {
        Self {
            fields: &[],
            bare_json: false,
            limit: DEFAULT_LIMIT,
            line: Vec::new(),
            data: Vec::new(),
            name: Vec::new(),
            block: Block::None,
            skipping: Skipping::No,
            after_cr: false,
            at_start: true,
        }
    }

    /// Reports these fields, which the rules ignore, as [`Frame::Field`].
    #[must_use = "the setter consumes the parser and returns it"]
    pub fn fields(mut self, names: &'static [&'static str]) -> Self {
        self.fields = names;
        self
    }

    /// Reports JSON objects that stand between the events as [`Frame::Bare`].
    ///
    /// Such an object begins with a line that begins with `{`, and ends with that line if it ends with `}`, else with
    /// the next line that begins with `}` or is empty.
    #[must_use = "the setter consumes the parser and returns it"]
    pub fn bare_json(mut self, report: bool) -> Self {
        self.bare_json = report;
        self
    }

    /// Sets how many bytes of one event may be held (lines and their field names counted); 1 MiB by default.
    ///
    /// Where a read is cut has no influence on what is too large.
    #[must_use = "the setter consumes the parser and returns it"]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Bytes that are held at present because their event is not whole; never more than the limit.
    #[inline]
    pub fn held(&self) -> usize {
        self.line.len() + self.data.len() + self.name.len()
    }

    /// Takes the next bytes of the stream and gives every frame that they complete to `sink`.
    pub fn push<'r>(&mut self, read: &'r [u8], mut sink: impl FnMut(Frame<'_>)) {
        let mut rest = read;
        // The first data line of the open block, while it lies whole in this read.
        let mut lent: Option<&'r [u8]> = None;
        if let ([first, tail @ ..], true) = (rest, self.after_cr) {
            self.after_cr = false;
            if *first == b'\n' {
                rest = tail;
            }
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, tail) = rest.split_at(end);
            rest = self.after_line_end(tail);
            if self.line.is_empty() {
                self.take_line(line, &mut lent, &mut sink);
            } else {
                self.take_joined_line(line, &mut sink);
            }
        }
        self.hold(rest, lent, &mut sink);
    }

    /// Says that the stream has ended: gives what it left unfinished to `sink`, and makes the parser ready for another.
    pub fn finish(&mut self, mut sink: impl FnMut(Frame<'_>)) {
        if !self.line.is_empty() {
            self.take_joined_line(&[], &mut sink);
        }
        self.close(None, true, &mut sink);
        self.skipping = Skipping::No;
        self.after_cr = false;
        self.at_start = true;
    }

    /// What follows a line whose end is the first byte of `tail`.
    fn after_line_end<'r>(&mut self, tail: &'r [u8]) -> &'r [u8] {
        match tail {
            [b'\r', b'\n', rest @ ..] => rest,
            [b'\r'] => {
                self.after_cr = true;
                &[]
            }
            [_, rest @ ..] => rest,
            [] => &[],
        }
    }

    /// A line whose head came with earlier reads. There is nothing lent yet: it is the first line of this read.
    fn take_joined_line(&mut self, end: &[u8], sink: &mut impl FnMut(Frame<'_>)) {
        if !self.fits(end.len() + 1) {
            self.line.clear();
            self.overflow(Skipping::Block, sink);
            return;
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(end);
        let mut lent = None;
        self.take_line(&line, &mut lent, sink);
        self.settle(lent);
        line.clear();
        self.line = line;
    }

    fn take_line<'l>(&mut self, line: &'l [u8], lent: &mut Option<&'l [u8]>, sink: &mut impl FnMut(Frame<'_>)) {
        match self.skipping {
            Skipping::No => {}
            Skipping::Line => {
                self.skipping = Skipping::Block;
                return;
            }
            Skipping::Block => {
                if line.is_empty() {
                    self.skipping = Skipping::No;
                }
                return;
            }
        }
        // One more for the line end, which stands between the lines of a block.
        if !self.fits(line.len() + 1 + lent.map_or(0, <[u8]>::len)) {
            *lent = None;
            self.overflow(Skipping::Block, sink);
            return;
        }
        let mut line = line;
        if self.at_start {
            self.at_start = false;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            self.take_data(without_blank(value), lent, sink);
        } else if line.is_empty() {
            self.close(lent.take(), false, sink);
        } else {
            self.take_rare_line(line, lent, sink);
        }
    }

    fn take_data<'l>(&mut self, value: &'l [u8], lent: &mut Option<&'l [u8]>, sink: &mut impl FnMut(Frame<'_>)) {
        if self.block == Block::Bare {
            self.close(lent.take(), false, sink);
        }
        if self.block == Block::None {
            self.block = Block::Event;
            *lent = Some(value);
        } else {
            self.append(value, lent.take());
        }
    }

    /// Any line but data and the empty one.
    fn take_rare_line<'l>(&mut self, line: &'l [u8], lent: &mut Option<&'l [u8]>, sink: &mut impl FnMut(Frame<'_>)) {
        if let Some(text) = line.strip_prefix(b":") {
            sink(Frame::Comment(without_blank(text)));
            return;
        }
        let (name, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], without_blank(&line[colon + 1..])),
            None => (line, [].as_slice()),
        };
        match name {
            b"data" => self.take_data(value, lent, sink),
            b"event" => {
                if self.block == Block::Bare {
                    self.close(lent.take(), false, sink);
                }
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            _ if self.block == Block::Bare => {
                self.append(line, lent.take());
                if line.starts_with(b"}") {
                    self.close(None, false, sink);
                }
            }
            _ if self.bare_json && line.starts_with(b"{") => {
                self.close(lent.take(), false, sink);
                self.block = Block::Bare;
                *lent = Some(line);
                if line.trim_ascii_end().ends_with(b"}") {
                    self.close(lent.take(), false, sink);
                }
            }
            _ => {
                if let Some(asked) = self.fields.iter().find(|asked| asked.as_bytes() == name) {
                    sink(Frame::Field { name: asked, value });
                }
            }
        }
    }

    /// Delivers the open block, if it has data, and begins anew.
    fn close(&mut self, lent: Option<&[u8]>, unterminated: bool, sink: &mut impl FnMut(Frame<'_>)) {
        let data = lent.unwrap_or(&self.data);
        match self.block {
            Block::None => {}
            Block::Event => sink(Frame::Event { name: &self.name, data, unterminated }),
            Block::Bare => sink(Frame::Bare { data, unterminated }),
        }
        self.clear_block();
    }

    fn clear_block(&mut self) {
        self.block = Block::None;
        self.data.clear();
        self.name.clear();
    }

    /// Adds a further line to the open block.
    fn append(&mut self, line: &[u8], lent: Option<&[u8]>) {
        self.settle(lent);
        self.data.push(b'\n');
        self.data.extend_from_slice(line);
    }

    /// Copies what was lent from a read that is about to go away.
    fn settle(&mut self, lent: Option<&[u8]>) {
        if let Some(first) = lent {
            self.data.extend_from_slice(first);
        }
    }

    /// Keeps the end of a read: a line without its end, and the block before it.
    fn hold(&mut self, rest: &[u8], lent: Option<&[u8]>, sink: &mut impl FnMut(Frame<'_>)) {
        self.settle(lent);
        if rest.is_empty() {
            return;
        }
        if self.skipping != Skipping::No {
            self.skipping = Skipping::Line;
        } else if self.fits(rest.len()) {
            self.line.extend_from_slice(rest);
        } else {
            self.line.clear();
            self.overflow(Skipping::Line, sink);
        }
    }

    #[inline]
    fn fits(&self, more: usize) -> bool {
        self.held().saturating_add(more) <= self.limit
    }

    #[cold]
    fn overflow(&mut self, skipping: Skipping, sink: &mut impl FnMut(Frame<'_>)) {
        self.clear_block();
        self.skipping = skipping;
        self.at_start = false;
        sink(Frame::Oversized);
    }
}

/// A field's value: the one blank after the colon is not part of it.
#[inline]
fn without_blank(value: &[u8]) -> &[u8] {
    value.strip_prefix(b" ").unwrap_or(value)
}
