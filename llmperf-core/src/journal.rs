//! What ended inside a run: the raw material for telling where its time went.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::stats::Title;

/// Most entries of one run: a run that never ends must not grow without end.
pub(crate) const MOST: usize = 512;
/// Most titles that are told apart among the entries past that.
const MOST_TALLIED: usize = 16;

/// A call or a piece of work that ended, on the time axis of the statistics.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) title: Title,
    /// Of a call its own, of work that of its frame; 0 where it has none.
    pub(crate) id: u64,
    /// Of work the call that it was in, inside the work around it; 0 where there is none.
    pub(crate) call: u64,
    /// The frame of the work that it was in.
    pub(crate) within: u64,
    /// Nanoseconds.
    pub(crate) began: u64,
    /// Nanoseconds.
    pub(crate) ended: u64,
}

/// What ended inside one run, in the order of ending, until the run ends itself.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<State>);

#[derive(Debug)]
enum State {
    Open(Notes),
    /// The run has ended: whatever comes is late.
    Closed,
}

impl Default for State {
    fn default() -> Self {
        Self::Open(Notes::default())
    }
}

/// The entries of one run, and what is kept of those past the [most](MOST).
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) entries: Vec<Entry>,
    pub(crate) tallies: Vec<Tally>,
    /// How many entries are past the most.
    pub(crate) beyond: u64,
}

/// Entries of one title that are counted and added up, but placed nowhere.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) title: Title,
    pub(crate) count: u64,
    /// The sum of their durations, in nanoseconds.
    pub(crate) nanos: u64,
    pub(crate) sequence: Sequence,
}

impl Journal {
    pub(crate) fn note(&self, entry: &Entry) {
        if let State::Open(notes) = &mut *self.lock() {
            notes.note(entry);
        }
    }

    /// Takes everything out; nothing is noted any more.
    pub(crate) fn close(&self) -> Notes {
        match std::mem::replace(&mut *self.lock(), State::Closed) {
            State::Open(notes) => notes,
            State::Closed => Notes::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    pub(crate) fn note(&mut self, entry: &Entry) {
        if self.entries.len() < MOST {
            self.entries.push(entry.clone());
            return;
        }
        self.beyond += 1;
        let known = self.tallies.iter().position(|tally| tally.title == entry.title);
        let place = known.unwrap_or_else(|| {
            if self.tallies.len() < MOST_TALLIED {
                self.tallies.push(Tally::of(entry.title.clone()));
            }
            self.tallies.len() - 1
        });
        if let Some(tally) = self.tallies.get_mut(place).filter(|tally| tally.title == entry.title) {
            tally.count += 1;
            tally.nanos = tally.nanos.saturating_add(entry.ended.saturating_sub(entry.began));
            tally.sequence.add(entry.began, entry.ended);
        }
    }
}

impl Tally {
    fn of(title: Title) -> Self {
        Self { title, count: 0, nanos: 0, sequence: Sequence::default() }
    }
}

/// The longest sequence of entries one behind the other: the greedy one, by their ends, in whose order they come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) length: u64,
    last: u64,
}

impl Sequence {
    /// An entry that ends no sooner than all before it. What took no time repeats nothing at the same instant.
    pub(crate) fn add(&mut self, began: u64, ended: u64) {
        if self.length == 0 || (began >= self.last && ended > self.last) {
            self.length += 1;
            self.last = ended;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SeriesKind;

    fn entry(name: String, began: u64, ended: u64) -> Entry {
        Entry { title: Title::new(SeriesKind::Tool, name, ""), id: 0, call: 0, within: 1, began, ended }
    }

    #[test]
    fn past_the_most_entries_are_counted_and_added_up() {
        let journal = Journal::default();
        (0..600).for_each(|number| journal.note(&entry("search".into(), number * 10, number * 10 + 7)));
        let notes = journal.close();
        assert_eq!((notes.entries.len(), notes.beyond, notes.tallies.len()), (MOST, 88, 1));
        let tally = &notes.tallies[0];
        assert_eq!((tally.count, tally.nanos, tally.sequence.length), (88, 88 * 7, 88));
    }

    #[test]
    fn names_past_the_most_are_told_apart_up_to_a_limit() {
        let journal = Journal::default();
        (0..1_000).for_each(|number| journal.note(&entry(format!("tool {number}"), number, number + 1)));
        let notes = journal.close();
        assert_eq!((notes.beyond, notes.tallies.len()), (1_000 - MOST as u64, MOST_TALLIED));
        assert!(notes.tallies.iter().all(|tally| tally.count == 1), "what there is no room for is in no other's count");
    }

    #[test]
    fn a_journal_that_is_closed_keeps_nothing_that_is_late() {
        let journal = Journal::default();
        journal.note(&entry("search".into(), 0, 1));
        assert_eq!(journal.close().entries.len(), 1);
        journal.note(&entry("search".into(), 1, 2));
        assert_eq!(journal.close().entries.len(), 0);
    }

    #[test]
    fn a_sequence_counts_what_does_not_overlap() {
        let of = |entries: &[(u64, u64)]| {
            let mut sequence = Sequence::default();
            entries.iter().for_each(|(began, ended)| sequence.add(*began, *ended));
            sequence.length
        };
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[(0, 5), (5, 9), (9, 12)]), 3);
        assert_eq!(of(&[(0, 5), (0, 5), (0, 5)]), 1, "a fan-out");
        assert_eq!(of(&[(0, 2), (1, 3), (2, 4), (3, 5)]), 2, "two pairs side by side");
        assert_eq!(of(&[(7, 7), (7, 7), (7, 7)]), 1, "no time at one instant");
        assert_eq!(of(&[(6, 7), (7, 7), (8, 8)]), 2);
    }
}
