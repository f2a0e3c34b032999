//! Instruments and attribute sets of this crate, once per instrumentation.

use std::{sync::Arc, time::Duration};

use llmperf_core::{
    Instrumentation, Instruments, Meters,
    opentelemetry::KeyValue,
    part::{Attributes, Part},
};

use crate::{
    key::{ConventionKey, Key},
    metrics::{self, Metric, TABLE},
};

/// What this crate keeps for an instrumentation.
#[derive(Debug)]
struct Records {
    meters: Meters,
    /// By metric: each has its own limit.
    sets: Vec<Attributes<Key>>,
    convention: Attributes<ConventionKey>,
}

impl Part for Records {
    fn of(instrumentation: &Instrumentation) -> Self {
        Self {
            meters: instrumentation.meters(metrics::scope(), TABLE),
            sets: TABLE.iter().map(|_| Attributes::default()).collect(),
            convention: Attributes::default(),
        }
    }
}

/// Where the metrics of this crate go now: asked for once by whatever records.
#[derive(Debug)]
pub(crate) struct Telemetry<'a> {
    from: &'a Instrumentation,
    records: &'a Records,
    instruments: Arc<Instruments>,
}

impl<'a> Telemetry<'a> {
    pub(crate) fn of(from: &'a Instrumentation) -> Self {
        let records = from.part::<Records>();
        let (instruments, _) = records.meters.current();
        Self { from, records, instruments }
    }

    /// Records a time.
    pub(crate) fn seconds(&self, metric: Metric, time: Duration, key: &Key) {
        self.value(metric, time.as_secs_f64(), key);
    }

    /// Records a share, or shows a gauge.
    pub(crate) fn value(&self, metric: Metric, value: f64, key: &Key) {
        self.attributes(metric, key, |set| self.instruments.record(metric as usize, value, set));
    }

    /// Records or adds a count.
    pub(crate) fn count(&self, metric: Metric, count: u64, key: &Key) {
        self.attributes(metric, key, |set| self.instruments.count(metric as usize, count, set));
    }

    /// Records the convention's duration of a retrieval.
    pub(crate) fn retrieval(&self, time: Duration, key: &ConventionKey) {
        self.records.convention.with(self.from, key, |set| {
            self.instruments.record(Metric::GenAiDuration as usize, time.as_secs_f64(), set);
        });
    }

    /// The attributes of a series, for what is judged by it.
    pub(crate) fn attributes(&self, metric: Metric, key: &Key, use_them: impl FnOnce(&[KeyValue])) {
        if let Some(sets) = self.records.sets.get(metric as usize) {
            sets.with(self.from, key, use_them);
        }
    }
}
