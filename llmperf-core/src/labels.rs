//! Attribute sets of metrics: closed, in constant order, capped, made once and shared by all calls of a series.
//!
//! A *series* is what calls have in common at their start: side, operation, provider, request model, server, scenario,
//! the user's own labels. Its [`Sets`] hold every attribute set that a finished call needs, each made on first use, so
//! that recording builds none.

mod names;
mod sets;

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, Hash},
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use opentelemetry::KeyValue;
use rustc_hash::FxBuildHasher;

pub(crate) use names::{NameKind, Names};
pub(crate) use sets::{InputSize, MOST_SETS, Phase, Sets, TokenType, Variant};

use crate::{
    semconv as name,
    stats::{self, SeriesKind},
    text::Text,
};
use sets::Admission;

/// Most labels of the user's own on a call.
pub(crate) const MOST_LABELS: usize = 2;

/// Most series. Names are capped kind by kind, their combinations are not; past the SDK's limit on attribute sets
/// another series could tell nothing apart.
const MOST_SERIES: usize = sets::MOST_SETS;

/// Whether the caller of a model or the one who serves it is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Side {
    /// We call a model: `gen_ai.client.*`, `llmperf.client.*`.
    #[default]
    Client,
    /// We serve one, or generate tokens in process: `gen_ai.server.*`, `llmperf.server.*`.
    Server,
}

/// What calls of one series have in common, as the caller names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    pub(crate) side: Side,
    pub(crate) operation: Text,
    pub(crate) provider: Text,
    pub(crate) model: Text,
    pub(crate) address: Option<Text>,
    pub(crate) port: Option<u16>,
    pub(crate) scenario: Option<Text>,
    pub(crate) labels: [Option<(&'static str, Text)>; MOST_LABELS],
}

impl Identity {
    /// What the series past the limit become.
    fn folded(side: Side) -> Self {
        let other = Text::Static(name::OTHER_NAME);
        Self {
            side,
            operation: other.clone(),
            provider: other.clone(),
            model: other,
            address: None,
            port: None,
            scenario: None,
            labels: [const { None }; MOST_LABELS],
        }
    }
}

/// A series: its capped identity, its statistics, its attribute sets.
#[derive(Debug)]
pub(crate) struct Series {
    identity: Identity,
    stats: Arc<stats::Series>,
    /// The sets of calls whose response model is not known.
    unanswered: Sets,
    answered: RwLock<Vec<(Text, Arc<Sets>)>>,
}

/// All series of one instrumentation.
#[derive(Debug)]
pub(crate) struct Labels {
    names: Names,
    // Names are capped: nobody can fill the table with names that collide.
    series: RwLock<HashMap<u64, Vec<Arc<Series>>, FxBuildHasher>>,
    made: AtomicUsize,
    admission: Arc<Admission>,
    slos: Arc<[Text]>,
}

impl Labels {
    pub(crate) fn new(cap: usize, slos: Vec<Text>) -> Self {
        let slos: Arc<[Text]> = slos.into();
        Self {
            names: Names::new(cap),
            series: RwLock::default(),
            made: AtomicUsize::new(0),
            admission: Arc::new(Admission::new(&slos)),
            slos,
        }
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Whether attribute sets had to be folded since this was last asked.
    pub(crate) fn take_folded(&self) -> bool {
        self.admission.take_folded() | self.names.take_folded()
    }

    /// Something of a part's was folded: it is counted with the next that ends.
    pub(crate) fn note_folded(&self) {
        self.admission.note_folded();
    }

    /// The series of calls with this identity.
    pub(crate) fn series(&self, identity: &Identity, stats: &stats::Registry) -> Arc<Series> {
        if let Some(series) = self.find(identity) {
            return series;
        }
        let mut capped = self.capped(identity);
        if self.made.load(Ordering::Relaxed) >= MOST_SERIES && self.find(&capped).is_none() {
            self.admission.note_folded();
            capped = Identity::folded(identity.side);
        }
        if let Some(series) = self.find(&capped) {
            return series;
        }
        let kind = match capped.side {
            Side::Client => SeriesKind::Call,
            Side::Server => SeriesKind::ServerCall,
        };
        let statistics = Arc::clone(stats.series(kind, capped.provider.as_str(), capped.model.as_str()));
        let unanswered = self.sets(&capped, None);
        let series = Arc::new(Series { identity: capped, stats: statistics, unanswered, answered: RwLock::default() });
        let key = FxBuildHasher.hash_one(&series.identity);
        let mut all = self.series.write().unwrap_or_else(PoisonError::into_inner);
        let bucket = all.entry(key).or_default();
        match bucket.iter().find(|other| other.identity == series.identity) {
            Some(other) => Arc::clone(other),
            None => {
                self.made.fetch_add(1, Ordering::Relaxed);
                bucket.push(Arc::clone(&series));
                series
            }
        }
    }

    /// Gives the attribute sets of a call of this series that this model answered to `record`.
    pub(crate) fn with_answered(&self, series: &Series, model: Option<&str>, record: impl FnOnce(&Sets)) {
        let answered = model.map(|model| self.answered(series, model));
        record(answered.as_deref().unwrap_or(&series.unanswered));
    }

    fn answered(&self, series: &Series, model: &str) -> Arc<Sets> {
        let find = |answered: &[(Text, Arc<Sets>)], model: &str| {
            answered.iter().find(|(of, _)| of.as_str() == model).map(|(_, sets)| Arc::clone(sets))
        };
        let known = |model: &str| find(&series.answered.read().unwrap_or_else(PoisonError::into_inner), model);
        if let Some(sets) = known(model) {
            return sets;
        }
        let model = self.names.capped(NameKind::Model, &Text::from(model.to_owned()));
        if let Some(sets) = known(model.as_str()) {
            return sets;
        }
        let mut answered = series.answered.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(sets) = find(&answered, model.as_str()) {
            return sets;
        }
        let sets = Arc::new(self.sets(&series.identity, Some(&model)));
        answered.push((model, Arc::clone(&sets)));
        sets
    }

    fn find(&self, identity: &Identity) -> Option<Arc<Series>> {
        let key = FxBuildHasher.hash_one(identity);
        let all = self.series.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&key)?.iter().find(|series| series.identity == *identity).map(Arc::clone)
    }

    fn capped(&self, identity: &Identity) -> Identity {
        let cap = |kind, name: &Text| self.names.capped(kind, name);
        let address = identity.address.as_ref().map(|address| cap(NameKind::Address, address));
        let is_other = address.as_ref().is_some_and(|address| address.as_str() == name::OTHER_NAME);
        let label = |label: &Option<(&'static str, Text)>| {
            label.as_ref().map(|(key, value)| (*key, self.names.capped_label(key, value)))
        };
        Identity {
            side: identity.side,
            operation: cap(NameKind::Operation, &identity.operation),
            provider: cap(NameKind::Provider, &identity.provider),
            model: cap(NameKind::Model, &identity.model),
            address,
            port: identity.port.filter(|_| !is_other),
            scenario: identity.scenario.as_ref().map(|scenario| cap(NameKind::Scenario, scenario)),
            labels: identity.labels.each_ref().map(label),
        }
    }

    fn sets(&self, identity: &Identity, response_model: Option<&Text>) -> Sets {
        let mut gen_ai = vec![
            KeyValue::new(name::OPERATION, identity.operation.clone()),
            KeyValue::new(name::PROVIDER, identity.provider.clone()),
        ];
        let mut optional = |key: &'static str, value: Option<&Text>| {
            gen_ai.extend(
                value.filter(|value| !value.as_str().is_empty()).map(|value| KeyValue::new(key, value.clone())),
            );
        };
        optional(name::REQUEST_MODEL, Some(&identity.model));
        optional(name::RESPONSE_MODEL, response_model);
        optional(name::SERVER_ADDRESS, identity.address.as_ref());
        if let (Some(_), Some(port)) = (&identity.address, identity.port) {
            gen_ai.push(KeyValue::new(name::SERVER_PORT, i64::from(port)));
        }
        let mut own = gen_ai.clone();
        own.extend(identity.scenario.iter().map(|scenario| KeyValue::new(name::SCENARIO, scenario.clone())));
        own.extend(identity.labels.iter().flatten().map(|(key, value)| KeyValue::new(*key, value.clone())));
        Sets::new(gen_ai, own, Arc::clone(&self.admission), Arc::clone(&self.slos))
    }
}

impl Series {
    pub(crate) fn stats(&self) -> &stats::Series {
        &self.stats
    }

    /// The attribute sets of calls that have not been answered yet.
    pub(crate) fn unanswered(&self) -> &Sets {
        &self.unanswered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_of_capped_names_are_bounded_too() {
        let (labels, stats) = (Labels::new(100, Vec::new()), stats::Registry::new(0));
        for n in 0..10_000 {
            let name = |n: usize| Text::from(format!("name-{n}"));
            let identity =
                Identity { model: name(n % 100), scenario: Some(name(n / 100)), ..Identity::folded(Side::Client) };
            labels.series(&identity, &stats);
        }
        let series: usize = labels.series.read().unwrap().values().map(Vec::len).sum();
        assert_eq!(series, MOST_SERIES + 1);
        assert!(labels.take_folded());
    }
}
