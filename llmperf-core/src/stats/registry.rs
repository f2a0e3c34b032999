//! All series of one handle.

use std::{
    hash::BuildHasher as _,
    sync::{Arc, Mutex},
};

use rustc_hash::FxBuildHasher;

use super::{Series, SeriesKind, Snapshot, lock};
use crate::kept::Kept;

/// How many series each kind may have before further names share one.
const SERIES_PER_KIND: usize = 32;
/// The name of the series that further names share.
const OTHER: &str = "_other";

/// The series of one handle, made as they are asked for.
#[derive(Debug)]
pub(crate) struct Registry {
    started: u64,
    series: Kept<Arc<Series>>,
    adding: Mutex<()>,
}

impl Registry {
    /// An empty registry; rates count from `started`, in nanoseconds.
    pub(crate) fn new(started: u64) -> Self {
        Self { started, series: Kept::default(), adding: Mutex::default() }
    }

    /// The series of that kind, name and detail; `_other` if the kind has as many as it may.
    pub(crate) fn series(&self, kind: SeriesKind, name: &str, detail: &str) -> &Arc<Series> {
        self.known(kind, name, detail).unwrap_or_else(|| self.add(kind, name, detail))
    }

    #[cold]
    fn add(&self, kind: SeriesKind, name: &str, detail: &str) -> &Arc<Series> {
        let _adding = lock(&self.adding);
        if let Some(known) = self.known(kind, name, detail) {
            return known;
        }
        let (name, detail) = if self.is_full(kind) { (OTHER, "") } else { (name, detail) };
        let make = || Arc::new(Series::new(kind, name, detail));
        self.series.find_or_make(hash_of(kind, name, detail), |series| it(series, kind, name, detail), make)
    }

    /// What all series recorded until `now`, in nanoseconds. Those that recorded nothing do not appear.
    pub(crate) fn snapshot(&self, now: u64) -> Snapshot {
        Snapshot::new(self.series.iter().filter_map(|series| series.snapshot(self.started, now)).collect())
    }

    /// The series that there is for these names, be it the one that further names share.
    fn known(&self, kind: SeriesKind, name: &str, detail: &str) -> Option<&Arc<Series>> {
        let find =
            |name, detail| self.series.find(hash_of(kind, name, detail), |series| it(series, kind, name, detail));
        find(name, detail).or_else(|| self.is_full(kind).then(|| find(OTHER, "")).flatten())
    }

    fn is_full(&self, kind: SeriesKind) -> bool {
        self.series.iter().filter(|series| series.kind() == kind).count() >= SERIES_PER_KIND
    }
}

fn hash_of(kind: SeriesKind, name: &str, detail: &str) -> u64 {
    FxBuildHasher.hash_one((kind, name, detail))
}

fn it<'a>(series: &'a Arc<Series>, kind: SeriesKind, name: &str, detail: &str) -> Option<&'a Arc<Series>> {
    series.is(kind, name, detail).then_some(series)
}
