//! `deflate`: as the standard has it, in a zlib frame, or raw, as some servers send it.

use flate2::{Decompress, FlushDecompress, Status};

use super::{Blind, PIECE, Sink, Undo};

/// Inflates raw or zlib-framed bytes.
#[derive(Debug)]
pub(super) struct Inflate {
    state: Decompress,
    room: Box<[u8]>,
}

impl Inflate {
    pub(super) fn new(zlib: bool) -> Self {
        Self { state: Decompress::new(zlib), room: vec![0; PIECE].into() }
    }

    /// Makes it ready for another raw stream.
    pub(super) fn reset(&mut self) {
        self.state.reset(false);
    }

    /// Takes what it can of the bytes; gives those behind the end of the stream, once that is reached.
    pub(super) fn push<'c>(&mut self, mut coded: &'c [u8], sink: Sink<'_>) -> Result<Option<&'c [u8]>, Blind> {
        loop {
            let before = (self.state.total_in(), self.state.total_out());
            let status = self.state.decompress(coded, &mut self.room, FlushDecompress::None).map_err(|_| Blind)?;
            let taken = (self.state.total_in() - before.0) as usize;
            let given = (self.state.total_out() - before.1) as usize;
            coded = coded.get(taken..).unwrap_or_default();
            if let Some(decoded) = self.room.get(..given).filter(|decoded| !decoded.is_empty()) {
                sink(decoded);
            }
            if status == Status::StreamEnd {
                return Ok(Some(coded));
            }
            // A full room may have left something unsaid.
            if given < self.room.len() && (coded.is_empty() || taken + given == 0) {
                return Ok(None);
            }
        }
    }
}

/// Undoes `deflate`.
#[derive(Debug)]
pub(super) struct Deflate {
    first: Option<u8>,
    inflate: Option<Inflate>,
    ended: bool,
}

impl Deflate {
    pub(super) fn new() -> Self {
        Self { first: None, inflate: None, ended: false }
    }

    fn inflate(&mut self, coded: &[u8], sink: Sink<'_>) -> Result<(), Blind> {
        if let Some(inflate) = self.inflate.as_mut().filter(|_| !self.ended) {
            self.ended = inflate.push(coded, sink)?.is_some();
        }
        Ok(())
    }
}

impl Undo for Deflate {
    fn push(&mut self, coded: &[u8], sink: Sink<'_>) -> Result<(), Blind> {
        if self.inflate.is_some() {
            return self.inflate(coded, sink);
        }
        match (self.first, coded) {
            (_, []) => Ok(()),
            (None, [first]) => {
                self.first = Some(*first);
                Ok(())
            }
            (None, [first, second, ..]) => {
                self.inflate = Some(Inflate::new(is_zlib(*first, *second)));
                self.inflate(coded, sink)
            }
            (Some(first), [second, ..]) => {
                self.inflate = Some(Inflate::new(is_zlib(first, *second)));
                self.inflate(&[first], sink)?;
                self.inflate(coded, sink)
            }
        }
    }
}

/// Whether these are the first bytes of a zlib frame: method 8, a window of at most 32 KiB, a check of both bytes.
fn is_zlib(first: u8, second: u8) -> bool {
    first & 0x0F == 8 && first >> 4 <= 7 && (u16::from(first) << 8 | u16::from(second)).is_multiple_of(31)
}
