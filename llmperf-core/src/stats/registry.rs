//! All series of one handle.

use std::sync::{Arc, PoisonError, RwLock};

use super::{Series, SeriesKind, Snapshot};

/// How many series each kind may have before further names share one.
const SERIES_PER_KIND: usize = 32;
/// The name of the series that further names share.
const OTHER: &str = "_other";

/// The series of one handle, made as they are asked for.
#[derive(Debug)]
pub(crate) struct Registry {
    started: u64,
    series: RwLock<Vec<Arc<Series>>>,
}

impl Registry {
    /// An empty registry; rates count from `started`, in nanoseconds.
    pub(crate) fn new(started: u64) -> Self {
        Self { started, series: RwLock::default() }
    }

    /// The series of that kind, name and detail; `_other` if the kind has as many as it may.
    pub(crate) fn series(&self, kind: SeriesKind, name: &str, detail: &str) -> Arc<Series> {
        let known = known(&self.series.read().unwrap_or_else(PoisonError::into_inner), kind, name, detail);
        known.unwrap_or_else(|| self.add(kind, name, detail))
    }

    fn add(&self, kind: SeriesKind, name: &str, detail: &str) -> Arc<Series> {
        let mut all = self.series.write().unwrap_or_else(PoisonError::into_inner);
        known(&all, kind, name, detail).unwrap_or_else(|| {
            let (name, detail) = if is_full(&all, kind) { (OTHER, "") } else { (name, detail) };
            let series = Arc::new(Series::new(kind, name, detail));
            all.push(Arc::clone(&series));
            series
        })
    }

    /// What all series recorded until `now`, in nanoseconds. Those that recorded nothing do not appear.
    pub(crate) fn snapshot(&self, now: u64) -> Snapshot {
        let all = self.series.read().unwrap_or_else(PoisonError::into_inner).clone();
        Snapshot::new(all.iter().filter_map(|series| series.snapshot(self.started, now)).collect())
    }
}

/// The series that there is for these names, be it the one that further names share.
fn known(all: &[Arc<Series>], kind: SeriesKind, name: &str, detail: &str) -> Option<Arc<Series>> {
    let find = |name, detail| all.iter().find(|series| series.is(kind, name, detail)).cloned();
    find(name, detail).or_else(|| is_full(all, kind).then(|| find(OTHER, "")).flatten())
}

fn is_full(all: &[Arc<Series>], kind: SeriesKind) -> bool {
    all.iter().filter(|series| series.kind() == kind).count() >= SERIES_PER_KIND
}
