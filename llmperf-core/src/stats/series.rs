//! One series: everything recorded under one kind, name and detail.

use std::{
    collections::VecDeque,
    sync::{Mutex, TryLockError},
};

use serde::{Deserialize, Serialize};

use super::{
    Figure, SeriesSnapshot, SlowCall, Window, WindowSnapshot, lock,
    slice::Slice,
    window::{Ring, slice_at},
};
use crate::Outcome;

/// What a series is about; it says what its name and its detail are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SeriesKind {
    /// Inference calls of this process: provider and model.
    Call,
    /// Inference calls that this process answers: provider and model.
    ServerCall,
    /// Runs of a pipeline: the pipeline.
    Pipeline,
    /// Stages of a pipeline: the stage, and the store or model that it uses.
    Stage,
    /// Runs of an agent: the agent, and the class of its task.
    Agent,
    /// Steps of an agent's run: the agent, and the step.
    Step,
    /// Plans of an agent: the agent.
    Plan,
    /// Tool calls: the tool.
    Tool,
    /// Runs of a workflow: the workflow.
    Workflow,
    /// Requests to another service that are neither: the method, and what it is asked for.
    Operation,
}

impl SeriesKind {
    /// The name, as it stands in a serialised snapshot.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::ServerCall => "server_call",
            Self::Pipeline => "pipeline",
            Self::Stage => "stage",
            Self::Agent => "agent",
            Self::Step => "step",
            Self::Plan => "plan",
            Self::Tool => "tool",
            Self::Workflow => "workflow",
            Self::Operation => "operation",
        }
    }
}

/// A recorder that many threads share.
///
/// Two locks, so that recording never waits for a snapshot: `open` is held for a record or for swapping a slice,
/// `past` for packing and adding up. A recorder only tries `past`; whoever takes it next finds what was left to do.
/// `past` is taken before `open`, never after.
#[derive(Debug)]
pub(crate) struct Series {
    kind: SeriesKind,
    name: Box<str>,
    detail: Box<str>,
    open: Mutex<Open>,
    past: Mutex<Past>,
}

impl Series {
    pub(super) fn new(kind: SeriesKind, name: &str, detail: &str) -> Self {
        Self {
            kind,
            name: name.into(),
            detail: detail.into(),
            open: Mutex::default(),
            past: Mutex::new(Window::ALL.map(Ring::new)),
        }
    }

    pub(super) fn is(&self, kind: SeriesKind, name: &str, detail: &str) -> bool {
        self.kind == kind && *self.detail == *detail && *self.name == *name
    }

    pub(super) fn kind(&self) -> SeriesKind {
        self.kind
    }

    /// Records a call that ended, all its figures under one lock. `figures` are nanoseconds, or thousandths of a token
    /// per second; `streamed` says whether its outcome counts for the interruption rate.
    pub(crate) fn record(
        &self,
        now: u64,
        figures: impl IntoIterator<Item = (Figure, u64)>,
        outcome: Outcome,
        streamed: bool,
        slow: Option<SlowCall>,
    ) {
        self.with_slice(now, |slice| {
            figures.into_iter().for_each(|(figure, value)| slice.record(figure, &[value]));
            slice.outcomes.record(outcome, streamed);
            slow.into_iter().for_each(|slow| slice.slow(slow));
        });
    }

    /// Records many values of one figure, of a call that may still run.
    pub(crate) fn record_many(&self, now: u64, figure: Figure, values: &[u64]) {
        if !values.is_empty() {
            self.with_slice(now, |slice| slice.record(figure, values));
        }
    }

    fn with_slice(&self, now: u64, record: impl FnOnce(&mut Slice)) {
        let mut open = lock(&self.open);
        record(open.slice(slice_at(now)));
        let left = !open.over.is_empty();
        drop(open);
        if left {
            self.try_fold();
        }
    }

    fn try_fold(&self) {
        match self.past.try_lock() {
            Ok(mut past) => self.fold(&mut past),
            Err(TryLockError::Poisoned(past)) => self.fold(&mut past.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// Packs the slices that are over and adds them to the windows.
    fn fold(&self, past: &mut Past) {
        while let Some((number, mut slice)) = self.next_over() {
            let closed = slice.pack();
            past.iter_mut().for_each(|ring| ring.add(number, &closed));
            slice.clear();
            lock(&self.open).spare = Some(slice);
        }
    }

    fn next_over(&self) -> Option<(u64, Box<Slice>)> {
        lock(&self.open).over.pop_front()
    }

    /// Everything recorded until `now` by a registry that was made at `started`; absent if that is nothing.
    pub(super) fn snapshot(&self, started: u64, now: u64) -> Option<SeriesSnapshot> {
        let mut past = lock(&self.past);
        let newest = lock(&self.open).end(slice_at(now));
        self.fold(&mut past);
        let windows = past.iter_mut().filter_map(|ring| {
            ring.expire(newest);
            let covered = ring.window().covered(started, now);
            Some((ring.window(), WindowSnapshot::new(&ring.total()?, covered)))
        });
        SeriesSnapshot::new(self.kind, &self.name, &self.detail, windows.collect())
    }
}

/// A ring for each window.
type Past = [Ring; Window::ALL.len()];

/// What the recording path touches.
#[derive(Debug, Default)]
struct Open {
    /// The number of the newest slice; it never goes back.
    number: u64,
    slice: Option<Box<Slice>>,
    /// Slices that are over and not yet in the windows, oldest first.
    over: VecDeque<(u64, Box<Slice>)>,
    /// An empty slice that has its memory already.
    spare: Option<Box<Slice>>,
}

impl Open {
    /// The slice with this number, or the newest if that is younger: nothing is lost, nor out of order, when a
    /// processor's clock is a little behind.
    fn slice(&mut self, number: u64) -> &mut Slice {
        if number > self.number {
            self.end(number);
        }
        self.slice.get_or_insert_with(|| self.spare.take().unwrap_or_default())
    }

    /// Ends the open slice and tells the number of the newest, which is now at least `number`.
    fn end(&mut self, number: u64) -> u64 {
        self.over.extend(self.slice.take().map(|slice| (self.number, slice)));
        self.number = self.number.max(number);
        self.number
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use std::{panic, thread};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn record(series: &Series, now: u64) {
        series.record(now, [(Figure::Duration, SECOND)], Outcome::Complete, true, None);
    }

    fn calls(series: &Series, now: u64) -> u64 {
        series.snapshot(0, now).unwrap().window(Window::SinceStart).unwrap().outcomes.all()
    }

    #[test]
    fn recording_goes_on_while_a_snapshot_holds_the_past() {
        let series = Series::new(SeriesKind::Call, "openai", "gpt");
        let past = lock(&series.past);
        (0..5).for_each(|slice| record(&series, slice * 10 * SECOND));
        assert_eq!(lock(&series.open).over.len(), 4);
        drop(past);
        record(&series, 41 * SECOND);
        assert!(lock(&series.open).over.is_empty(), "the next record folds what was left");
        assert_eq!(calls(&series, 50 * SECOND), 6);
    }

    #[test]
    fn a_panic_under_either_lock_stops_nothing() {
        let series = Series::new(SeriesKind::Call, "openai", "gpt");
        record(&series, 0);
        thread::scope(|scope| {
            let panicked = scope.spawn(|| {
                let _locks = (series.past.lock().unwrap(), series.open.lock().unwrap());
                panic::resume_unwind(Box::new("poison"));
            });
            assert!(panicked.join().is_err());
        });
        assert!(series.past.is_poisoned() && series.open.is_poisoned());
        (1..4).for_each(|slice| record(&series, slice * 10 * SECOND));
        assert_eq!(calls(&series, 40 * SECOND), 4);
    }
}
