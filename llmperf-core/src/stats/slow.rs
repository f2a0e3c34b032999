//! The slowest calls of a window, with the trace ids under which to look at them.

use std::{mem, sync::Arc, time::Duration};

use opentelemetry::trace::TraceId;
use serde::{Deserialize, Serialize};

use super::Breakdown;

/// How many of the slowest calls each slice and each window keeps.
const KEPT: usize = 5;

/// One of the slowest calls, or runs, of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SlowCall {
    /// From start to outcome; serialised in seconds.
    #[serde(with = "seconds")]
    pub duration: Duration,
    /// TTFT, if there was output; serialised in seconds.
    #[serde(default, with = "maybe_seconds", skip_serializing_if = "Option::is_none")]
    pub time_to_first_token: Option<Duration>,
    /// The trace that the call belongs to, if it has one; serialised in hexadecimal.
    #[serde(default, with = "hexadecimal", skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<TraceId>,
    /// Where its time went; absent of what is no run: of calls, stages, tools.
    #[serde(default, with = "shared", skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<Arc<Breakdown>>,
}

impl SlowCall {
    /// A call by its duration and TTFT in nanoseconds, and its trace id; all zero is none.
    pub(crate) fn new(duration: u64, time_to_first_token: Option<u64>, trace_id: [u8; 16]) -> Self {
        Self {
            duration: Duration::from_nanos(duration),
            time_to_first_token: time_to_first_token.map(Duration::from_nanos),
            trace_id: Some(TraceId::from_bytes(trace_id)).filter(|id| *id != TraceId::INVALID),
            breakdown: None,
        }
    }

    /// The same of a run whose time was told apart.
    pub(crate) fn broken_down(self, breakdown: Option<Breakdown>) -> Self {
        Self { breakdown: breakdown.map(Arc::new), ..self }
    }

    /// Slower sorts higher; the trace id decides between equals, so that the order of recording does not matter.
    fn slowness(&self) -> (Duration, Option<[u8; 16]>) {
        (self.duration, self.trace_id.map(TraceId::to_bytes))
    }
}

/// The slowest calls so far, slowest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Slowest([Option<SlowCall>; KEPT]);

impl Slowest {
    pub(super) fn insert(&mut self, call: SlowCall) {
        let is_slower = |kept: &Option<SlowCall>| kept.as_ref().is_none_or(|kept| call.slowness() > kept.slowness());
        if !self.0.last().is_some_and(is_slower) {
            return;
        }
        let mut call = Some(call);
        for kept in &mut self.0 {
            if call.as_ref().map(SlowCall::slowness) > kept.as_ref().map(SlowCall::slowness) {
                mem::swap(kept, &mut call);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SlowCall> {
        self.0.iter().flatten()
    }
}

impl Extend<SlowCall> for Slowest {
    fn extend<I: IntoIterator<Item = SlowCall>>(&mut self, calls: I) {
        for call in calls {
            self.insert(call);
        }
    }
}

impl FromIterator<SlowCall> for Slowest {
    fn from_iter<I: IntoIterator<Item = SlowCall>>(calls: I) -> Self {
        let mut slowest = Self::default();
        slowest.extend(calls);
        slowest
    }
}

mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::stats::Breakdown;

    pub(super) fn serialize<S: Serializer>(shared: &Option<Arc<Breakdown>>, to: S) -> Result<S::Ok, S::Error> {
        shared.as_deref().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Arc<Breakdown>>, D::Error> {
        Ok(Option::<Breakdown>::deserialize(from)?.map(Arc::new))
    }
}

/// A duration as a number of seconds.
pub(super) mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(in crate::stats) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        duration.as_secs_f64().serialize(to)
    }

    pub(in crate::stats) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
    }
}

mod maybe_seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        duration.map(|duration| duration.as_secs_f64()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(from)?;
        seconds.map(Duration::try_from_secs_f64).transpose().map_err(D::Error::custom)
    }
}

mod hexadecimal {
    use std::borrow::Cow;

    use opentelemetry::trace::TraceId;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(id: &Option<TraceId>, to: S) -> Result<S::Ok, S::Error> {
        id.map(|id| id.to_string()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<TraceId>, D::Error> {
        let id = Option::<Cow<'_, str>>::deserialize(from)?;
        id.map(|id| TraceId::from_hex(&id)).transpose().map_err(D::Error::custom)
    }
}
