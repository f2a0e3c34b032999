//! What spans of this crate begin with: a name, and attributes that samplers may decide on.

use std::borrow::Cow;

use llmperf_core::{
    part::{Custom, Text},
    semconv,
};
use opentelemetry::KeyValue;

/// An operation, and what it is about where that has a name.
pub(crate) fn named(operation: &str, name: &Text) -> Cow<'static, str> {
    let name = name.as_str();
    if name.is_empty() { operation.to_owned().into() } else { [operation, " ", name].concat().into() }
}

/// The operation, if the conventions have one; those texts that are not empty; what the user adds.
pub(crate) fn told(operation: Option<&'static str>, texts: &[(&'static str, &Text)], custom: &Custom) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(1 + texts.len());
    attributes.extend(operation.map(|operation| KeyValue::new(semconv::OPERATION, operation)));
    let texts = texts.iter().filter(|(_, text)| !text.as_str().is_empty());
    attributes.extend(texts.map(|(key, text)| KeyValue::new(*key, (*text).clone())));
    attributes.extend(custom.on_span());
    attributes
}
