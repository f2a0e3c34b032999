//! What a diagnosis says, as data.

use std::time::Duration;

use opentelemetry::trace::TraceId;
use serde::Serialize;

use crate::stats::{SlowCall, Title, Window, slow::seconds};

/// Where the time of the slowest goes, what is repeated, what has grown. `Display` prints a table and a sentence for each
/// finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The window that was looked at.
    pub window: Window,
    /// From which quantile on a run is one of the slowest, from 0 to 1.
    pub quantile: f64,
    /// Which share of the time retrieval may take at P95, from 0 to 1.
    pub retrieval_limit: f64,
    /// Pipelines, agents, workflows, then calls that are in none of them.
    pub roots: Vec<RootDiagnosis>,
}

impl Diagnosis {
    /// What is said of the series of this title.
    #[must_use]
    pub fn root(&self, title: &Title) -> Option<&RootDiagnosis> {
        self.roots.iter().find(|root| root.title == *title)
    }
}

/// What is said of one pipeline, agent, workflow, or model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RootDiagnosis {
    /// What it is called.
    pub title: Title,
    /// Runs, or calls, in the window.
    pub runs: u64,
    /// Their mean duration; serialised in seconds.
    #[serde(serialize_with = "seconds::serialize")]
    pub mean: Duration,
    /// From this duration on a run is one of the slowest; serialised in seconds.
    #[serde(serialize_with = "seconds::serialize")]
    pub slow_from: Duration,
    /// The slowest, at most five.
    pub slowest: Vec<SlowCall>,
    /// How the time of the slowest divides: the largest share first. Empty of calls.
    pub shares: Vec<PartShare>,
    /// The share of that time which no part covers, from 0 to 1; absent of calls.
    pub other: Option<f64>,
    /// Stages and tools that come again and again in one run, one behind the other: those of the slowest first.
    pub repetitions: Vec<Repetition>,
    /// P95 of the share that retrieval takes, from 0 to 1, where that is above its limit in ten runs or more.
    pub retrieval_share: Option<f64>,
    /// How it has grown; absent if it has not, or if there was nothing to compare it with.
    pub growth: Option<Growth>,
}

impl RootDiagnosis {
    /// The traces of the slowest.
    pub fn traces(&self) -> impl Iterator<Item = TraceId> {
        self.slowest.iter().filter_map(|call| call.trace_id)
    }
}

/// What one part takes of the time of the slowest.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartShare {
    /// What it is called.
    pub title: Title,
    /// The part around it; absent where there is none, or not always the same.
    pub within: Option<Title>,
    /// Its own share, from 0 to 1: with the others and what nobody covers it adds up to 1.
    pub share: f64,
    /// The share during which it was going on, whatever went on inside: from 0 to 1.
    pub covered: f64,
    /// Its own time in a run, on average over the slowest; serialised in seconds.
    #[serde(serialize_with = "seconds::serialize")]
    pub time: Duration,
    /// How many there were in all of the slowest.
    pub count: u64,
}

/// The same stage, or tool, again and again in one run: the N+1 pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Repetition {
    /// What is repeated.
    pub title: Title,
    /// The part around it; absent where there is none, or not always the same.
    pub within: Option<Title>,
    /// How many came one behind the other in one run, at most; runs inside that are told apart.
    pub most: u64,
    /// Runs of the window in which it is repeated.
    pub runs: u64,
    /// Of the slowest, those in which it is repeated.
    pub in_slowest: u64,
}

/// A duration before and now; both serialised in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// In the earlier snapshot.
    #[serde(serialize_with = "seconds::serialize")]
    pub before: Duration,
    /// In this one.
    #[serde(serialize_with = "seconds::serialize")]
    pub now: Duration,
}

/// How a whole has grown, and which of its parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Growth {
    /// Its mean.
    pub mean: Change,
    /// Its P95.
    pub p95: Change,
    /// The parts that made it grow: the largest growth first. May be empty: a little of everything.
    pub parts: Vec<PartGrowth>,
    /// Parts that were in at least a tenth of the runs, and are in none now.
    pub gone: Vec<Title>,
}

/// How one part has grown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartGrowth {
    /// What it is called; absent for what no part covers.
    pub title: Option<Title>,
    /// The part around it; absent where there is none, or not always the same.
    pub within: Option<Title>,
    /// Its own time in a run, on average over all runs.
    pub mean: Change,
    /// The same over the slowest.
    pub slowest: Change,
    /// Which share it has in what the whole grew by; above 1 where something else got faster.
    pub share: f64,
    /// How many there are in a run, on average: before and now. Absent for what no part covers.
    pub count: Option<(f64, f64)>,
    /// It is told by the slowest runs alone: the mean of all runs does not show it.
    pub in_slowest_only: bool,
}
