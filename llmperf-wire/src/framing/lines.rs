//! Lines, one JSON text each (NDJSON), as a push parser: bytes, cut anywhere, in; frames out.
//!
//! A line ends at LF or CRLF. Blank lines are skipped, and a last line that the end of the stream leaves without its LF
//! is delivered, and says so.

use memchr::memchr;

use super::{DEFAULT_LIMIT, Frame};

/// An incremental parser of lines.
///
/// What lies whole in one read is lent from it without a copy; only what a cut has parted is kept, in a buffer that is
/// used again.
///
/// ```
/// use llmperf_wire::framing::{Frame, Lines};
///
/// let mut seen = Vec::new();
/// let mut lines = Lines::new();
/// for read in [b"{\"n\":1}\n{\"n".as_slice(), b"\":2}\r\n\n"] {
///     lines.push(read, |frame| {
///         if let Frame::Event { data, .. } = frame {
///             seen.push(data.to_vec());
///         }
///     });
/// }
/// assert_eq!(seen, [b"{\"n\":1}", b"{\"n\":2}"]);
/// ```
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    /// The head of a line whose end has not come yet.
    line: Vec<u8>,
    /// The line at hand was too large: what is left of it is thrown away.
    skipping: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self::new()
    }
}

impl Lines {
    /// A parser for one stream.
    pub fn new() -> Self {
        Self { limit: DEFAULT_LIMIT, line: Vec::new(), skipping: false }
    }

    /// Sets how many bytes of one line may be held (a CR before its LF counted); 1 MiB by default.
    ///
    /// Where a read is cut has no influence on what is too large.
    #[must_use = "the setter consumes the parser and returns it"]
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Bytes that are held at present because their line is not whole; never more than the limit.
    pub fn held(&self) -> usize {
        self.line.len()
    }

    /// Takes the next bytes of the stream and gives every frame that they complete to `sink`.
    pub fn push(&mut self, read: &[u8], mut sink: impl FnMut(Frame<'_>)) {
        let mut rest = read;
        while let Some(end) = memchr(b'\n', rest) {
            let (line, tail) = rest.split_at(end);
            rest = tail.split_first().map_or(&[], |(_, rest)| rest);
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if self.line.len() + line.len() > self.limit {
                self.line.clear();
                sink(Frame::Oversized);
            } else if self.line.is_empty() {
                deliver(line, false, &mut sink);
            } else {
                self.line.extend_from_slice(line);
                deliver(&self.line, false, &mut sink);
                self.line.clear();
            }
        }
        self.hold(rest, &mut sink);
    }

    /// Says that the stream has ended: gives the line that it left without an end to `sink`, and makes the parser ready
    /// for another.
    pub fn finish(&mut self, mut sink: impl FnMut(Frame<'_>)) {
        deliver(&self.line, true, &mut sink);
        self.line.clear();
        self.skipping = false;
    }

    fn hold(&mut self, rest: &[u8], sink: &mut impl FnMut(Frame<'_>)) {
        if self.skipping {
            return;
        }
        if self.line.len() + rest.len() > self.limit {
            self.line.clear();
            self.skipping = true;
            sink(Frame::Oversized);
        } else {
            self.line.extend_from_slice(rest);
        }
    }
}

/// Gives a line to `sink`, unless it is blank.
fn deliver(line: &[u8], unterminated: bool, sink: &mut impl FnMut(Frame<'_>)) {
    let data = line.strip_suffix(b"\r").unwrap_or(line);
    if !data.trim_ascii().is_empty() {
        sink(Frame::Event { name: &[], data, unterminated });
    }
}
