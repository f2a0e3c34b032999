//! The `response` that the first and the last events hold: what it says of itself, its usage, its end.
//!
//! | on the wire | means |
//! |---|---|
//! | `usage.input_tokens` | input, cached tokens included |
//! | `usage.input_tokens_details.{cached_tokens,cache_write_tokens}` | read from the cache, written to it |
//! | `usage.output_tokens` | output, reasoning included |
//! | `usage.output_tokens_details.reasoning_tokens` | reasoning |
//! | `usage.…_details.audio_tokens` | audio |
//!
//! Zeros are told as they come: an incomplete answer may have them for any number of tokens.

use crate::dialect::{failure, finish};
use crate::event::{Chunk, Finish, FinishKind, Usage};
use crate::json::{Json, Parsed};
use crate::text::Text;

/// What an event's `response` says.
#[derive(Debug, Default)]
pub(super) struct Response<'a> {
    pub(super) status: Option<Text<'a>>,
    /// Why it is incomplete.
    reason: Option<Text<'a>>,
    id: Option<Text<'a>>,
    model: Option<Text<'a>>,
    service_tier: Option<Text<'a>>,
    usage: Usage,
}

impl<'a> Response<'a> {
    pub(super) fn read(&mut self, json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
        json.object(|json, name| {
            match name {
                b"id" => self.id = json.text()?,
                b"model" => self.model = json.text()?,
                b"status" => self.status = json.text()?,
                b"service_tier" => self.service_tier = json.text()?.filter(|tier| !tier.is("auto")),
                b"incomplete_details" => json.object(|json, name| {
                    match name {
                        b"reason" => self.reason = json.text()?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                b"usage" => read_usage(json, &mut self.usage)?,
                b"error" => failure::read(json, chunk)?,
                _ => json.skip()?,
            }
            Ok(())
        })
    }

    /// Puts what it says of itself, and its usage, into the chunk.
    pub(super) fn tell(&self, chunk: &mut Chunk<'a>) {
        let Self { id, model, service_tier, usage, .. } = *self;
        (chunk.id, chunk.model, chunk.service_tier) = (id, model, service_tier);
        chunk.usage = (usage != Usage::default()).then_some(usage);
    }
}

/// How the answer ends by its last event, which is of this kind; `calls` says that the caller has to answer a call.
pub(super) fn finish<'a>(response: Option<&Response<'a>>, kind: &'a [u8], calls: bool) -> Finish<'a> {
    let word = Text::plain(kind.strip_prefix(b"response.").unwrap_or(kind));
    let reason = response.and_then(|response| response.status).unwrap_or(word);
    let details = response.and_then(|response| response.reason);
    let kind = match details.map_or(FinishKind::Other, finish::kind) {
        FinishKind::Other => finish::kind(reason),
        known => known,
    };
    let kind = if calls && kind == FinishKind::Stop { FinishKind::ToolCall } else { kind };
    Finish { choice: 0, reason, kind }
}

/// Reads the value of a `usage`.
pub(super) fn read_usage(json: &mut Json<'_>, usage: &mut Usage) -> Parsed<()> {
    json.object(|json, name| {
        match name {
            b"input_tokens" => usage.input = json.count()?,
            b"output_tokens" => usage.output = json.count()?,
            b"input_tokens_details" => json.object(|json, name| {
                match name {
                    b"cached_tokens" => usage.cache_read = json.count()?,
                    b"cache_write_tokens" => usage.cache_write = json.count()?,
                    b"audio_tokens" => usage.audio_input = json.count()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            b"output_tokens_details" => json.object(|json, name| {
                match name {
                    b"reasoning_tokens" => usage.reasoning = json.count()?,
                    b"audio_tokens" => usage.audio_output = json.count()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            _ => json.skip()?,
        }
        Ok(())
    })
}
