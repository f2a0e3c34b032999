//! JSON leaves that take whatever a server writes: a field of the wrong type is absent, it does not spoil its event.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::text::Text;

/// A value that is looked at only when its event is known to be whole.
pub(crate) type Raw<'a> = Option<&'a RawValue>;

/// The text of a JSON string; absent for an empty one and for anything else.
pub(crate) fn text<'a>(raw: Raw<'a>) -> Option<Text<'a>> {
    let inner = raw?.get().strip_prefix('"')?.strip_suffix('"')?;
    (!inner.is_empty()).then(|| Text::quoted(inner))
}

/// A JSON object as the text that it is; absent for anything else.
pub(crate) fn object<'a>(raw: Raw<'a>) -> Option<Text<'a>> {
    let raw = raw?.get();
    raw.starts_with('{').then(|| Text::plain(raw))
}

/// A JSON object or array, read as `T`; absent if it is something else.
pub(crate) fn read<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Option<T> {
    let raw = raw?.get();
    if raw.starts_with(['{', '[']) {
        serde_json::from_str(raw).ok()
    } else {
        None
    }
}

/// A number that counts something; absent unless it is one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count(pub(crate) Option<u64>);

/// A number with a fraction; absent unless it is one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Quantity(Option<f64>);

impl Quantity {
    pub(crate) fn seconds(self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.0?).ok()
    }

    pub(crate) fn milliseconds(self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.0? / 1e3).ok()
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(Number)
            .map(|number| Self(number.count()))
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(Number)
            .map(|number| Self(number.quantity()))
    }
}

enum Value {
    Whole(u64),
    Fraction(f64),
    None,
}

impl Value {
    /// Some servers write their counts as `14.0`.
    fn count(self) -> Option<u64> {
        match self {
            Self::Whole(count) => Some(count),
            Self::Fraction(value)
                if value >= 0.0 && value.fract() == 0.0 && value < 2f64.powi(53) =>
            {
                Some(value as u64)
            }
            _ => None,
        }
    }

    fn quantity(self) -> Option<f64> {
        match self {
            Self::Whole(count) => Some(count as f64),
            Self::Fraction(value) => Some(value),
            Self::None => None,
        }
    }
}

struct Number;

impl<'de> Visitor<'de> for Number {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Whole(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Fraction(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::None)
    }
}
