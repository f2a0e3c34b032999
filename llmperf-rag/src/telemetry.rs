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

/// Where the metrics of this crate go.
#[derive(Debug)]
pub(crate) struct Telemetry {
    meters: Meters,
    /// By metric: each has its own limit.
    sets: Vec<Attributes<Key>>,
    convention: Attributes<ConventionKey>,
}

impl Part for Telemetry {
    fn of(instrumentation: &Instrumentation) -> Self {
        Self {
            meters: instrumentation.meters(metrics::scope(), TABLE),
            sets: TABLE.iter().map(|_| Attributes::default()).collect(),
            convention: Attributes::default(),
        }
    }
}

impl Telemetry {
    fn instruments(&self) -> Arc<Instruments> {
        self.meters.current().0
    }

    fn with(&self, from: &Instrumentation, metric: Metric, key: &Key, record: impl FnOnce(&Instruments, &[KeyValue])) {
        if let Some(sets) = self.sets.get(metric as usize) {
            let instruments = self.instruments();
            sets.with(from, key, |set| record(&instruments, set));
        }
    }

    /// Records a time.
    pub(crate) fn seconds(&self, from: &Instrumentation, metric: Metric, time: Duration, key: &Key) {
        self.value(from, metric, time.as_secs_f64(), key);
    }

    /// Records a share, or shows a gauge.
    pub(crate) fn value(&self, from: &Instrumentation, metric: Metric, value: f64, key: &Key) {
        self.with(from, metric, key, |instruments, set| instruments.record(metric as usize, value, set));
    }

    /// Records or adds a count.
    pub(crate) fn count(&self, from: &Instrumentation, metric: Metric, count: u64, key: &Key) {
        self.with(from, metric, key, |instruments, set| instruments.count(metric as usize, count, set));
    }

    /// Records the convention's duration of a retrieval.
    pub(crate) fn retrieval(&self, from: &Instrumentation, time: Duration, key: &ConventionKey) {
        let instruments = self.instruments();
        self.convention.with(from, key, |set| {
            instruments.record(Metric::GenAiDuration as usize, time.as_secs_f64(), set);
        });
    }

    /// The attributes of a series, for what is judged by it.
    pub(crate) fn attributes<T>(
        &self,
        from: &Instrumentation,
        metric: Metric,
        key: &Key,
        use_them: impl FnOnce(&[KeyValue]) -> T,
    ) -> Option<T> {
        Some(self.sets.get(metric as usize)?.with(from, key, use_them))
    }
}
