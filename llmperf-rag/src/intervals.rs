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
