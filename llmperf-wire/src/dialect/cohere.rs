//! Cohere v2 chat.
//!
//! Every event has a `type`, and mostly the same name as a server-sent event; if they differ, the `type` holds.
//!
//! | on the wire | means |
//! |---|---|
//! | `message-start` | a chunk, no output; its `id` is that of the answer |
//! | `content-start`, `content-delta`: `delta.message.content.{text,thinking}` | text, reasoning |
//! | `tool-plan-delta`: `delta.message.tool_plan` | text: what the model says of the calls to come |
//! | `tool-call-start`, `tool-call-delta`: `delta.message.tool_calls.function.{name,arguments}` | tool output |
//! | `content-end`, `tool-call-end`, `citation-start`, `citation-end`, `debug` | a chunk, no output |
//! | `message-end` | the end, with `delta.{finish_reason,usage}` |
//! | its `delta.error`, or a finish reason `ERROR` or `TIMEOUT` | a failure too: generation broke off |
//! | `usage.tokens.{input_tokens,output_tokens}` | input, output |
//! | `usage.billed_units.{input_tokens,output_tokens}` | billed input and output, which are fewer |
//! | `usage.cached_tokens` | read from the cache; part of the input |
//! | `error`; an `error` in any event, field or bare object | a failure |
//! | any other type, or none | a chunk of an unknown kind |
//! | `[DONE]` after the end, empty data | a chunk, no output |
//! | `logprobs`, `citations` and all else | skipped |
//!
//! The stream does not name the model.

pub(crate) mod whole;

use super::shape::{Shape, Values};
use super::{Known, Payload, failure, finish};
use crate::event::{Chunk, Failure, Finish, FinishKind, PieceKind, Usage};
use crate::json::{Json, Parsed};
use crate::list::List;
use crate::text::Text;

/// The types of events that carry output.
const OUTPUT: [&[u8]; 5] =
    [b"content-delta", b"content-start", b"tool-plan-delta", b"tool-call-start", b"tool-call-delta"];

/// Reads the events of one stream.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    shape: Shape,
}

/// The fields of one event, whatever their order: its type is the last one.
#[derive(Debug)]
struct Fields<'a> {
    /// The `type`.
    kind: Option<&'a [u8]>,
    values: Values,
    finish_reason: Option<Text<'a>>,
}

impl Reader {
    /// Says what an event means.
    pub(crate) fn read<'a>(&mut self, payload: Payload<'a>, chunk: &mut Chunk<'a>) -> Parsed<Known> {
        let Payload { name, data } = payload;
        if data.is_empty() || data.starts_with(b"[DONE]") {
            return Ok(Known::Yes);
        }
        let is_error = name == b"error";
        if !is_error && self.shape.read(data, chunk) {
            return Ok(Known::Yes);
        }
        let mut fields = Fields { kind: None, values: Values::new(), finish_reason: None };
        Json::only_object(data, |json, name| fields.read(json, name, chunk))?;
        let kind = fields.kind.unwrap_or(name);
        if is_error || kind == b"error" {
            failure::complete(data, chunk)?;
        }
        let known = fields.tell(kind, chunk);
        if !is_error && fields.kind.is_some_and(|kind| OUTPUT.contains(&kind)) {
            self.shape.keep(data, chunk, &fields.values);
        }
        Ok(known)
    }
}

impl<'a> Fields<'a> {
    #[inline]
    fn read(&mut self, json: &mut Json<'a>, name: &[u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
        match name {
            b"type" => self.kind = json.name()?,
            b"id" => chunk.id = json.text()?,
            b"delta" => json.object(|json, name| {
                match name {
                    b"message" => json.object(|json, name| read_message(json, name, &mut self.values, chunk))?,
                    b"finish_reason" => self.finish_reason = json.text()?,
                    b"usage" => read_usage(json, chunk)?,
                    b"error" => failure::read(json, chunk)?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    }

    fn tell(&self, kind: &[u8], chunk: &mut Chunk<'a>) -> Known {
        match kind {
            _ if OUTPUT.contains(&kind) => {}
            b"message-end" => tell_end(self.finish_reason, chunk),
            b"message-start" | b"content-end" | b"tool-call-end" | b"citation-start" | b"citation-end" | b"debug" => {}
            _ if chunk.failure.is_some() => {}
            _ => {
                (chunk.pieces, chunk.usage) = (List::new(), None);
                return Known::No;
            }
        }
        Known::Yes
    }
}

/// The end of an answer, with its finish reason.
fn tell_end<'a>(reason: Option<Text<'a>>, chunk: &mut Chunk<'a>) {
    chunk.terminal = true;
    let Some(reason) = reason else { return };
    let kind = finish::kind(reason);
    chunk.finishes.push(Finish { choice: 0, reason, kind });
    if kind == FinishKind::Error {
        // The error itself is a message: the finish reason is the only word that there is for it.
        let failure = chunk.failure.unwrap_or_default();
        chunk.failure = Some(Failure { status: failure.status.or(Some(reason)), ..failure });
    }
}

fn read_message<'a>(json: &mut Json<'a>, name: &[u8], values: &mut Values, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut take = |json: &mut Json<'a>, kind| {
        let text = values.text(json)?;
        chunk.output(kind, text);
        Ok(())
    };
    match name {
        b"content" => each(json, |json, name| match name {
            b"text" => take(json, PieceKind::Text),
            b"thinking" => take(json, PieceKind::Reasoning),
            _ => json.skip(),
        }),
        b"tool_plan" => take(json, PieceKind::Text),
        b"tool_calls" => each(json, |json, name| match name {
            b"function" => json.object(|json, name| match name {
                b"name" | b"arguments" => take(json, PieceKind::Tool),
                _ => json.skip(),
            }),
            _ => json.skip(),
        }),
        _ => json.skip(),
    }
}

/// Gives the fields of the object ahead, or of each object in the array ahead, to `field`.
fn each<'a>(json: &mut Json<'a>, mut field: impl FnMut(&mut Json<'a>, &'a [u8]) -> Parsed<()>) -> Parsed<()> {
    if json.peek() == Some(b'[') { json.array(|json| json.object(&mut field)) } else { json.object(field) }
}

fn read_usage(json: &mut Json<'_>, chunk: &mut Chunk<'_>) -> Parsed<()> {
    let mut usage = Usage::default();
    let Usage { input, output, cache_read, billed_input, billed_output, .. } = &mut usage;
    json.object(|json, name| match name {
        b"tokens" => read_pair(json, input, output),
        b"billed_units" => read_pair(json, billed_input, billed_output),
        b"cached_tokens" => {
            *cache_read = json.count()?;
            Ok(())
        }
        _ => json.skip(),
    })?;
    chunk.usage = (usage != Usage::default()).then_some(usage);
    Ok(())
}

/// Reads a pair of counts, used or billed.
pub(crate) fn read_pair(json: &mut Json<'_>, input: &mut Option<u64>, output: &mut Option<u64>) -> Parsed<()> {
    json.object(|json, name| {
        match name {
            b"input_tokens" => *input = json.count()?,
            b"output_tokens" => *output = json.count()?,
            _ => json.skip()?,
        }
        Ok(())
    })
}
