//! What the providers' words for an end mean, in one table for all dialects.

use crate::event::FinishKind;
use crate::text::Text;

/// The words that each kind has, upper case or lower.
const KINDS: &[(FinishKind, &[&str])] = &[
    (
        FinishKind::Stop,
        &["stop", "end_turn", "stop_sequence", "complete", "completed", "eos", "eos_token", "done", "pause_turn"],
    ),
    (
        FinishKind::Length,
        &["length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "incomplete"],
    ),
    (FinishKind::ToolCall, &["tool_calls", "tool_call", "tool_use", "function_call"]),
    (
        FinishKind::ContentFilter,
        &[
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
        ],
    ),
    (FinishKind::Refusal, &["refusal"]),
    (
        FinishKind::Error,
        &[
            "error",
            "timeout",
            "malformed_function_call",
            "malformed_model_output",
            "malformed_tool_use",
            "malformed_response",
            "missing_thought_signature",
            "too_many_tool_calls",
            "unexpected_tool_call",
        ],
    ),
];

/// The kind of a provider's own word; the call knows the same words by the same meaning.
pub(super) fn kind(reason: Text<'_>) -> FinishKind {
    let known = KINDS.iter().find(|(_, words)| words.iter().any(|word| reason.is_in_any_case(word)));
    known.map_or(FinishKind::Other, |&(kind, _)| kind)
}
