//! What a provider tells of an answer, in no dialect: its figures, and its text as a whole.

use std::time::Duration;

use super::plan::{Kind, Piece, Plan};
use super::script::Asked;
use super::words::Words;

/// The request and the figures of its answer.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) asked: Asked,
    pub(super) figures: Figures,
}

/// The figures of an answer that ends well.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub(super) prompt_tokens: u32,
    /// Part of `prompt_tokens`.
    pub(super) cached_tokens: u32,
    pub(super) output_tokens: u32,
    /// Part of `output_tokens`.
    pub(super) reasoning_tokens: u32,
    /// Some of the output is a tool call.
    pub(super) calls_tool: bool,
    /// From the request to the response head.
    pub(super) queue: Duration,
    /// From the head to the first output.
    pub(super) prefill: Duration,
    /// From the first output to the last.
    pub(super) generation: Duration,
    /// From the request to the end.
    pub(super) total: Duration,
}

/// The text of a whole answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) reasoning: String,
    pub(super) text: String,
    /// Of the tool call, if there is one.
    pub(super) arguments: Option<String>,
}

impl Reply {
    pub(super) fn new(plan: &Plan, asked: Asked) -> Self {
        Self { asked, figures: Figures::of(plan) }
    }
}

impl Figures {
    fn of(plan: &Plan) -> Self {
        let first = plan.bursts.iter().position(|burst| burst.tokens() > 0).map_or(0, |first| first + 1);
        let (before, after) = plan.bursts.split_at(first);
        let prefill = before.iter().map(|burst| burst.after).sum();
        let generation = after.iter().map(|burst| burst.after).sum();
        Self {
            prompt_tokens: plan.prompt_tokens,
            cached_tokens: plan.cached_tokens,
            output_tokens: plan.output_tokens(),
            reasoning_tokens: plan.reasoning_tokens(),
            calls_tool: plan.pieces().any(|piece| piece.kind() == Some(Kind::Tool)),
            queue: plan.queue,
            prefill,
            generation,
            total: plan.queue + prefill + generation + plan.tail,
        }
    }

    pub(super) fn total_tokens(&self) -> u32 {
        self.prompt_tokens + self.output_tokens
    }

    /// The part of the prompt that was not read from a cache.
    pub(super) fn fresh_tokens(&self) -> u32 {
        self.prompt_tokens - self.cached_tokens
    }

    /// The output that is no reasoning.
    pub(super) fn answer_tokens(&self) -> u32 {
        self.output_tokens - self.reasoning_tokens
    }
}

impl Message {
    pub(super) fn of(plan: &Plan, index: u64) -> Self {
        let mut message = Self::default();
        let mut words = Words::new(plan, index);
        for piece in plan.pieces() {
            let Piece::Output { kind, tokens } = piece else { continue };
            match kind {
                Kind::Reasoning => message.reasoning.push_str(&words.text(tokens)),
                Kind::Text => message.text.push_str(&words.text(tokens)),
                Kind::Tool => message.arguments.get_or_insert_default().push_str(&words.arguments(tokens)),
            }
        }
        message
    }
}
