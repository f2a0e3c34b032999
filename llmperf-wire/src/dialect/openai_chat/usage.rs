//! Usage reports and server timings of the family.
//!
//! | on the wire | means |
//! |---|---|
//! | `prompt_tokens` | input, cached tokens included |
//! | `completion_tokens` | output, reasoning included |
//! | `total_tokens` = prompt + completion + reasoning (xAI) | reasoning stands outside `completion_tokens`: it is added |
//! | `prompt_tokens_details.cached_tokens`, `prompt_cache_hit_tokens` (DeepSeek), `cached_tokens` (Moonshot), `num_cached_tokens` and `prompt_token_details` (Mistral) | read from the cache |
//! | `prompt_tokens_details.cache_write_tokens` (OpenRouter), `cache_creation_input_tokens` (gateways to Anthropic) | written to the cache |
//! | `completion_tokens_details.reasoning_tokens`, `reasoning_tokens` (SGLang, Perplexity) | reasoning |
//! | `…_details.audio_tokens` | audio |
//! | `queue_time`, `prompt_time`, `completion_time`, `total_time` (Groq) | the server's times in seconds |
//! | `time_to_first_token_ms`, `time_per_output_token_ms` (GPUStack) | the server's times in milliseconds |

use crate::event::{Chunk, ServerTimings, Usage};
use crate::json::{Json, Parsed};

/// The figures of one payload.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// There is anything to tell.
    found: bool,
    tokens: Usage,
    total: Option<u64>,
    timings: ServerTimings,
}

impl Report {
    pub(super) fn read_usage(&mut self, json: &mut Json<'_>) -> Parsed<()> {
        self.found |= json.peek() == Some(b'{');
        let Self { tokens, total, timings, .. } = self;
        json.object(|json, name| {
            match name {
                b"prompt_tokens" => tokens.input = json.count()?,
                b"completion_tokens" => tokens.output = json.count()?,
                b"total_tokens" => *total = json.count()?,
                b"reasoning_tokens" => tokens.reasoning = json.count()?.or(tokens.reasoning),
                b"prompt_cache_hit_tokens" | b"cached_tokens" | b"num_cached_tokens" => {
                    tokens.cache_read = json.count()?.or(tokens.cache_read);
                }
                b"cache_creation_input_tokens" => {
                    tokens.cache_write = json.count()?.or(tokens.cache_write);
                }
                b"prompt_tokens_details" | b"prompt_token_details" => json.object(|json, name| {
                    match name {
                        b"cached_tokens" => tokens.cache_read = json.count()?.or(tokens.cache_read),
                        b"cache_write_tokens" => {
                            tokens.cache_write = json.count()?.or(tokens.cache_write);
                        }
                        b"audio_tokens" => tokens.audio_input = json.count()?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                b"completion_tokens_details" => json.object(|json, name| {
                    match name {
                        b"reasoning_tokens" => {
                            tokens.reasoning = json.count()?.or(tokens.reasoning);
                        }
                        b"audio_tokens" => tokens.audio_output = json.count()?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                b"queue_time" => timings.queue = json.seconds()?,
                b"prompt_time" => timings.prompt = json.seconds()?,
                b"completion_time" => timings.generation = json.seconds()?,
                b"total_time" => timings.total = json.seconds()?,
                b"time_to_first_token_ms" => timings.time_to_first_token = json.milliseconds()?,
                b"time_per_output_token_ms" => timings.time_per_token = json.milliseconds()?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    pub(super) fn read_llama_timings(&mut self, json: &mut Json<'_>) -> Parsed<()> {
        self.found |= json.peek() == Some(b'{');
        let timings = &mut self.timings;
        json.object(|json, name| {
            match name {
                b"cache_n" => timings.cached_tokens = json.count()?,
                b"prompt_n" => timings.prompt_tokens = json.count()?,
                b"prompt_ms" => timings.prompt = json.milliseconds()?,
                b"predicted_n" => timings.generated_tokens = json.count()?,
                b"predicted_ms" => timings.generation = json.milliseconds()?,
                b"predicted_per_token_ms" => timings.time_per_token = json.milliseconds()?,
                b"draft_n" => timings.draft_tokens = json.count()?,
                b"draft_n_accepted" => timings.accepted_draft_tokens = json.count()?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    pub(super) fn read_vllm_metrics(&mut self, json: &mut Json<'_>) -> Parsed<()> {
        self.found |= json.peek() == Some(b'{');
        let timings = &mut self.timings;
        json.object(|json, name| {
            match name {
                b"queue_time_ms" => timings.queue = json.milliseconds()?,
                b"time_to_first_token_ms" => timings.time_to_first_token = json.milliseconds()?,
                b"generation_time_ms" => timings.generation = json.milliseconds()?,
                b"mean_itl_ms" => timings.time_per_token = json.milliseconds()?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    /// Puts what was found into the chunk.
    pub(super) fn tell(mut self, chunk: &mut Chunk<'_>) {
        if !self.found {
            return;
        }
        if self.reasoning_stands_outside() {
            self.tokens.output = sum(self.tokens.output, self.tokens.reasoning);
        }
        chunk.usage = (self.tokens != Usage::default()).then_some(self.tokens);
        chunk.timings = (self.timings != ServerTimings::default()).then_some(self.timings);
    }

    /// True if the total counts the reasoning on top of the completion.
    fn reasoning_stands_outside(&self) -> bool {
        let Usage { input, output, reasoning, .. } = self.tokens;
        self.total.is_some() && self.total == sum(sum(input, output), reasoning)
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    one?.checked_add(other?)
}
