//! Stub until the statistics are merged.
#![allow(missing_docs, dead_code, unused, clippy::all, reason = "stub")]
use crate::Outcome;
use std::sync::Arc;
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    Duration,
    TimeToHead,
    TimeToFirstChunk,
    TimeToFirstToken,
    TimeToFirstAnswer,
    TimePerOutputToken,
    ChunkGap,
    LongestGap,
    OutputTokenRate,
}
#[derive(Clone, Copy, Debug)]
pub(crate) enum SeriesKind {
    Call,
}
#[derive(Debug, Default)]
pub(crate) struct Registry;
#[derive(Debug)]
pub(crate) struct Series;
#[derive(Debug)]
pub struct Snapshot;
#[derive(Clone, Copy, Debug)]
pub struct SlowCall {
    pub duration: u64,
    pub time_to_first_token: Option<u64>,
    pub trace_id: [u8; 16],
}
impl Registry {
    pub(crate) fn new() -> Self {
        Self
    }
    pub(crate) fn series(&self, _: SeriesKind, _: &str, _: &str) -> Arc<Series> {
        Arc::new(Series)
    }
    pub(crate) fn snapshot(&self, _now: u64) -> Snapshot {
        Snapshot
    }
}
impl Series {
    pub(crate) fn record(
        &self,
        _now: u64,
        _figures: &[(Figure, u64)],
        _outcome: Outcome,
        _streamed: bool,
        _slow: Option<SlowCall>,
    ) {
    }
    pub(crate) fn record_many(&self, _now: u64, _figure: Figure, _values: &[u64]) {}
}
