//! Ollama's own protocol: `/api/chat` and `/api/generate`, one JSON object a line.
//!
//! | on the wire | means |
//! |---|---|
//! | `message.content` (chat), `response` (generate) | text |
//! | `message.thinking`, `thinking` | reasoning |
//! | `message.tool_calls[].function.{name,arguments}` | tool output; the arguments are an object |
//! | `message.images[]`, `image` | media |
//! | empty strings, `message.role` | a chunk, no output |
//! | `done: true` | the end of the stream |
//! | `done_reason` | the choice ends; older servers leave it out |
//! | `prompt_eval_count`, `eval_count` | input, output; a zero is left out, so a prompt from the cache may have none |
//! | `prompt_eval_cached_count` | read from the cache; part of the input |
//! | `load_duration`, `prompt_eval_duration`, `eval_duration`, `total_duration` | the server's own times, in nanoseconds |
//! | `error`, mostly a string | a failure |
//! | `model` | itself; there is no id |
//! | `created_at`, `context`, `logprobs` and all else | skipped |
//! | an object with none of these | a kind of event that is not known |

use super::shape::{Shape, Values};
use super::{Known, failure, finish};
use crate::event::{Chunk, Finish, PieceKind, ServerTimings, Usage};
use crate::json::{Json, Parsed};

/// Reads the lines of one stream; an answer that is not streamed is written like the last of them.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    shape: Shape,
}

impl Reader {
    /// Says what a line means.
    pub(crate) fn read<'a>(&mut self, data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<Known> {
        if self.shape.read(data, chunk) {
            return Ok(Known::Yes);
        }
        let mut values = Values::new();
        let known = read_line(data, &mut values, chunk)?;
        self.shape.keep(data, chunk, &values);
        Ok(known)
    }
}

fn read_line<'a>(data: &'a [u8], values: &mut Values, chunk: &mut Chunk<'a>) -> Parsed<Known> {
    let mut usage = Usage::default();
    let mut timings = ServerTimings::default();
    let mut known = Known::No;
    Json::only_object(data, |json, name| {
        match name {
            b"model" => chunk.model = json.text()?,
            b"message" => read_message(json, values, chunk)?,
            b"response" => chunk.output(PieceKind::Text, values.text(json)?),
            b"thinking" => chunk.output(PieceKind::Reasoning, values.text(json)?),
            b"image" => chunk.output(PieceKind::Media, json.text()?),
            b"done" => chunk.terminal = json.flag()?.unwrap_or(false),
            b"done_reason" => {
                if let Some(reason) = json.text()? {
                    chunk.finishes.push(Finish { choice: 0, reason, kind: finish::kind(reason) });
                }
            }
            b"prompt_eval_count" => usage.input = json.count()?,
            b"prompt_eval_cached_count" => usage.cache_read = json.count()?,
            b"eval_count" => usage.output = json.count()?,
            b"load_duration" => timings.load = json.nanoseconds()?,
            b"prompt_eval_duration" => timings.prompt = json.nanoseconds()?,
            b"eval_duration" => timings.generation = json.nanoseconds()?,
            b"total_duration" => timings.total = json.nanoseconds()?,
            b"error" => failure::read(json, chunk)?,
            b"created_at" => return values.skip(json),
            _ => return json.skip(),
        }
        known = Known::Yes;
        Ok(())
    })?;
    chunk.usage = (usage != Usage::default()).then_some(usage);
    chunk.timings = (timings != ServerTimings::default()).then_some(timings);
    Ok(known)
}

fn read_message<'a>(json: &mut Json<'a>, values: &mut Values, chunk: &mut Chunk<'a>) -> Parsed<()> {
    json.object(|json, name| {
        match name {
            b"content" => chunk.output(PieceKind::Text, values.text(json)?),
            b"thinking" => chunk.output(PieceKind::Reasoning, values.text(json)?),
            b"images" => json.array(|json| {
                chunk.output(PieceKind::Media, json.text()?);
                Ok(())
            })?,
            b"tool_calls" => json.array(|json| {
                json.object(|json, name| match name {
                    b"function" => read_function(json, chunk),
                    _ => json.skip(),
                })
            })?,
            _ => json.skip()?,
        }
        Ok(())
    })
}

fn read_function<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    json.object(|json, name| {
        match name {
            b"name" => chunk.output(PieceKind::Tool, json.text()?),
            b"arguments" => chunk.output(PieceKind::Tool, json.text_or_object()?),
            _ => json.skip()?,
        }
        Ok(())
    })
}
