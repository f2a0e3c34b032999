//! What the runs of a window were made of: the breakdowns of all of them, added up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Breakdown, RunPart, Title};
use crate::clock::nanos_of;

/// Most parts that are told apart in one window of one series: the rest is `other`.
const MOST_PARTS: usize = 32;

/// What the runs of a window were made of. Adds up over windows and processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Composition {
    /// Runs.
    pub runs: u64,
    /// The parts that occur in them, in the order of their titles; at most 32.
    pub parts: Vec<PartTotals>,
    nanos: u64,
    other: Spread,
    /// Things that ended after the first 512 of their run, as [`Breakdown::unplaced`] has them.
    #[serde(default)]
    pub unplaced: u64,
}

/// What the runs of a window spent in the calls, or the pieces of work, of one title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PartTotals {
    /// What it is called.
    #[serde(flatten)]
    pub title: Title,
    /// The part around it; absent where there is none, or not always the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Title>,
    /// Runs in which it occurs.
    pub runs: u64,
    /// How many there were, in all runs.
    pub count: u64,
    /// How many came one behind the other in one run, at most; runs inside that are told apart.
    pub most_sequential: u64,
    exclusive: Spread,
    /// Runs by how many came one behind the other: 2, 3, up to 10 and more.
    by_sequential: [u64; 9],
}

/// The values of many runs, in nanoseconds: their sum, and the sum of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spread {
    nanos: u64,
    #[serde(with = "halves")]
    squares: u128,
}

impl Composition {
    /// Adds a run.
    pub(super) fn add(&mut self, duration: Duration, breakdown: &Breakdown) {
        self.runs += 1;
        self.unplaced = self.unplaced.saturating_add(breakdown.unplaced);
        self.nanos = self.nanos.saturating_add(nanos_of(duration));
        let mut other = nanos_of(breakdown.other);
        for part in &breakdown.parts {
            match self.place(&part.title) {
                Some(totals) => totals.add(part),
                None => other = other.saturating_add(nanos_of(part.exclusive)),
            }
        }
        self.other.add(other);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.runs = self.runs.saturating_add(other.runs);
        self.unplaced = self.unplaced.saturating_add(other.unplaced);
        self.nanos = self.nanos.saturating_add(other.nanos);
        self.other.merge(&other.other);
        for theirs in &other.parts {
            match self.place(&theirs.title) {
                Some(ours) => ours.merge(theirs),
                None => self.other.merge(&theirs.exclusive),
            }
        }
    }

    /// The part of this title.
    #[must_use]
    pub fn part(&self, title: &Title) -> Option<&PartTotals> {
        self.parts.iter().find(|part| part.title == *title)
    }

    /// The duration of all runs together.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.nanos)
    }

    /// The time of all runs that no part covers.
    #[must_use]
    pub fn other(&self) -> Duration {
        Duration::from_nanos(self.other.nanos)
    }

    /// The totals of a title, made if there is room.
    fn place(&mut self, title: &Title) -> Option<&mut PartTotals> {
        let place = match self.parts.binary_search_by(|part| part.title.cmp(title)) {
            Ok(place) => place,
            Err(_) if self.parts.len() >= MOST_PARTS => return None,
            Err(place) => {
                self.parts.insert(place, PartTotals::of(title.clone()));
                place
            }
        };
        self.parts.get_mut(place)
    }

    pub(super) fn other_spread(&self) -> Spread {
        self.other
    }
}

impl PartTotals {
    fn of(title: Title) -> Self {
        Self {
            title,
            within: None,
            runs: 0,
            count: 0,
            most_sequential: 0,
            exclusive: Spread::default(),
            by_sequential: [0; 9],
        }
    }

    fn add(&mut self, part: &RunPart) {
        self.locate(part.within.as_ref());
        self.runs += 1;
        self.count = self.count.saturating_add(part.count);
        self.exclusive.add(nanos_of(part.exclusive));
        self.most_sequential = self.most_sequential.max(part.sequential);
        let runs = part.sequential.checked_sub(2).map(|from_two| from_two.min(8));
        if let Some(runs) = runs.and_then(|place| self.by_sequential.get_mut(place as usize)) {
            *runs += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.locate(other.within.as_ref());
        self.runs = self.runs.saturating_add(other.runs);
        self.count = self.count.saturating_add(other.count);
        self.exclusive.merge(&other.exclusive);
        self.most_sequential = self.most_sequential.max(other.most_sequential);
        for (runs, more) in self.by_sequential.iter_mut().zip(other.by_sequential) {
            *runs = runs.saturating_add(more);
        }
    }

    /// What was in one part first, and is in another then, is in none.
    fn locate(&mut self, within: Option<&Title>) {
        if self.runs == 0 {
            self.within = within.cloned();
        } else if self.within.as_ref() != within {
            self.within = None;
        }
    }

    /// The time that belongs to it alone, of all runs together.
    #[must_use]
    pub fn exclusive(&self) -> Duration {
        Duration::from_nanos(self.exclusive.nanos)
    }

    /// Runs in which at least so many came one behind the other; numbers above 10 count as 10.
    #[must_use]
    pub fn runs_with_sequential(&self, at_least: u64) -> u64 {
        let skipped = at_least.clamp(2, 10) - 2;
        self.by_sequential.iter().skip(skipped as usize).fold(0, |sum, runs| sum.saturating_add(*runs))
    }

    pub(super) fn spread(&self) -> Spread {
        self.exclusive
    }
}

impl Spread {
    fn add(&mut self, nanos: u64) {
        let wide = u128::from(nanos);
        self.nanos = self.nanos.saturating_add(nanos);
        self.squares = self.squares.saturating_add(wide * wide);
    }

    fn merge(&mut self, other: &Self) {
        self.nanos = self.nanos.saturating_add(other.nanos);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// The mean over so many runs, in seconds: what a run does not have counts as nothing. 0 without runs.
    pub(super) fn mean(&self, runs: u64) -> f64 {
        if runs == 0 { 0.0 } else { self.nanos as f64 / 1e9 / runs as f64 }
    }

    /// The variance of that mean, in seconds squared; 0 with fewer than two runs.
    pub(super) fn variance_of_mean(&self, runs: u64) -> f64 {
        if runs < 2 {
            return 0.0;
        }
        let (count, mean) = (runs as f64, self.mean(runs));
        let squares = self.squares as f64 / 1e18;
        ((squares - count * mean * mean) / (count - 1.0)).max(0.0) / count
    }
}

/// A wide number as its two halves, the higher one first: not every reader of JSON knows such numbers.
mod halves {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(number: &u128, to: S) -> Result<S::Ok, S::Error> {
        ((*number >> 64) as u64, *number as u64).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let (high, low) = <(u64, u64)>::deserialize(from)?;
        Ok((u128::from(high) << 64) | u128::from(low))
    }
}
