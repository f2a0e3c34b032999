//! Where the time of one run went: each instant belongs to the innermost thing that was going on.

mod sweep;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Title, slow::seconds};
use crate::journal::{Notes, Tally};

/// Most parts of a run that are told apart: the rest is `other`.
const MOST_PARTS: usize = 16;

/// Where the time of one run went.
///
/// Each instant of the run belongs to the innermost calls and pieces of work that were going on; several at once share
/// it equally, and what nobody covers is [`other`](Self::other). So the exclusive times and `other` add up to
/// the run's duration, to the nanosecond.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Breakdown {
    /// The parts, those with most time of their own first; at most 16.
    pub parts: Vec<RunPart>,
    /// Time that nothing measured covers, and that of parts for which there is no room; serialised in seconds.
    #[serde(with = "seconds")]
    pub other: Duration,
    /// Things that ended after the first 512 of the run: they are counted and added up in their parts, but their time
    /// belongs to whatever was going on around them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unplaced: u64,
}

/// What one run spent in the calls, or the pieces of work, of one title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunPart {
    /// What it is called.
    #[serde(flatten)]
    pub title: Title,
    /// The part around it; absent where there is none, or not always the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Title>,
    /// Time that belongs to it alone; serialised in seconds.
    #[serde(with = "seconds")]
    pub exclusive: Duration,
    /// Time during which at least one of them was going on, whatever went on inside; serialised in seconds.
    #[serde(with = "seconds")]
    pub covered: Duration,
    /// The sum of their durations: more than `covered` where they overlap; serialised in seconds.
    #[serde(with = "seconds")]
    pub total: Duration,
    /// How many there were.
    pub count: u64,
    /// How many of them came one behind the other, at most, in the same pipeline, agent or workflow: the N+1 pattern, where
    /// there is no need for it. Runs inside the run are told apart.
    pub sequential: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Breakdown {
    /// That of a run from `began` to `ended`, in nanoseconds.
    pub(crate) fn of(began: u64, ended: u64, notes: Notes) -> Self {
        let Notes { entries, tallies, beyond } = notes;
        let (mut spent, other) = sweep::sweep(began, ended.max(began), &entries);
        // Past the most nobody knows which run inside this one a thing was in.
        let mut titles = entries.iter().map(|entry| &entry.title).chain(tallies.iter().map(|tally| &tally.title));
        let has_runs = titles.any(sweep::is_run);
        for mut tally in tallies {
            if has_runs {
                tally.sequence.length = tally.sequence.length.min(1);
            }
            match spent.iter_mut().find(|part| part.title == tally.title) {
                Some(part) => part.add(&tally),
                None => spent.push(Spent::of_tally(tally)),
            }
        }
        spent.sort_by(|one, two| two.exclusive.cmp(&one.exclusive).then_with(|| one.title.cmp(&two.title)));
        let small = spent.split_off(spent.len().min(MOST_PARTS));
        let other = small.iter().fold(other, |sum, part| sum + part.exclusive);
        let parts = spent.into_iter().map(RunPart::from).collect();
        Self { parts, other: Duration::from_nanos(other), unplaced: beyond }
    }

    /// The part of this title.
    #[must_use]
    pub fn part(&self, title: &Title) -> Option<&RunPart> {
        self.parts.iter().find(|part| part.title == *title)
    }
}

/// What was spent in one title, in nanoseconds.
#[derive(Debug)]
struct Spent {
    title: Title,
    within: Option<Title>,
    exclusive: u64,
    covered: u64,
    total: u64,
    count: u64,
    sequential: u64,
}

impl Spent {
    fn of_tally(tally: Tally) -> Self {
        let Tally { title, count, nanos, sequence } = tally;
        let sequential = sequence.length;
        Self { title, within: None, exclusive: 0, covered: 0, total: nanos, count, sequential }
    }

    /// What ended later than all that was placed: of its sequence all but the first come surely behind the other one.
    fn add(&mut self, tally: &Tally) {
        self.total = self.total.saturating_add(tally.nanos);
        self.count += tally.count;
        self.sequential += tally.sequence.length.saturating_sub(1);
    }
}

impl From<Spent> for RunPart {
    fn from(spent: Spent) -> Self {
        Self {
            title: spent.title,
            within: spent.within,
            exclusive: Duration::from_nanos(spent.exclusive),
            covered: Duration::from_nanos(spent.covered),
            total: Duration::from_nanos(spent.total),
            count: spent.count,
            sequential: spent.sequential,
        }
    }
}
