//! How much time a set of intervals covers.

use std::time::Duration;

/// Most intervals that do not touch; more cannot be added up, and what they cover is not known then.
const MOST: usize = 4_096;

/// Intervals of time, merged where they touch.
#[derive(Debug, Default)]
pub(crate) struct Intervals {
    /// Sorted, apart.
    apart: Vec<(Duration, Duration)>,
    overflown: bool,
}

impl Intervals {
    /// Adds one; an empty one says that there was something.
    pub(crate) fn add(&mut self, began: Duration, ended: Duration) {
        if self.overflown {
            return;
        }
        let first = self.apart.partition_point(|(_, end)| *end < began);
        let past = self.apart.partition_point(|(start, _)| *start <= ended);
        let merged = self.apart[first..past]
            .iter()
            .fold((began, ended), |(start, end), (from, to)| (start.min(*from), end.max(*to)));
        self.apart.splice(first..past, [merged]);
        self.overflown = self.apart.len() > MOST;
    }

    /// The time that they cover; none if there is none, or if they were too many.
    pub(crate) fn covered(&self) -> Option<Duration> {
        let known = !self.apart.is_empty() && !self.overflown;
        known.then(|| self.apart.iter().map(|(start, end)| end.saturating_sub(*start)).sum())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn covered(intervals: &[(u64, u64)]) -> Option<u64> {
        let mut all = Intervals::default();
        for (began, length) in intervals {
            all.add(Duration::from_millis(*began), Duration::from_millis(began + length));
        }
        all.covered().map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    #[test]
    fn nothing_covers_nothing_that_is_known_and_an_empty_interval_covers_none_of_the_time() {
        assert_eq!(covered(&[]), None);
        assert_eq!(covered(&[(5, 0)]), Some(0));
        assert_eq!(covered(&[(5, 5), (10, 5), (0, 1)]), Some(11));
        assert_eq!(covered(&[(0, 100), (10, 5), (90, 20)]), Some(110));
    }

    proptest! {
        /// Each millisecond counts once, whatever the order in which the intervals end.
        #[test]
        fn the_union_is_the_milliseconds_that_lie_in_any(intervals in prop::collection::vec((0..60_u64, 0..20_u64), 1..30)) {
            let lies_in = |at: u64| intervals.iter().any(|(began, length)| (*began..began + length).contains(&at));
            prop_assert_eq!(covered(&intervals), Some((0..80).filter(|at| lies_in(*at)).count() as u64));
        }
    }
}
