//! What is kept for each instrumentation, and how it is recorded to: instruments, and attribute sets by their keys.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use llmperf_core::{
    Instrumentation, Instruments, Meters,
    part::{Attributes, CappedNames, Custom, Ended, Labels, Part, SetKey, Text},
};
use opentelemetry::KeyValue;

use crate::metrics::{self, Metric, TABLE};

/// What a name becomes that came too late.
const OTHER: Text = Text::Static("_other");

/// The attributes of a metric: names by which they are capped, values of closed lists, labels of the user's own. What is
/// empty is left out.
#[derive(Clone, Debug)]
pub(crate) struct Key<const NAMES: usize, const CLOSED: usize> {
    pub(crate) names: [(&'static str, Text); NAMES],
    pub(crate) closed: [(&'static str, &'static str); CLOSED],
    pub(crate) labels: Labels,
}

impl<const NAMES: usize, const CLOSED: usize> PartialEq for Key<NAMES, CLOSED> {
    /// Texts of the program are mostly the same ones.
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &'static str, other: &'static str| Text::Static(one) == Text::Static(other);
        let mut names = self.names.iter().zip(&other.names);
        let mut closed = self.closed.iter().zip(&other.closed);
        names.all(|(one, other)| one.1 == other.1 && same(one.0, other.0))
            && closed.all(|(one, other)| same(one.1, other.1) && same(one.0, other.0))
            && self.labels == other.labels
    }
}

impl<const NAMES: usize, const CLOSED: usize> Eq for Key<NAMES, CLOSED> {}

impl<const NAMES: usize, const CLOSED: usize> Hash for Key<NAMES, CLOSED> {
    /// What tells most keys apart: attributes are those of the shape, closed lists are short.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.names.iter().filter(|(_, name)| !name.as_str().is_empty()).for_each(|(_, name)| name.hash(state));
        self.closed.iter().for_each(|(_, value)| value.len().hash(state));
        self.labels.iter().flatten().for_each(|(_, value)| value.hash(state));
    }
}

impl<const NAMES: usize, const CLOSED: usize> SetKey for Key<NAMES, CLOSED> {
    fn attributes(&self) -> Vec<KeyValue> {
        let names = self.names.iter().filter(|(_, name)| !name.as_str().is_empty());
        let closed = self.closed.iter().filter(|(_, value)| !value.is_empty());
        names
            .map(|(key, name)| KeyValue::new(*key, name.clone()))
            .chain(closed.map(|(key, value)| KeyValue::new(*key, *value)))
            .chain(Custom::on_metric(&self.labels))
            .collect()
    }

    fn capped(&self, names: &CappedNames<'_>) -> Self {
        let capped = |(key, name): &(&'static str, Text)| {
            let empty = name.as_str().is_empty();
            (*key, if empty { name.clone() } else { names.capped(key, name) })
        };
        Self {
            names: self.names.each_ref().map(capped),
            closed: self.closed,
            labels: Custom::capped(&self.labels, names),
        }
    }

    fn folded(&self) -> Self {
        let folded = |(key, name): &(&'static str, Text)| {
            let empty = name.as_str().is_empty();
            (*key, if empty { name.clone() } else { OTHER })
        };
        let label = |label: &Option<(&'static str, Text)>| label.as_ref().map(|(key, _)| (*key, OTHER));
        Self {
            names: self.names.each_ref().map(folded),
            closed: self.closed,
            labels: self.labels.each_ref().map(label),
        }
    }
}

/// What this crate keeps for an instrumentation: a set of attribute sets for each shape of them.
#[derive(Debug)]
pub(crate) struct Records {
    meters: Meters,
    pub(crate) results: Attributes<Key<2, 1>>,
    pub(crate) runs: Attributes<Key<2, 1>>,
    pub(crate) steps: Attributes<Key<2, 1>>,
    pub(crate) tools: Attributes<Key<2, 1>>,
    pub(crate) repeated: Attributes<Key<2, 0>>,
    pub(crate) agents: Attributes<Key<1, 0>>,
    pub(crate) invoke_agent: Attributes<Key<3, 0>>,
    pub(crate) execute_tool: Attributes<Key<4, 0>>,
    pub(crate) workflows: Attributes<Key<2, 0>>,
    pub(crate) operations: Attributes<Key<6, 0>>,
}

impl Part for Records {
    fn of(instrumentation: &Instrumentation) -> Self {
        Self {
            meters: instrumentation.meters(metrics::scope(), TABLE),
            results: Attributes::default(),
            runs: Attributes::default(),
            steps: Attributes::default(),
            tools: Attributes::default(),
            repeated: Attributes::default(),
            agents: Attributes::default(),
            invoke_agent: Attributes::default(),
            execute_tool: Attributes::default(),
            workflows: Attributes::default(),
            operations: Attributes::default(),
        }
    }
}

/// The records of one end.
pub(crate) struct Recording<'a> {
    instrumentation: &'a Instrumentation,
    pub(crate) records: &'a Records,
    pub(crate) instruments: Arc<Instruments>,
}

impl<'a> Recording<'a> {
    pub(crate) fn of(ended: &Ended<'a>) -> Self {
        let instrumentation = ended.instrumentation;
        let records = instrumentation.part::<Records>();
        let (instruments, _) = records.meters.current();
        Self { instrumentation, records, instruments }
    }

    /// Gives the attributes of a key to `record`, with the instruments.
    pub(crate) fn with<K: SetKey>(
        &self,
        sets: &Attributes<K>,
        key: &K,
        record: impl FnOnce(&Instruments, &[KeyValue]),
    ) {
        sets.with(self.instrumentation, key, |attributes| record(&self.instruments, attributes));
    }
}

/// Records seconds.
pub(crate) fn seconds(instruments: &Instruments, metric: Metric, time: Duration, attributes: &[KeyValue]) {
    instruments.record(metric as usize, time.as_secs_f64(), attributes);
}

/// The `error.type` of an end, empty where it did not fail.
pub(crate) fn error_type(ended: &Ended<'_>) -> Text {
    match ended.error_type {
        None => Text::default(),
        Some("timeout") => "timeout".into(),
        Some("panic") => "panic".into(),
        Some(other) => other.to_owned().into(),
    }
}
