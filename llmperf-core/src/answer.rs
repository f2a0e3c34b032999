//! What is gathered while a call streams: the provider's words, and gaps that wait to be recorded together.

use crate::{Usage, timing::FinishReason};
use opentelemetry::KeyValue;

/// What the provider said of its answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) model: Option<Box<str>>,
    pub(crate) id: Option<Box<str>>,
    pub(crate) reasons: Vec<FinishReason>,
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) usage: Usage,
    /// A whole answer that carried output: there is no read to mark it.
    pub(crate) whole: bool,
}

/// Gaps between output reads, in ticks, until they are recorded together.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    ticks: [u64; 16],
    len: usize,
}

impl Gaps {
    /// Adds a gap; true if there is no room for another.
    pub(crate) fn push(&mut self, gap: u64) -> bool {
        if let Some(slot) = self.ticks.get_mut(self.len) {
            *slot = gap;
            self.len += 1;
        }
        self.len == self.ticks.len()
    }

    pub(crate) fn drain(&mut self) -> &mut [u64] {
        let len = std::mem::take(&mut self.len);
        &mut self.ticks[..len]
    }
}
