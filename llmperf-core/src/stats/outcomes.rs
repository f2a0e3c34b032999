//! How the calls of a window ended, and the rates that follow.

use serde::{Deserialize, Serialize};

use crate::Outcome;

/// Counts of calls by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcomes {
    /// Calls whose answer is whole.
    pub complete: u64,
    /// Calls that failed.
    pub error: u64,
    /// Calls whose stream ended too early.
    pub interrupted: u64,
    /// Calls that the caller dropped.
    pub cancelled: u64,
    /// Calls, of all of these, that streamed.
    pub streamed: u64,
    /// Calls that streamed and that the caller dropped.
    pub streamed_cancelled: u64,
}

impl Outcomes {
    pub(super) fn record(&mut self, outcome: Outcome, streamed: bool) {
        *match outcome {
            Outcome::Complete => &mut self.complete,
            Outcome::Error => &mut self.error,
            Outcome::Interrupted => &mut self.interrupted,
            Outcome::Cancelled => &mut self.cancelled,
        } += 1;
        self.streamed += u64::from(streamed);
        self.streamed_cancelled += u64::from(streamed && outcome == Outcome::Cancelled);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (count, more) in [
            (&mut self.complete, other.complete),
            (&mut self.error, other.error),
            (&mut self.interrupted, other.interrupted),
            (&mut self.cancelled, other.cancelled),
            (&mut self.streamed, other.streamed),
            (&mut self.streamed_cancelled, other.streamed_cancelled),
        ] {
            *count = count.saturating_add(more);
        }
    }

    /// The count of one outcome.
    #[must_use]
    pub fn count(&self, outcome: Outcome) -> u64 {
        match outcome {
            Outcome::Complete => self.complete,
            Outcome::Error => self.error,
            Outcome::Interrupted => self.interrupted,
            Outcome::Cancelled => self.cancelled,
        }
    }

    /// All calls that ended.
    #[must_use]
    pub fn all(&self) -> u64 {
        Outcome::ALL.iter().fold(0, |all, outcome| all.saturating_add(self.count(*outcome)))
    }

    /// complete / all, from 0 to 1; absent without calls.
    #[must_use]
    pub fn completion_rate(&self) -> Option<f64> {
        share(self.complete, self.all())
    }

    /// error / (all − cancelled), from 0 to 1; absent without such calls.
    #[must_use]
    pub fn error_rate(&self) -> Option<f64> {
        share(self.error, self.all().saturating_sub(self.cancelled))
    }

    /// interrupted / (streamed − cancelled), from 0 to 1; absent without such calls.
    #[must_use]
    pub fn interruption_rate(&self) -> Option<f64> {
        share(self.interrupted, self.streamed.saturating_sub(self.streamed_cancelled))
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
