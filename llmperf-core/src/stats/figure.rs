//! What is counted: the figures of a call, their units, and how finely they are kept.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The largest value that is kept: an hour in microseconds. Anything above counts as this.
pub(super) const LARGEST: u64 = 3_600_000_000;

/// A quantity with a distribution. Each is recorded when its call ends, chunk gaps while it runs; a mark that a call
/// does not have is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Figure {
    /// The whole of it, from start to outcome (E2E of a call), in seconds.
    Duration,
    /// Start to response head, in seconds.
    TimeToHead,
    /// Start to the first event of any kind, in seconds.
    TimeToFirstChunk,
    /// Start to the first output (TTFT), in seconds.
    TimeToFirstToken,
    /// Start to the first output that is not reasoning, in seconds.
    TimeToFirstAnswer,
    /// Time per output token after the first (TPOT), in seconds.
    TimePerOutputToken,
    /// Between consecutive reads that carry output, in seconds: one value per gap, not per call.
    ChunkGap,
    /// The longest gap of a call, in seconds.
    LongestGap,
    /// How long the stream had to wait for its consumer, in seconds.
    ConsumerWait,
    /// Output tokens per second of generation.
    OutputTokenRate,
}

impl Figure {
    /// All figures, in the order in which they are shown.
    pub const ALL: [Self; 10] = [
        Self::Duration,
        Self::TimeToHead,
        Self::TimeToFirstChunk,
        Self::TimeToFirstToken,
        Self::TimeToFirstAnswer,
        Self::TimePerOutputToken,
        Self::ChunkGap,
        Self::LongestGap,
        Self::ConsumerWait,
        Self::OutputTokenRate,
    ];

    /// The name, as it stands in a serialised snapshot.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::TimeToHead => "time_to_head",
            Self::TimeToFirstChunk => "time_to_first_chunk",
            Self::TimeToFirstToken => "time_to_first_token",
            Self::TimeToFirstAnswer => "time_to_first_answer",
            Self::TimePerOutputToken => "time_per_output_token",
            Self::ChunkGap => "chunk_gap",
            Self::LongestGap => "longest_gap",
            Self::ConsumerWait => "consumer_wait",
            Self::OutputTokenRate => "output_token_rate",
        }
    }

    /// The unit of its values, as OpenTelemetry writes it: `s` or `{token}/s`.
    #[must_use]
    pub fn unit(self) -> &'static str {
        if self.is_rate() { "{token}/s" } else { "s" }
    }

    pub(super) fn is_rate(self) -> bool {
        self == Self::OutputTokenRate
    }

    /// The value as it is kept, up to [`LARGEST`]: microseconds of the nanoseconds that are recorded; thousandths
    /// of a token per second, which is how rates are recorded.
    pub(super) fn kept(self, recorded: u64) -> u64 {
        let kept = if self.is_rate() { recorded } else { recorded.saturating_add(500) / 1_000 };
        kept.min(LARGEST)
    }

    /// How many of what is kept make one of its unit.
    pub(super) fn per_unit(self) -> f64 {
        if self.is_rate() { 1e3 } else { 1e6 }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
