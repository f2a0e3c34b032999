//! `zstd`. Windows of more than 8 MiB are refused, as RFC 9659 has it for HTTP.

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation as _, OutBuffer};

use super::{Blind, PIECE, Sink, Undo};

/// The binary logarithm of the largest window.
const LARGEST_WINDOW: u32 = 23;

/// Undoes `zstd`.
pub(super) struct Zstd {
    state: Decoder<'static>,
    room: Box<[u8]>,
}

impl Zstd {
    /// None where there is no memory for it.
    pub(super) fn new() -> Option<Self> {
        let mut state = Decoder::new().ok()?;
        state.set_parameter(DParameter::WindowLogMax(LARGEST_WINDOW)).ok()?;
        Some(Self { state, room: vec![0; PIECE].into() })
    }
}

impl Undo for Zstd {
    fn push(&mut self, coded: &[u8], sink: Sink<'_>) -> Result<(), Blind> {
        let mut input = InBuffer::around(coded);
        loop {
            let mut output = OutBuffer::around(&mut *self.room);
            self.state.run(&mut input, &mut output).map_err(|_| Blind)?;
            let given = output.pos();
            if let Some(decoded) = self.room.get(..given).filter(|decoded| !decoded.is_empty()) {
                sink(decoded);
            }
            // A full room may have left something unsaid.
            if given < self.room.len() && input.pos() == coded.len() {
                return Ok(());
            }
        }
    }
}
