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
//! | `load_duration`, `prompt_eval_duration`, `eval_duration`, `total_duration` | the server's own times, in nanoseconds |
//! | `error`, mostly a string | a failure |
//! | `model` | itself; there is no id |
//! | `created_at`, `context`, `logprobs` and all else | skipped |
//! | an object with none of these | a kind of event that is not known |

use super::{Known, kind_of};
use crate::event::{Chunk, Failure, Finish, FinishKind, Piece, PieceKind, ServerTimings, Usage};
use crate::json::{Json, Malformed, Parsed};
use crate::text::Text;

const KINDS: &[(&str, FinishKind)] = &[("stop", FinishKind::Stop), ("length", FinishKind::Length)];

/// Says what a line means.
pub(crate) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<Known> {
    if !data.starts_with(b"{") {
        return Err(Malformed);
    }
    let mut usage = Usage::default();
    let mut timings = ServerTimings::default();
    let mut known = Known::No;
    let mut json = Json::new(data);
    json.object(|json, name| {
        match name {
            b"model" => chunk.model = json.text()?,
            b"message" => read_message(json, chunk)?,
            b"response" => output(chunk, PieceKind::Text, json.text()?),
            b"thinking" => output(chunk, PieceKind::Reasoning, json.text()?),
            b"image" => output(chunk, PieceKind::Media, json.text()?),
            b"done" => chunk.terminal = json.flag()?.unwrap_or(false),
            b"done_reason" => {
                if let Some(reason) = json.text()? {
                    chunk.finishes.push(Finish { choice: 0, reason, kind: kind_of(reason, KINDS) });
                }
            }
            b"prompt_eval_count" => usage.input = json.count()?,
            b"eval_count" => usage.output = json.count()?,
            b"load_duration" => timings.load = json.nanoseconds()?,
            b"prompt_eval_duration" => timings.prompt = json.nanoseconds()?,
            b"eval_duration" => timings.generation = json.nanoseconds()?,
            b"total_duration" => timings.total = json.nanoseconds()?,
            b"error" => chunk.failure = read_error(json)?,
            _ => return json.skip(),
        }
        known = Known::Yes;
        Ok(())
    })?;
    json.end()?;
    chunk.usage = (usage != Usage::default()).then_some(usage);
    chunk.timings = (timings != ServerTimings::default()).then_some(timings);
    Ok(known)
}

fn read_message<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    json.object(|json, name| {
        match name {
            b"content" => output(chunk, PieceKind::Text, json.text()?),
            b"thinking" => output(chunk, PieceKind::Reasoning, json.text()?),
            b"images" => json.array(|json| {
                output(chunk, PieceKind::Media, json.text()?);
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
            b"name" => output(chunk, PieceKind::Tool, json.text()?),
            b"arguments" => output(chunk, PieceKind::Tool, json.text_or_object()?),
            _ => json.skip()?,
        }
        Ok(())
    })
}

/// A message; gateways write objects. Null and the empty string are no failure.
fn read_error<'a>(json: &mut Json<'a>) -> Parsed<Option<Failure<'a>>> {
    if json.peek() != Some(b'{') {
        let message = json.text()?;
        return Ok(message.map(|message| Failure { message: Some(message), ..Failure::default() }));
    }
    let mut failure = Failure::default();
    json.object(|json, name| {
        match name {
            b"code" if json.peek() == Some(b'"') => failure.code = json.text()?,
            b"code" => failure.number = json.count()?,
            b"type" => failure.kind = json.text()?,
            b"message" => failure.message = json.text()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(Some(failure))
}

fn output<'a>(chunk: &mut Chunk<'a>, kind: PieceKind, text: Option<Text<'a>>) {
    if let Some(text) = text {
        chunk.pieces.push(Piece { kind, choice: 0, text });
    }
}
