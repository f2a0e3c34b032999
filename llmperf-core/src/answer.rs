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

/// How many gaps are recorded together.
pub(crate) const MOST_GAPS: usize = 5;

/// Gaps between output reads, in ticks, until they are recorded together.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    ticks: [u64; MOST_GAPS],
    len: usize,
}

impl Gaps {
    /// Adds a gap; true if there is no room for another.
    #[inline]
    pub(crate) fn push(&mut self, gap: u64) -> bool {
        if let Some(slot) = self.ticks.get_mut(self.len) {
            *slot = gap;
            self.len += 1;
        }
        self.len == MOST_GAPS
    }

    /// Takes all of them out, in ticks.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = u64> + use<> {
        let (ticks, len) = (self.ticks, std::mem::take(&mut self.len));
        ticks.into_iter().take(len)
    }
}
