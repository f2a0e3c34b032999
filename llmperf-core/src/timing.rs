//! What a call measured: [`Timing`], plain data for the caller, the log and the tests.

use std::{borrow::Cow, fmt, time::Duration};

use serde::Serialize;

use crate::{Outcome, TokenSource, Usage, marks::Figures};

/// The kind of a finish reason, whatever words the provider has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishKind {
    /// The model was done, or a stop sequence came.
    Stop,
    /// A token limit was reached.
    Length,
    /// The model calls a tool.
    ToolCall,
    /// A filter stopped the answer, or the prompt was blocked.
    ContentFilter,
    /// The model refused.
    Refusal,
    /// The provider failed while it generated.
    Error,
    /// Words that are not known here.
    Other,
}

impl FinishKind {
    /// The kind of a provider's own words.
    #[must_use]
    pub fn of(reason: &str) -> Self {
        let word = |known: &[&str]| known.iter().any(|known| reason.eq_ignore_ascii_case(known));
        if word(&[
            "stop",
            "end_turn",
            "stop_sequence",
            "complete",
            "completed",
            "eos",
            "eos_token",
            "done",
            "pause_turn",
        ]) {
            Self::Stop
        } else if word(&[
            "length",
            "max_tokens",
            "max_output_tokens",
            "model_length",
            "model_context_window_exceeded",
            "incomplete",
        ]) {
            Self::Length
        } else if word(&["tool_calls", "tool_call", "tool_use", "function_call"]) {
            Self::ToolCall
        } else if word(&[
            "content_filter",
            "content_filtered",
            "safety",
            "recitation",
            "blocklist",
            "prohibited_content",
            "spii",
            "guardrail_intervened",
            "blocked",
            "image_safety",
            "language",
            "image_prohibited_content",
            "image_recitation",
            "jailbreak",
            "model_armor",
        ]) {
            Self::ContentFilter
        } else if word(&["refusal"]) {
            Self::Refusal
        } else if word(&[
            "error",
            "timeout",
            "malformed_function_call",
            "malformed_model_output",
            "malformed_tool_use",
            "malformed_response",
            "missing_thought_signature",
            "too_many_tool_calls",
            "unexpected_tool_call",
        ]) {
            Self::Error
        } else {
            Self::Other
        }
    }
}

/// A finish reason of one choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FinishReason {
    /// The index of the choice.
    pub choice: u32,
    /// The provider's own words, cut after 64 bytes.
    pub reason: Cow<'static, str>,
    /// What they mean.
    pub kind: FinishKind,
}

/// What a call measured, as of now; final once [`outcome`](Self::outcome) is set.
///
/// A figure that is not defined is absent: never 0, never NaN. Definitions and sources: `docs/metrics.md`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Timing {
    /// Response head − start; absent when no head was seen.
    pub time_to_head: Option<Duration>,
    /// First event of any kind − start.
    pub time_to_first_chunk: Option<Duration>,
    /// TTFT: first output of any kind − start.
    pub time_to_first_token: Option<Duration>,
    /// First output that is not reasoning − start.
    pub time_to_first_answer: Option<Duration>,
    /// The longest gap between reads that carry output; in a call that did not complete also the gap at its end, as
    /// far as the consumer waited in it.
    pub longest_gap: Option<Duration>,
    /// TPOT: (last output − first output) / (streamed tokens − tokens in the first output read).
    pub time_per_output_token: Option<Duration>,
    /// Last output − start.
    pub generation_time: Option<Duration>,
    /// E2E: the event that latched the outcome − start; up to now while the call lives.
    pub duration: Duration,
    /// Output tokens per second of generation time.
    pub output_token_rate: Option<f64>,
    /// How long items that were ready waited for the consumer, in all.
    pub consumer_wait: Duration,
    /// The consumer held up the output by more than a tenth: gaps, TPOT and rate are its pace, not the model's.
    pub consumer_bound: bool,
    /// Events of any kind.
    pub chunks: u64,
    /// Events that carried output.
    pub outputs: u64,
    /// Token counts, from [`token_source`](Self::token_source).
    pub usage: Usage,
    /// Where the counts come from; absent where there are none.
    pub token_source: Option<TokenSource>,
    /// Attempts of this call; absent where nobody could see them.
    pub attempts: Option<u32>,
    /// How it ended; absent while it lives.
    pub outcome: Option<Outcome>,
    /// The bounded `error.type` of a call that failed or was interrupted.
    pub error_type: Option<Cow<'static, str>>,
    /// The finish reasons that were seen, in their order of arrival.
    pub finish_reasons: Vec<FinishReason>,
}

impl Timing {
    /// Of a call that is not measured.
    pub(crate) fn nothing() -> Self {
        Self::from_figures(&Figures::default())
    }

    pub(crate) fn from_figures(figures: &Figures) -> Self {
        let time = |nanos: Option<u64>| nanos.map(Duration::from_nanos);
        Self {
            time_to_head: time(figures.head),
            time_to_first_chunk: time(figures.first_chunk),
            time_to_first_token: time(figures.first_token),
            time_to_first_answer: time(figures.first_answer),
            longest_gap: time(figures.longest_gap),
            time_per_output_token: figures.per_token.map(|nanos| Duration::from_secs_f64(nanos / 1e9)),
            generation_time: time(figures.generation),
            duration: Duration::from_nanos(figures.duration),
            output_token_rate: figures.token_rate,
            consumer_wait: Duration::from_nanos(figures.consumer_wait),
            consumer_bound: figures.consumer_bound,
            chunks: figures.chunks,
            outputs: figures.outputs,
            usage: Usage::new(),
            token_source: None,
            attempts: None,
            outcome: None,
            error_type: None,
            finish_reasons: Vec::new(),
        }
    }
}

impl fmt::Display for Timing {
    /// One line for people: what is known, in the order in which it happened.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outcome {
            Some(outcome) => write!(f, "{outcome}")?,
            None => f.write_str("running")?,
        }
        if let Some(error_type) = &self.error_type {
            write!(f, " ({error_type})")?;
        }
        write!(f, " after {:.1?}", self.duration)?;
        let marks = [
            ("head", self.time_to_head),
            ("TTFT", self.time_to_first_token),
            ("TPOT", self.time_per_output_token),
            ("longest gap", self.longest_gap),
        ];
        for (name, value) in marks {
            if let Some(value) = value {
                write!(f, ", {name} {value:.1?}")?;
            }
        }
        if let Some(tokens) = self.usage.output_tokens() {
            write!(f, ", {tokens} tokens")?;
        }
        if let Some(rate) = self.output_token_rate {
            write!(f, ", {rate:.1} tokens/s")?;
        }
        Ok(())
    }
}
