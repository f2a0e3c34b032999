//! One write under construction: its bytes, and what the ledger will note about it.

use std::fmt::Display;

use bytes::Bytes;

use super::plan::Kind;
use super::script::Content;

#[derive(Debug, Default)]
pub(super) struct Sheet {
    bytes: Vec<u8>,
    content: Content,
    /// Where the last event begins.
    last: usize,
}

impl Sheet {
    /// An event in the dialect's own framing.
    pub(super) fn event(&mut self, bytes: &[u8]) {
        self.last = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.content.events += 1;
    }

    /// Bytes that belong to no event.
    pub(super) fn frame(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A server-sent event without a name.
    pub(super) fn data(&mut self, payload: &impl Display) {
        self.event(format!("data: {payload}\n\n").as_bytes());
    }

    /// A server-sent event with a name.
    pub(super) fn named(&mut self, name: &str, payload: &impl Display) {
        self.event(format!("event: {name}\ndata: {payload}\n\n").as_bytes());
    }

    /// A comment of server-sent events.
    pub(super) fn comment(&mut self) {
        self.frame(b": keep-alive\n\n");
    }

    /// Output has been written.
    pub(super) fn output(&mut self, kind: Kind, tokens: u32) {
        self.content.tokens += tokens;
        self.content.answer |= kind != Kind::Reasoning;
    }

    /// The stream's last events have been written.
    pub(super) fn end(&mut self) {
        self.content.end = true;
    }

    /// Loses the second half of the last event.
    pub(super) fn cut(&mut self) {
        self.bytes.truncate(self.last + (self.bytes.len() - self.last) / 2);
        self.content.events -= 1;
    }

    /// `None` if there is nothing to write.
    pub(super) fn write(self) -> Option<(Bytes, Content)> {
        (!self.bytes.is_empty()).then(|| (Bytes::from(self.bytes), self.content))
    }
}
