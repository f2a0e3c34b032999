//! What ended inside a run: the raw material for telling where its time went.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{stats::SeriesKind, text::Text};

/// Most entries of one run: a run that never ends must not grow without end.
const MOST: usize = 512;

/// A call or a piece of work that ended, on the time axis of the statistics.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: SeriesKind,
    pub(crate) name: Text,
    pub(crate) detail: Text,
    /// Its own frame; 0 where it has none.
    pub(crate) id: u64,
    /// The frame that it was in.
    pub(crate) within: u64,
    /// Nanoseconds.
    pub(crate) began: u64,
    /// Nanoseconds.
    pub(crate) ended: u64,
}

/// The entries of one run, in their order of ending.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Vec<Entry>>);

impl Journal {
    pub(crate) fn note(&self, entry: &Entry) {
        let mut entries = self.lock();
        if entries.len() < MOST {
            entries.push(entry.clone());
        }
    }

    /// Takes the entries out.
    pub(crate) fn take(&self) -> Vec<Entry> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
