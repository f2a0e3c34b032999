//! What a user adds to work of any sort: attributes, labels, a deadline.

use std::time::Duration;

use opentelemetry::{Key, KeyValue, Value};

use super::CappedNames;
use crate::{
    call::MOST_ATTRIBUTES,
    labels::MOST_LABELS,
    semconv::{is_free_label, is_ours},
    text::Text,
};

/// Labels of the user's own on metrics: at most two; a part of a [`SetKey`](super::SetKey).
pub type Labels = [Option<(&'static str, Text)>; MOST_LABELS];

/// What a user adds to a piece of work.
#[derive(Clone, Debug, Default)]
pub struct Custom {
    attributes: Vec<KeyValue>,
    labels: Labels,
    deadline: Option<Duration>,
}

impl Custom {
    /// An attribute on the span: at most 48; of one key the last value stands. Names that llmperf writes itself are left
    /// to it.
    pub fn attribute(&mut self, key: impl Into<Key>, value: impl Into<Value>) {
        let attribute = KeyValue::new(key, value);
        self.attributes.retain(|other| other.key != attribute.key);
        if self.attributes.len() < MOST_ATTRIBUTES && !is_ours(attribute.key.as_str()) {
            self.attributes.push(attribute);
        }
    }

    /// A label on the span and on the `llmperf.*` metrics, as [`Call::label`](crate::Call::label) takes it.
    pub fn label(&mut self, key: &'static str, value: impl Into<Text>) {
        let mut places = self.labels.iter_mut();
        let place = places.find(|label| label.as_ref().is_none_or(|(of, _)| *of == key)).filter(|_| is_free_label(key));
        if let Some(label) = place {
            *label = Some((key, value.into()));
        }
    }

    /// The caller's own time limit.
    pub fn set_deadline(&mut self, deadline: Option<Duration>) {
        self.deadline = deadline;
    }

    /// The caller's own time limit.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// The labels.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// What goes onto the span, for samplers to see: labels, then attributes that are none.
    pub fn on_span(&self) -> impl Iterator<Item = KeyValue> {
        let labels = self.labels.iter().flatten().map(|(key, value)| KeyValue::new(*key, value.clone()));
        let is_label = |key: &str| self.labels.iter().flatten().any(|(label, _)| *label == key);
        labels.chain(self.attributes.iter().filter(move |own| !is_label(own.key.as_str())).cloned())
    }

    /// The attributes of a metric that labels add.
    pub fn on_metric(labels: &Labels) -> impl Iterator<Item = KeyValue> {
        labels.iter().flatten().map(|(key, value)| KeyValue::new(*key, value.clone()))
    }

    /// Labels whose values are capped, by key.
    #[must_use]
    pub fn capped(labels: &Labels, names: &CappedNames<'_>) -> Labels {
        labels.each_ref().map(|label| label.as_ref().map(|(key, value)| (*key, names.capped(key, value))))
    }
}
