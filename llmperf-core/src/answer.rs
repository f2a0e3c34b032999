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
pub(crate) const MOST_GAPS: usize = 11;

/// Gaps between output reads, in ticks, until they are recorded together. 32 bits hold more than a second of ticks; what is
/// longer is rare enough to be recorded by itself.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    ticks: [u32; MOST_GAPS],
    len: u32,
}

/// What is to be recorded now that a gap was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// All gaps: there is no room for another.
    All,
    /// This gap: it was not kept.
    This,
}

impl Gaps {
    /// Adds a gap.
    #[inline]
    pub(crate) fn push(&mut self, gap: u64) -> Option<Due> {
        let (Ok(gap), Some(slot)) = (u32::try_from(gap), self.ticks.get_mut(self.len as usize)) else {
            return Some(Due::This);
        };
        *slot = gap;
        self.len += 1;
        (self.len as usize == MOST_GAPS).then_some(Due::All)
    }

    /// Takes all of them out, in ticks.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = u64> + use<> {
        let (ticks, len) = (self.ticks, std::mem::take(&mut self.len));
        ticks.into_iter().take(len as usize).map(u64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_kept_exactly_until_there_are_enough_of_them() {
        let mut gaps = Gaps::default();
        let kept: Vec<u64> = (1..=MOST_GAPS as u64).map(|gap| gap * 1_000_000_007 % u64::from(u32::MAX)).collect();
        let due: Vec<_> = kept.iter().map(|gap| gaps.push(*gap)).collect();
        assert_eq!((due[MOST_GAPS - 2], due[MOST_GAPS - 1]), (None, Some(Due::All)));
        assert_eq!(gaps.drain().collect::<Vec<_>>(), kept);
        assert_eq!(gaps.drain().count(), 0);
    }

    #[test]
    fn a_gap_of_seconds_is_recorded_by_itself() {
        let mut gaps = Gaps::default();
        assert_eq!(gaps.push(u64::from(u32::MAX) + 1), Some(Due::This));
        assert_eq!(gaps.drain().count(), 0);
    }
}
