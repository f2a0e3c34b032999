//! Spans as OTLP writes them in JSON, brought into a form that tests can ask.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

/// Attributes by name; integers are JSON integers, whatever OTLP writes.
pub(crate) type Attributes = BTreeMap<String, Value>;

/// A span as a back end has stored it, with what its batch said about it.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) trace_id: String,
    pub(crate) span_id: String,
    /// Absent for a root.
    pub(crate) parent_id: Option<String>,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) start: SystemTime,
    pub(crate) duration: Duration,
    pub(crate) status: Status,
    /// What the provider said of the error; empty where it said nothing.
    pub(crate) status_message: String,
    pub(crate) attributes: Attributes,
    pub(crate) events: Vec<Event>,
    /// The instrumentation library that made the span.
    pub(crate) scope: String,
    pub(crate) scope_version: String,
    /// Attributes of the process: `service.name` and its like.
    pub(crate) resource: Attributes,
}

impl Span {
    /// A text attribute, absent if there is none of this name or it is no text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.attributes.get(name)?.as_str()
    }

    /// A numeric attribute, absent if there is none of this name or it is no number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.attributes.get(name)?.as_f64()
    }

    pub(crate) fn end(&self) -> SystemTime {
        self.start + self.duration
    }
}

/// An event on a span.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) at: SystemTime,
    pub(crate) attributes: Attributes,
}

/// The role of a span, by OTLP's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u8")]
pub(crate) enum Kind {
    Internal,
    Server,
    Client,
    Producer,
    Consumer,
}

impl TryFrom<u8> for Kind {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Ok(match number {
            1 => Self::Internal,
            2 => Self::Server,
            3 => Self::Client,
            4 => Self::Producer,
            5 => Self::Consumer,
            _ => return Err(format!("{number} is no span kind")),
        })
    }
}

/// How a span ended, by OTLP's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u8")]
pub(crate) enum Status {
    #[default]
    Unset,
    Ok,
    Error,
}

impl TryFrom<u8> for Status {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, String> {
        Ok(match number {
            0 => Self::Unset,
            1 => Self::Ok,
            2 => Self::Error,
            _ => return Err(format!("{number} is no span status")),
        })
    }
}

/// OTLP's `TracesData`: spans in their batches.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TracesData {
    resource_spans: Vec<ResourceSpans>,
}

impl TracesData {
    /// Every span, with the resource and the scope of its batch.
    pub(super) fn into_spans(self) -> Vec<Span> {
        let mut spans = Vec::new();
        for ResourceSpans { resource, scope_spans } in self.resource_spans {
            for ScopeSpans { scope, spans: wires } in scope_spans {
                spans.extend(wires.into_iter().map(|wire| wire.into_span(&scope, &resource)));
            }
        }
        spans
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResourceSpans {
    resource: Resource,
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Resource {
    #[serde(deserialize_with = "attributes")]
    attributes: Attributes,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ScopeSpans {
    scope: Scope,
    spans: Vec<WireSpan>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Scope {
    name: String,
    version: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSpan {
    trace_id: String,
    span_id: String,
    #[serde(default)]
    parent_span_id: String,
    name: String,
    kind: Kind,
    #[serde(deserialize_with = "nanoseconds")]
    start_time_unix_nano: Duration,
    #[serde(deserialize_with = "nanoseconds")]
    end_time_unix_nano: Duration,
    #[serde(default)]
    status: WireStatus,
    #[serde(default, deserialize_with = "attributes")]
    attributes: Attributes,
    #[serde(default)]
    events: Vec<WireEvent>,
}

impl WireSpan {
    fn into_span(self, scope: &Scope, resource: &Resource) -> Span {
        Span {
            trace_id: self.trace_id,
            span_id: self.span_id,
            parent_id: Some(self.parent_span_id).filter(|id| !id.is_empty()),
            name: self.name,
            kind: self.kind,
            start: SystemTime::UNIX_EPOCH + self.start_time_unix_nano,
            // An end before the start is a defect of whoever sent it: it must fail the test, not become zero.
            duration: self.end_time_unix_nano - self.start_time_unix_nano,
            status: self.status.code,
            status_message: self.status.message,
            attributes: self.attributes,
            events: self.events.into_iter().map(WireEvent::into_event).collect(),
            scope: scope.name.clone(),
            scope_version: scope.version.clone(),
            resource: resource.attributes.clone(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    code: Status,
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireEvent {
    name: String,
    #[serde(deserialize_with = "nanoseconds")]
    time_unix_nano: Duration,
    #[serde(default, deserialize_with = "attributes")]
    attributes: Attributes,
}

impl WireEvent {
    fn into_event(self) -> Event {
        Event { name: self.name, at: SystemTime::UNIX_EPOCH + self.time_unix_nano, attributes: self.attributes }
    }
}

#[derive(Deserialize)]
struct KeyValue {
    key: String,
    #[serde(default)]
    value: Value,
}

fn attributes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Attributes, D::Error> {
    let pairs = Vec::<KeyValue>::deserialize(deserializer)?;
    pairs.into_iter().map(|pair| Ok((pair.key, plain(pair.value).map_err(de::Error::custom)?))).collect()
}

/// `{"intValue": "12"}` becomes `12`, and so on; an empty value becomes null.
fn plain(any: Value) -> Result<Value, String> {
    let Value::Object(fields) = any else {
        return Ok(Value::Null);
    };
    let Some((kind, value)) = fields.into_iter().next() else {
        return Ok(Value::Null);
    };
    match (kind.as_str(), value) {
        ("stringValue" | "boolValue" | "doubleValue" | "bytesValue", value) => Ok(value),
        ("intValue", Value::String(digits)) => {
            digits.parse::<i64>().map(Value::from).map_err(|error| format!("{digits}: {error}"))
        }
        ("intValue", number @ Value::Number(_)) => Ok(number),
        ("arrayValue", Value::Object(mut array)) => match array.remove("values") {
            Some(Value::Array(values)) => values.into_iter().map(plain).collect(),
            _ => Ok(Value::Array(Vec::new())),
        },
        (kind, value) => Err(format!("an attribute value that these tests do not know: {kind} {value}")),
    }
}

fn nanoseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let digits = String::deserialize(deserializer)?;
    digits.parse().map(Duration::from_nanos).map_err(de::Error::custom)
}
