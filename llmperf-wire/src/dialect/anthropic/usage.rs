//! Usage reports of Anthropic Messages.
//!
//! | on the wire | means |
//! |---|---|
//! | `input_tokens` + `cache_read_input_tokens` + `cache_creation_input_tokens` | input: the three are reported apart |
//! | `cache_read_input_tokens` | read from the cache |
//! | `cache_creation_input_tokens` | written to the cache |
//! | `output_tokens` of a `message_delta` | output so far, reasoning included |
//! | `output_tokens` of a `message_start` | a guess: not told |
//! | `output_tokens_details.thinking_tokens` | reasoning |
//! | `service_tier` | itself |

use crate::event::{Chunk, Usage};
use crate::json::{Json, Parsed};
use crate::text::Text;

/// The parts of the input, the last word on each: a later report may leave out what an earlier one gave, and some
/// gateways write zeros until they know. Counts above `u32::MAX` are kept as that.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tokens {
    uncached: Option<u32>,
    cache_read: Option<u32>,
    cache_write: Option<u32>,
}

/// The figures of one event.
#[derive(Debug, Default)]
pub(super) struct Report<'a> {
    tokens: Tokens,
    output: Option<u64>,
    reasoning: Option<u64>,
    service_tier: Option<Text<'a>>,
}

impl<'a> Report<'a> {
    /// Reads the usage that a message starts with: its output is a guess.
    pub(super) fn read_provisional(&mut self, json: &mut Json<'a>) -> Parsed<()> {
        self.read(json)?;
        (self.output, self.reasoning) = (None, None);
        Ok(())
    }

    /// Reads the value of a `usage`.
    pub(super) fn read(&mut self, json: &mut Json<'a>) -> Parsed<()> {
        json.object(|json, name| {
            match name {
                b"input_tokens" => self.tokens.uncached = count(json)?,
                b"cache_read_input_tokens" => self.tokens.cache_read = count(json)?,
                b"cache_creation_input_tokens" => self.tokens.cache_write = count(json)?,
                b"output_tokens" => self.output = json.count()?,
                b"output_tokens_details" => json.object(|json, name| {
                    match name {
                        b"thinking_tokens" => self.reasoning = json.count()?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                b"service_tier" => self.service_tier = json.text()?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }
}

impl Tokens {
    /// Puts what an event reports into the chunk.
    pub(super) fn take<'a>(&mut self, report: &Report<'a>, chunk: &mut Chunk<'a>) {
        let Report { tokens, output, reasoning, service_tier } = *report;
        let input = self.absorb(tokens);
        let usage = Usage {
            input,
            output,
            cache_read: tokens.cache_read.and(self.cache_read).map(u64::from),
            cache_write: tokens.cache_write.and(self.cache_write).map(u64::from),
            reasoning,
            ..Usage::default()
        };
        chunk.usage = (usage != Usage::default()).then_some(usage);
        chunk.service_tier = service_tier;
    }

    /// The whole input after this report, if the report says anything of it.
    fn absorb(&mut self, said: Self) -> Option<u64> {
        let Self { uncached, cache_read, cache_write } = self;
        let mut told = false;
        for (kept, said) in [(uncached, said.uncached), (cache_read, said.cache_read), (cache_write, said.cache_write)]
        {
            told |= said.is_some();
            *kept = said.filter(|tokens| *tokens > 0 || kept.is_none()).or(*kept);
        }
        let parts = [self.uncached?, self.cache_read.unwrap_or(0), self.cache_write.unwrap_or(0)];
        told.then(|| parts.into_iter().map(u64::from).sum())
    }
}

fn count(json: &mut Json<'_>) -> Parsed<Option<u32>> {
    Ok(json.count()?.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)))
}
