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
    /// The energy that GPUs of this machine used for it, in joules; recorded by the GPU part, after the call.
    Energy,
    /// That energy per output token, in joules.
    TokenEnergy,
    /// Start to the first output that the user sees, of a pipeline or an agent's run, in seconds.
    TimeToFirstOutput,
    /// Retrieval latency of a pipeline: the time covered by search and rerank, in seconds.
    Retrieval,
    /// Start of a pipeline to its context being ready, in seconds.
    RetrievalPath,
    /// Retrieval latency by the duration of the pipeline, from 0 to 1.
    RetrievalShare,
    /// Documents that a stage gave.
    Documents,
    /// recall@k of a query, from 0 to 1.
    Recall,
    /// precision@k of a query, from 0 to 1.
    Precision,
    /// Reciprocal rank of a query, from 0 to 1.
    ReciprocalRank,
    /// nDCG@k of a query, from 0 to 1.
    Ndcg,
    /// Steps of an agent's run.
    Steps,
    /// Inference calls of an agent's run, nested runs aside.
    InferenceCalls,
    /// Tool calls of an agent's run, nested runs aside.
    ToolCalls,
    /// Input tokens of an agent's run, nested runs aside.
    InputTokens,
    /// Output tokens of an agent's run, nested runs aside.
    OutputTokens,
    /// Cost of an agent's run in USD, nested runs aside.
    Cost,
}

/// How a figure is measured, recorded and kept.
struct Scale {
    unit: &'static str,
    /// How many of what is recorded make one of its unit.
    recorded: f64,
    /// How many of what is recorded make one of what is kept.
    per_kept: u64,
}

impl Figure {
    /// All figures, in the order in which they are shown.
    pub const ALL: [Self; 27] = [
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
        Self::Energy,
        Self::TokenEnergy,
        Self::TimeToFirstOutput,
        Self::Retrieval,
        Self::RetrievalPath,
        Self::RetrievalShare,
        Self::Documents,
        Self::Recall,
        Self::Precision,
        Self::ReciprocalRank,
        Self::Ndcg,
        Self::Steps,
        Self::InferenceCalls,
        Self::ToolCalls,
        Self::InputTokens,
        Self::OutputTokens,
        Self::Cost,
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
            Self::Energy => "energy",
            Self::TokenEnergy => "token_energy",
            Self::TimeToFirstOutput => "time_to_first_output",
            Self::Retrieval => "retrieval",
            Self::RetrievalPath => "retrieval_path",
            Self::RetrievalShare => "retrieval_share",
            Self::Documents => "documents",
            Self::Recall => "recall",
            Self::Precision => "precision",
            Self::ReciprocalRank => "reciprocal_rank",
            Self::Ndcg => "ndcg",
            Self::Steps => "steps",
            Self::InferenceCalls => "inference_calls",
            Self::ToolCalls => "tool_calls",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Cost => "cost",
        }
    }

    /// The unit of its values, as OpenTelemetry writes it: `s`, `{token}/s`, `J`, `J/{token}`, `1` of shares, `{USD}`, or
    /// what is counted.
    #[must_use]
    pub fn unit(self) -> &'static str {
        self.scale().unit
    }

    fn scale(self) -> Scale {
        match self {
            Self::OutputTokenRate => Scale { unit: "{token}/s", recorded: 1e3, per_kept: 1 },
            Self::Energy => Scale { unit: "J", recorded: 1e3, per_kept: 1 },
            Self::TokenEnergy => Scale { unit: "J/{token}", recorded: 1e6, per_kept: 1 },
            Self::RetrievalShare | Self::Recall | Self::Precision | Self::ReciprocalRank | Self::Ndcg => {
                Scale { unit: "1", recorded: 1e4, per_kept: 1 }
            }
            Self::Documents => Scale { unit: "{document}", recorded: 1.0, per_kept: 1 },
            Self::Steps => Scale { unit: "{step}", recorded: 1.0, per_kept: 1 },
            Self::InferenceCalls => Scale { unit: "{inference_call}", recorded: 1.0, per_kept: 1 },
            Self::ToolCalls => Scale { unit: "{tool_call}", recorded: 1.0, per_kept: 1 },
            Self::InputTokens | Self::OutputTokens => Scale { unit: "{token}", recorded: 1.0, per_kept: 1 },
            Self::Cost => Scale { unit: "{USD}", recorded: 1e6, per_kept: 1 },
            _ => Scale { unit: "s", recorded: 1e9, per_kept: 1_000 },
        }
    }

    /// A value in its unit as it is recorded: nanoseconds, thousandths of a token per second or of a joule, millionths of
    /// a joule per token or of a dollar, ten-thousandths of a share, all else as it is. Absent for what is no figure.
    pub(crate) fn recorded(self, value: f64) -> Option<u64> {
        (value.is_finite() && value >= 0.0).then(|| (value * self.scale().recorded).round() as u64)
    }

    /// The value as it is kept, up to [`LARGEST`]: microseconds of times, all else as it is recorded.
    pub(super) fn kept(self, recorded: u64) -> u64 {
        let per_kept = self.scale().per_kept;
        (recorded.saturating_add(per_kept / 2) / per_kept).min(LARGEST)
    }

    /// How many of what is kept make one of its unit.
    pub(super) fn per_unit(self) -> f64 {
        let scale = self.scale();
        scale.recorded / scale.per_kept as f64
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
