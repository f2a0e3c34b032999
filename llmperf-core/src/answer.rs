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
}

/// How many gaps are recorded together.
pub(crate) const MOST_GAPS: usize = 8;

/// Gaps between output reads, in ticks, until they are recorded together. A histogram needs no more than the seven
/// digits of a short float, and a live call has two in the room of one.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    ticks: [f32; MOST_GAPS],
    len: u32,
}

impl Gaps {
    /// Adds a gap; true if there is no room for another.
    #[inline]
    pub(crate) fn push(&mut self, gap: u64) -> bool {
        if let Some(slot) = self.ticks.get_mut(self.len as usize) {
            *slot = gap as f32;
            self.len += 1;
        }
        self.len as usize == MOST_GAPS
    }

    /// Takes all of them out, in ticks.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = u64> + use<> {
        let (ticks, len) = (self.ticks, std::mem::take(&mut self.len));
        ticks.into_iter().take(len as usize).map(|ticks| ticks as u64)
    }
}
