//! What could not be measured: counted, and each kind said once.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU8, Ordering},
};

use opentelemetry::KeyValue;

use crate::{instruments::Instruments, metrics::Metric, semconv::INTERNAL_KIND};

/// A kind of oddity (`llmperf.internal.kind`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Oddity {
    /// A payload that did not parse: neither event nor error.
    MalformedPayload,
    /// An event type that the dialect does not know.
    UnknownEvent,
    /// A name past its cap, or an attribute set past the SDK's limit, became `_other`.
    FoldedName,
    /// A call ended after the run that it belonged to.
    LateCall,
    /// A decoder could not see the bytes: nothing of the answer is known.
    DecoderBlind,
    /// A callback of the user's panicked while a call was finished.
    CaughtPanic,
}

impl Oddity {
    fn as_str(self) -> &'static str {
        match self {
            Self::MalformedPayload => "malformed_payload",
            Self::UnknownEvent => "unknown_event",
            Self::FoldedName => "folded_name",
            Self::LateCall => "late_call",
            Self::DecoderBlind => "decoder_blind",
            Self::CaughtPanic => "caught_panic",
        }
    }
}

/// Counts oddities; remembers which kinds were said.
#[derive(Debug, Default)]
pub(crate) struct Internal {
    said: AtomicU8,
}

impl Internal {
    pub(crate) fn count(&self, instruments: &Instruments, oddity: Oddity, times: u64) {
        instruments.count(Metric::InternalEvents as usize, times, &[KeyValue::new(INTERNAL_KIND, oddity.as_str())]);
        let bit = 1 << oddity as u8;
        if self.said.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            // What could not be measured may be that the subscriber panics.
            let _said = caught(|| {
                tracing::warn!(
                    target: "llmperf",
                    kind = oddity.as_str(),
                    "something could not be measured; llmperf.internal.events counts it, this is said once"
                );
            });
        }
    }
}

/// Runs code that is not ours; `None` if it panicked.
pub(crate) fn caught<T>(code: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(value) => Some(value),
        Err(panic) => {
            // What a panic carries may panic once more when it is dropped.
            if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(again);
            }
            None
        }
    }
}
