//! What was measured until one instant, as plain data.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    Composition, Figure, Outcomes, SeriesKind, SlowCall, Summary, Table, Window,
    closed::{Closed, Digest},
    slow::seconds,
    summary::per_second,
};

/// Everything that was measured until one instant. What recorded nothing does not appear.
///
/// `Display` prints the table of [`Window::SinceStart`]; [`table`](Self::table) prints another window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The series, in the order of kind, name and detail.
    pub series: Vec<SeriesSnapshot>,
}

impl Snapshot {
    pub(super) fn new(mut series: Vec<SeriesSnapshot>) -> Self {
        series.sort_by(|one, other| one.key().cmp(&other.key()));
        Self { series }
    }

    /// The inference calls of a provider and model.
    #[must_use]
    pub fn call(&self, provider: &str, model: &str) -> Option<&SeriesSnapshot> {
        self.get(SeriesKind::Call, provider, model)
    }

    /// The series of a kind, name and detail.
    #[must_use]
    pub fn get(&self, kind: SeriesKind, name: &str, detail: &str) -> Option<&SeriesSnapshot> {
        self.series.iter().find(|series| series.key() == (kind, name, detail))
    }

    /// Adds the snapshot of another process, taken at about the same time, as if one process had recorded both.
    ///
    /// Counts add up and quantiles are those of all values. Each window covers what the longer of the two covers.
    pub fn merge(&mut self, other: &Self) {
        for theirs in &other.series {
            match self.series.binary_search_by(|ours| ours.key().cmp(&theirs.key())) {
                Ok(known) => self.series.iter_mut().skip(known).take(1).for_each(|ours| ours.merge(theirs)),
                Err(place) => self.series.insert(place, theirs.clone()),
            }
        }
    }

    /// A table of one window, for people.
    pub fn table(&self, window: Window) -> Table<'_> {
        Table::new(self, window)
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table(Window::SinceStart).fmt(f)
    }
}

/// One series: a provider and model, a stage, an agent, a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SeriesSnapshot {
    /// What it is about.
    pub kind: SeriesKind,
    /// Its name, as [`SeriesKind`] says: the provider of calls.
    pub name: String,
    /// Its detail, as [`SeriesKind`] says: the model of calls; may be empty.
    pub detail: String,
    /// The windows in which anything was recorded.
    pub windows: BTreeMap<Window, WindowSnapshot>,
}

impl SeriesSnapshot {
    pub(super) fn new(
        kind: SeriesKind,
        name: &str,
        detail: &str,
        windows: BTreeMap<Window, WindowSnapshot>,
    ) -> Option<Self> {
        (!windows.is_empty()).then(|| Self { kind, name: name.into(), detail: detail.into(), windows })
    }

    /// A window; absent if nothing was recorded in it.
    #[must_use]
    pub fn window(&self, window: Window) -> Option<&WindowSnapshot> {
        self.windows.get(&window)
    }

    /// A figure of a window; absent if it has no value there.
    #[must_use]
    pub fn figure(&self, window: Window, figure: Figure) -> Option<&Summary> {
        self.window(window)?.figures.get(&figure)
    }

    fn key(&self) -> (SeriesKind, &str, &str) {
        (self.kind, &self.name, &self.detail)
    }

    fn merge(&mut self, other: &Self) {
        for (window, theirs) in &other.windows {
            self.windows.entry(*window).and_modify(|ours| ours.merge(theirs)).or_insert_with(|| theirs.clone());
        }
    }
}

/// One window of one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
#[non_exhaustive]
pub struct WindowSnapshot {
    /// The time that the window covers: shorter than its name while its newest slice fills and while the process is
    /// young. Serialised as `covered_seconds`.
    #[serde(rename = "covered_seconds", serialize_with = "seconds::serialize")]
    pub covered: Duration,
    /// How the calls ended.
    pub outcomes: Outcomes,
    /// Calls that ended, per second of the time that is covered; absent if that is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// The figures that have values.
    pub figures: BTreeMap<Figure, Summary>,
    /// The slowest calls, at most five, slowest first.
    pub slowest: Vec<SlowCall>,
    /// What the runs were made of; absent where nothing was a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composition: Option<Box<Composition>>,
}

impl WindowSnapshot {
    pub(super) fn new(closed: &Closed, covered: Duration) -> Self {
        let summary = |figure, digest| Some((figure, Summary::new(figure, digest, covered)?));
        Self {
            covered,
            outcomes: closed.outcomes,
            per_second: per_second(closed.outcomes.all(), covered),
            figures: closed.figures.iter().filter_map(|(figure, digest)| summary(*figure, digest)).collect(),
            slowest: closed.slowest.iter().cloned().collect(),
            composition: closed.composition.clone(),
        }
    }

    fn merge(&mut self, other: &Self) {
        let mut closed = self.closed();
        closed.merge(&other.closed());
        *self = Self::new(&closed, self.covered.max(other.covered));
    }

    fn closed(&self) -> Closed {
        let figures = self.figures.iter().map(|(figure, summary)| (*figure, summary.digest().clone()));
        Closed {
            figures: figures.collect(),
            outcomes: self.outcomes,
            slowest: self.slowest.iter().cloned().collect(),
            composition: self.composition.clone(),
        }
    }
}

/// What is read of a serialised window. The rest follows from it, and is derived again: exact, whatever the text
/// format did to the digits.
#[derive(Deserialize)]
struct Stored {
    #[serde(rename = "covered_seconds", deserialize_with = "seconds::deserialize")]
    covered: Duration,
    outcomes: Outcomes,
    figures: BTreeMap<Figure, StoredFigure>,
    slowest: Vec<SlowCall>,
    #[serde(default)]
    composition: Option<Box<Composition>>,
}

#[derive(Deserialize)]
struct StoredFigure {
    histogram: Digest,
}

impl From<Stored> for WindowSnapshot {
    fn from(stored: Stored) -> Self {
        let figures = stored.figures.into_iter().map(|(figure, stored)| (figure, stored.histogram));
        let closed = Closed {
            figures: figures.collect(),
            outcomes: stored.outcomes,
            slowest: stored.slowest.into_iter().collect(),
            composition: stored.composition,
        };
        Self::new(&closed, stored.covered)
    }
}
