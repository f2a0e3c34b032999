//! The blocks of an answer: pieces of one kind in a row, as most dialects number, begin and end them.

use super::super::plan::Kind;

/// Which block is being written.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: Option<Block>,
    begun: usize,
}

/// One block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) index: usize,
    pub(super) kind: Kind,
}

/// What writing a piece does to the blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// The block that ends before the piece.
    pub(super) ended: Option<Block>,
    /// The piece is the first of its block.
    pub(super) begins: bool,
    /// The block of the piece.
    pub(super) block: Block,
}

impl Blocks {
    /// The next piece is of this kind.
    pub(super) fn turn(&mut self, kind: Kind) -> Turn {
        if let Some(block) = self.open.filter(|block| block.kind == kind) {
            return Turn { ended: None, begins: false, block };
        }
        let block = Block { index: self.begun, kind };
        self.begun += 1;
        Turn { ended: self.open.replace(block), begins: true, block }
    }

    /// No more pieces come.
    pub(super) fn end(&mut self) -> Option<Block> {
        self.open.take()
    }
}
