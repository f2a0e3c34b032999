//! What tells series of our metrics apart.

use std::hash::{Hash, Hasher};

use llmperf_core::{
    Outcome,
    opentelemetry::KeyValue,
    part::{CappedNames, Custom, Ended, Labels, SetKey, Text},
    semconv::{self as name, rag},
};

use crate::Stage;

/// The name of what has no room.
const OTHER: Text = Text::Static("_other");

/// Names and values of one series; empty ones have no attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) stage: Option<Stage>,
    pub(crate) store: Text,
    pub(crate) provider: Text,
    pub(crate) model: Text,
    pub(crate) pipeline: Text,
    pub(crate) cache: Text,
    /// `hit` or `miss`.
    pub(crate) result: &'static str,
    /// How many documents were judged.
    pub(crate) k: Option<u64>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) error_type: Text,
    pub(crate) from_cache: bool,
    pub(crate) labels: Labels,
}

impl Key {
    /// The same for an end.
    pub(crate) fn ended(&self, outcome: Outcome) -> Self {
        Self { outcome: Some(outcome), ..self.clone() }
    }

    /// The largest k that has a series of its own: a `k` that follows the input must not make one for each.
    const LARGEST_K: u64 = 1_000;
}

impl Hash for Key {
    /// What there is of it: most names are empty.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let names = [&self.store, &self.provider, &self.model, &self.pipeline, &self.cache, &self.error_type];
        names.into_iter().filter(|name| !name.as_str().is_empty()).for_each(|name| name.hash(state));
        (self.stage, self.result.len(), self.k, self.outcome, self.from_cache).hash(state);
        self.labels.iter().flatten().for_each(|(_, value)| value.hash(state));
    }
}

impl SetKey for Key {
    fn attributes(&self) -> Vec<KeyValue> {
        let mut all = Vec::with_capacity(8);
        let names = [
            (rag::STORE, &self.store),
            (name::PROVIDER, &self.provider),
            (name::REQUEST_MODEL, &self.model),
            (rag::PIPELINE, &self.pipeline),
            (rag::CACHE_NAME, &self.cache),
            (name::ERROR_TYPE, &self.error_type),
        ];
        let named = names.into_iter().filter(|(_, name)| !name.as_str().is_empty());
        all.extend(named.map(|(key, name)| KeyValue::new(key, name.clone())));
        all.extend(self.stage.map(|stage| KeyValue::new(rag::STAGE, stage.as_str())));
        all.extend((!self.result.is_empty()).then(|| KeyValue::new(rag::CACHE_RESULT, self.result)));
        all.extend(self.k.map(|k| KeyValue::new(rag::K, i64::try_from(k).unwrap_or(i64::MAX))));
        all.extend(self.outcome.map(|outcome| KeyValue::new(name::OUTCOME, outcome.as_str())));
        all.extend(self.from_cache.then(|| KeyValue::new(rag::FROM_CACHE, true)));
        all.extend(Custom::on_metric(&self.labels));
        all
    }

    fn capped(&self, names: &CappedNames<'_>) -> Self {
        let cap = |attribute, name: &Text| {
            if name.as_str().is_empty() { Text::default() } else { names.capped(attribute, name) }
        };
        Self {
            store: cap(rag::STORE, &self.store),
            provider: cap(name::PROVIDER, &self.provider),
            model: cap(name::REQUEST_MODEL, &self.model),
            pipeline: cap(rag::PIPELINE, &self.pipeline),
            cache: cap(rag::CACHE_NAME, &self.cache),
            k: self.k.map(|k| k.min(Self::LARGEST_K)),
            labels: Custom::capped(&self.labels, names),
            ..self.clone()
        }
    }

    fn folded(&self) -> Self {
        let fold = |name: &Text| if name.as_str().is_empty() { Text::default() } else { OTHER };
        Self {
            stage: self.stage,
            store: fold(&self.store),
            provider: fold(&self.provider),
            model: fold(&self.model),
            pipeline: fold(&self.pipeline),
            cache: fold(&self.cache),
            result: self.result,
            outcome: self.outcome,
            from_cache: self.from_cache,
            ..Self::default()
        }
    }
}

/// The `error.type` of a failure; empty without one.
pub(crate) fn error_type(ended: &Ended<'_>) -> Text {
    ended.error_type.map(|error_type| error_type.to_owned().into()).unwrap_or_default()
}

/// What tells series of the convention's duration of retrievals apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConventionKey {
    pub(crate) provider: Text,
    pub(crate) model: Text,
    pub(crate) error_type: Text,
}

impl SetKey for ConventionKey {
    fn attributes(&self) -> Vec<KeyValue> {
        let names = [
            (name::OPERATION, &Text::Static("retrieval")),
            (name::PROVIDER, &self.provider),
            (name::REQUEST_MODEL, &self.model),
            (name::ERROR_TYPE, &self.error_type),
        ];
        let named = names.into_iter().filter(|(_, name)| !name.as_str().is_empty());
        named.map(|(key, name)| KeyValue::new(key, name.clone())).collect()
    }

    fn capped(&self, names: &CappedNames<'_>) -> Self {
        let cap = |attribute, name: &Text| {
            if name.as_str().is_empty() { Text::default() } else { names.capped(attribute, name) }
        };
        let (provider, model) = (cap(name::PROVIDER, &self.provider), cap(name::REQUEST_MODEL, &self.model));
        Self { provider, model, error_type: self.error_type.clone() }
    }

    fn folded(&self) -> Self {
        let fold = |name: &Text| if name.as_str().is_empty() { Text::default() } else { OTHER };
        Self { provider: fold(&self.provider), model: fold(&self.model), error_type: fold(&self.error_type) }
    }
}
