//! `br`. Windows of more than 16 MiB are refused, as the standard of the coding has it.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{Blind, PIECE, Sink, Undo};

/// Undoes `br`.
pub(super) struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    room: Box<[u8]>,
    ended: bool,
}

impl Brotli {
    pub(super) fn new() -> Self {
        let alloc = StandardAlloc::default;
        Self { state: BrotliState::new_strict(alloc(), alloc(), alloc()), room: vec![0; PIECE].into(), ended: false }
    }
}

impl Undo for Brotli {
    fn push(&mut self, coded: &[u8], sink: Sink<'_>) -> Result<(), Blind> {
        let (mut left, mut at, mut total) = (coded.len(), 0, 0);
        while !self.ended {
            let (mut free, mut given) = (self.room.len(), 0);
            let result = BrotliDecompressStream(
                &mut left,
                &mut at,
                coded,
                &mut free,
                &mut given,
                &mut self.room,
                &mut total,
                &mut self.state,
            );
            if let Some(decoded) = self.room.get(..given).filter(|decoded| !decoded.is_empty()) {
                sink(decoded);
            }
            match result {
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::NeedsMoreInput => break,
                BrotliResult::ResultSuccess => self.ended = true,
                BrotliResult::ResultFailure => return Err(Blind),
            }
        }
        Ok(())
    }
}
