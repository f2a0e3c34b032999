//! Usage reports and server timings of the family.
//!
//! | on the wire | means |
//! |---|---|
//! | `prompt_tokens` | input, cached tokens included |
//! | `completion_tokens` | output, reasoning included |
//! | `total_tokens` = prompt + completion + reasoning (xAI) | reasoning stands outside `completion_tokens`: it is added |
//! | `prompt_tokens_details.cached_tokens`, `prompt_cache_hit_tokens` (DeepSeek) | read from the cache |
//! | `prompt_tokens_details.cache_write_tokens` (OpenRouter), `cache_creation_input_tokens` (gateways to Anthropic) | written to the cache |
//! | `completion_tokens_details.reasoning_tokens`, `reasoning_tokens` (SGLang, Perplexity) | reasoning |
//! | `…_details.audio_tokens` | audio |
//! | `queue_time`, `prompt_time`, `completion_time`, `total_time` (Groq) | the server's times in seconds |
//! | `time_to_first_token_ms`, `time_per_output_token_ms` (GPUStack) | the server's times in milliseconds |

use serde::Deserialize;

use super::frame::{Groq, Payload};
use crate::event::{ServerTimings, Usage};
use crate::json::{self, Count, Quantity, Raw};

/// The figures that a payload reports: the tokens used so far, and the server's own times.
pub(super) fn figures(payload: &Payload<'_>) -> (Option<Usage>, Option<ServerTimings>) {
    let usage = json::read::<Report<'_>>(payload.usage)
        .or_else(|| json::read(json::read::<Groq<'_>>(payload.x_groq)?.usage));
    let llama = json::read::<LlamaTimings>(payload.timings);
    let vllm = json::read::<VllmMetrics>(payload.metrics);
    if usage.is_none() && llama.is_none() && vllm.is_none() {
        return (None, None);
    }
    let usage = usage.unwrap_or_default();
    let timings = timings(
        &usage,
        &llama.unwrap_or_default(),
        &vllm.unwrap_or_default(),
    );
    let tokens = tokens(&usage);
    (
        (tokens != Usage::default()).then_some(tokens),
        (timings != ServerTimings::default()).then_some(timings),
    )
}

fn tokens(report: &Report<'_>) -> Usage {
    let prompt = json::read::<PromptDetails>(report.prompt_tokens_details).unwrap_or_default();
    let completion =
        json::read::<CompletionDetails>(report.completion_tokens_details).unwrap_or_default();
    let reasoning = completion.reasoning_tokens.0.or(report.reasoning_tokens.0);
    let output = report.completion_tokens.0.map(|output| {
        let outside = reasoning.filter(|&reasoning| stands_outside(report, output, reasoning));
        output.saturating_add(outside.unwrap_or(0))
    });
    Usage {
        input: report.prompt_tokens.0,
        output,
        cache_read: prompt.cached_tokens.0.or(report.prompt_cache_hit_tokens.0),
        cache_write: prompt
            .cache_write_tokens
            .0
            .or(report.cache_creation_input_tokens.0),
        reasoning,
        audio_input: prompt.audio_tokens.0,
        audio_output: completion.audio_tokens.0,
        ..Usage::default()
    }
}

/// True if the total counts the reasoning on top of the completion.
fn stands_outside(report: &Report<'_>, output: u64, reasoning: u64) -> bool {
    let sum = || {
        report
            .prompt_tokens
            .0?
            .checked_add(output)?
            .checked_add(reasoning)
    };
    report.total_tokens.0.is_some() && report.total_tokens.0 == sum()
}

fn timings(usage: &Report<'_>, llama: &LlamaTimings, vllm: &VllmMetrics) -> ServerTimings {
    ServerTimings {
        queue: usage
            .queue_time
            .seconds()
            .or(vllm.queue_time_ms.milliseconds()),
        prompt: usage
            .prompt_time
            .seconds()
            .or(llama.prompt_ms.milliseconds()),
        generation: usage
            .completion_time
            .seconds()
            .or(llama.predicted_ms.milliseconds())
            .or(vllm.generation_time_ms.milliseconds()),
        total: usage.total_time.seconds(),
        time_to_first_token: usage
            .time_to_first_token_ms
            .milliseconds()
            .or(vllm.time_to_first_token_ms.milliseconds()),
        time_per_token: usage
            .time_per_output_token_ms
            .milliseconds()
            .or(llama.predicted_per_token_ms.milliseconds())
            .or(vllm.mean_itl_ms.milliseconds()),
        prompt_tokens: llama.prompt_n.0,
        cached_tokens: llama.cache_n.0,
        generated_tokens: llama.predicted_n.0,
        draft_tokens: llama.draft_n.0,
        accepted_draft_tokens: llama.draft_n_accepted.0,
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Report<'a> {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    reasoning_tokens: Count,
    prompt_cache_hit_tokens: Count,
    cache_creation_input_tokens: Count,
    prompt_tokens_details: Raw<'a>,
    completion_tokens_details: Raw<'a>,
    queue_time: Quantity,
    prompt_time: Quantity,
    completion_time: Quantity,
    total_time: Quantity,
    time_to_first_token_ms: Quantity,
    time_per_output_token_ms: Quantity,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
    audio_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
    audio_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LlamaTimings {
    cache_n: Count,
    prompt_n: Count,
    prompt_ms: Quantity,
    predicted_n: Count,
    predicted_ms: Quantity,
    predicted_per_token_ms: Quantity,
    draft_n: Count,
    draft_n_accepted: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct VllmMetrics {
    queue_time_ms: Quantity,
    time_to_first_token_ms: Quantity,
    generation_time_ms: Quantity,
    mean_itl_ms: Quantity,
}
