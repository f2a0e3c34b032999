//! How a call ended: the one place that decides, latched once, the first latch stands.
//!
//! Pure: it is told what was seen and when a limit had passed; it reads no clock and does no I/O.

use std::{borrow::Cow, fmt};

use serde::Serialize;

/// How a call ended. Exactly one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::exhaustive_enums, reason = "the four outcomes are the definition; a fifth would change every rate")]
pub enum Outcome {
    /// The answer is whole: its terminal marker came, or every choice had its finish reason before the end.
    Complete,
    /// It failed: before the head, by an HTTP status, by an error in the stream, by a limit that had passed.
    Error,
    /// The stream ended, or its transport failed, before the answer was whole.
    Interrupted,
    /// The caller dropped it before the answer was whole.
    Cancelled,
}

impl Outcome {
    /// All outcomes, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Complete, Self::Error, Self::Interrupted, Self::Cancelled];

    /// The value of `llmperf.outcome`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Error => "error",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How much of an ending a reader of a stream can see; it decides what a stream means that just ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sees {
    /// Neither finish reasons nor a marker (plain text): the end of the stream is the end of the answer.
    #[default]
    Nothing,
    /// Finish reasons, but no terminal marker (typed clients swallow `[DONE]`).
    Finish,
    /// The dialect's terminal marker (raw bytes).
    Marker,
}

/// What latched an outcome, with what can be said of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Latch {
    pub(crate) outcome: Outcome,
    /// Bounded; set for `Error` and `Interrupted`.
    pub(crate) error_type: Option<Cow<'static, str>>,
    /// The end counts as having come with the last read, not now.
    pub(crate) at_last_read: bool,
    /// Complete, though the marker that the dialect has did not come.
    pub(crate) marker_missing: bool,
}

impl Latch {
    fn new(outcome: Outcome) -> Self {
        Self { outcome, error_type: None, at_last_read: false, marker_missing: false }
    }

    fn error(error_type: Cow<'static, str>) -> Self {
        Self { error_type: Some(error_type), ..Self::new(Outcome::Error) }
    }
}

/// `error.type` of an interrupted stream.
pub(crate) const STREAM_INTERRUPTED: &str = "stream_interrupted";
/// `error.type` of a call dropped after a limit that it had declared.
pub(crate) const TIMEOUT: &str = "timeout";
/// `error.type` of a call whose poll or scope panicked.
pub(crate) const PANIC: &str = "panic";

/// The ending of one call, as far as it has been seen.
///
/// Choices are bits of a word: one whose index is 63 or more shares the last bit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    sees: Sees,
    head: bool,
    choices: u64,
    finished: u64,
    latched: bool,
}

impl Ending {
    pub(crate) fn sees(&mut self, sees: Sees) {
        self.sees = sees;
    }

    /// The response head, or anything that can only come after it, was seen.
    pub(crate) fn head(&mut self) {
        self.head = true;
    }

    #[inline]
    pub(crate) fn choice(&mut self, index: u32) {
        self.choices |= bit(index);
    }

    /// A finish reason of a choice; true if it is the first of that choice.
    pub(crate) fn finish(&mut self, index: u32) -> bool {
        if self.sees == Sees::Nothing {
            self.sees = Sees::Finish; // whoever shows one finish reason can see the others
        }
        let first = self.finished & bit(index) == 0;
        self.choices |= bit(index);
        self.finished |= bit(index);
        first
    }

    /// Choices seen so far, at most 64.
    pub(crate) fn choices(&self) -> u32 {
        self.choices.count_ones()
    }

    /// Every choice that was seen has its finish reason, and there is one.
    pub(crate) fn is_whole(&self) -> bool {
        self.finished != 0 && self.finished == self.choices
    }

    pub(crate) fn is_latched(&self) -> bool {
        self.latched
    }

    /// The dialect's terminal marker.
    pub(crate) fn marker(&mut self) -> Option<Latch> {
        self.latch(Latch::new(Outcome::Complete))
    }

    /// An error event, an HTTP status ≥ 400, the caller's own verdict, a panic.
    pub(crate) fn error(&mut self, error_type: Cow<'static, str>) -> Option<Latch> {
        self.latch(Latch::error(error_type))
    }

    /// The transport failed: an error before the head, else what the answer was by then.
    pub(crate) fn transport_failure(&mut self, error_type: Cow<'static, str>) -> Option<Latch> {
        let latch = if self.is_whole() {
            self.whole()
        } else if self.head {
            interrupted()
        } else {
            Latch::error(error_type)
        };
        self.latch(latch)
    }

    /// The stream ended.
    pub(crate) fn end(&mut self) -> Option<Latch> {
        let latch = if self.is_whole() {
            self.whole()
        } else if self.sees == Sees::Nothing {
            Latch::new(Outcome::Complete)
        } else {
            interrupted()
        };
        self.latch(latch)
    }

    /// The caller let go of the call.
    pub(crate) fn dropped(&mut self, limit_passed: bool) -> Option<Latch> {
        let latch = if self.is_whole() {
            Latch { marker_missing: false, ..self.whole() } // the caller closed it, not the provider
        } else if limit_passed {
            Latch::error(TIMEOUT.into())
        } else {
            Latch::new(Outcome::Cancelled)
        };
        self.latch(latch)
    }

    fn whole(&self) -> Latch {
        Latch { at_last_read: true, marker_missing: self.sees == Sees::Marker, ..Latch::new(Outcome::Complete) }
    }

    fn latch(&mut self, latch: Latch) -> Option<Latch> {
        (!std::mem::replace(&mut self.latched, true)).then_some(latch)
    }
}

fn interrupted() -> Latch {
    Latch { error_type: Some(STREAM_INTERRUPTED.into()), ..Latch::new(Outcome::Interrupted) }
}

#[inline]
fn bit(index: u32) -> u64 {
    1 << index.min(63)
}
