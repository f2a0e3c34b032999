//! OpenAI Responses, as OpenAI, Azure, xAI, OpenRouter, vLLM and others speak it.
//!
//! Every event has a `type`, and mostly the same name as a server-sent event; if they differ, the `type` holds.
//!
//! | on the wire | means |
//! |---|---|
//! | `response.output_text.delta`, `response.audio.transcript.delta` | text |
//! | `response.reasoning_text.delta`, `response.reasoning.delta` | reasoning |
//! | `response.reasoning_summary_text.delta` | a summary of reasoning |
//! | `response.refusal.delta` | a refusal |
//! | `response.function_call_arguments.delta`, `….custom_tool_call_input.delta`, `….mcp_call_arguments.delta`, `….code_interpreter_call_code.delta`, `….shell_call_command.delta`, `….apply_patch_call_operation_diff.delta` | tool output |
//! | `response.output_item.added` of a call that has a name | tool output: the name |
//! | `response.audio.delta`, `response.image_generation_call.partial_image` | media |
//! | `response.created`, `.in_progress`, `.queued` | a chunk, no output; its `response` names id and model |
//! | all other `….added`, `….done` (they repeat what the deltas said) and the progress of calls; `….shell_call_output_content.delta` (what a tool says); `keepalive` | a chunk, no output |
//! | `response.completed` | the end. Finish reason `completed`: a tool call if the caller has to answer one, else a stop |
//! | `response.incomplete` | the end. Finish reason `incomplete`, whose kind is that of `incomplete_details.reason` |
//! | `response.failed` | the end, a failure: `response.error` |
//! | `error`, its fields in an `error` object or beside the type; an `error` in any event, field or bare object | a failure |
//! | `response.{id,model,service_tier}` | themselves; the tier `auto` is what was asked for, not yet what was given |
//! | `response.usage` | what has been used; see the table in the module below |
//! | any other type, or none | a chunk of an unknown kind |
//! | `[DONE]` (OpenRouter), empty data | a chunk, no output |
//!
//! The items of an answer are no choices: all output belongs to choice 0.

mod response;
pub(crate) mod whole;

use super::shape::{Shape, Values};
use super::{Known, Payload, failure};
use crate::event::{Chunk, Failure, PieceKind};
use crate::json::{Json, Parsed};
use crate::text::Text;
use response::Response;

/// Items that wait for the caller's answer; the provider's own tools answer within the stream.
const CALLS_OF_THE_CALLER: [&[u8]; 6] = [
    b"function_call",
    b"custom_tool_call",
    b"computer_call",
    b"local_shell_call",
    b"apply_patch_call",
    b"mcp_approval_request",
];

/// Reads the events of one stream.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The model has called a tool of the caller's.
    calls: bool,
    shape: Shape,
}

/// The fields of one event, whatever their order.
#[derive(Debug)]
struct Fields<'a> {
    /// The `type`.
    kind: Option<&'a [u8]>,
    values: Values,
    delta: Option<Text<'a>>,
    image: Option<Text<'a>>,
    item: Item<'a>,
    response: Option<Response<'a>>,
}

#[derive(Debug, Default)]
struct Item<'a> {
    kind: &'a [u8],
    name: Option<Text<'a>>,
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
        let mut fields = Fields {
            kind: None,
            values: Values::new(),
            delta: None,
            image: None,
            item: Item::default(),
            response: None,
        };
        Json::only_object(data, |json, name| fields.read(json, name, chunk))?;
        let kind = fields.kind.unwrap_or(name);
        if is_error || kind == b"error" {
            failure::complete(data, chunk)?;
        }
        let known = self.tell(kind, &fields, chunk);
        if !is_error && fields.kind.and_then(kind_of_delta).is_some() {
            self.shape.keep(data, chunk, &fields.values);
        }
        Ok(known)
    }

    #[inline]
    fn tell<'a>(&mut self, kind: &'a [u8], fields: &Fields<'a>, chunk: &mut Chunk<'a>) -> Known {
        let Fields { delta, image, ref item, ref response, .. } = *fields;
        if let Some(kind) = kind_of_delta(kind) {
            chunk.output(kind, delta);
            return Known::Yes;
        }
        match kind {
            b"response.output_item.added" => {
                self.calls |= CALLS_OF_THE_CALLER.contains(&item.kind);
                if item.kind.ends_with(b"_call") || item.kind == b"mcp_approval_request" {
                    chunk.output(PieceKind::Tool, item.name);
                }
            }
            b"response.image_generation_call.partial_image" => chunk.output(PieceKind::Media, image),
            b"response.completed" | b"response.incomplete" => {
                chunk.terminal = true;
                chunk.finishes.push(response::finish(response.as_ref(), kind, self.calls));
            }
            b"response.failed" => {
                chunk.terminal = true;
                let status = response.as_ref().and_then(|response| response.status);
                chunk.failure = chunk.failure.or(Some(Failure { status, ..Failure::default() }));
            }
            _ if chunk.failure.is_none() && !is_silent(kind) => return Known::No,
            _ => {}
        }
        if let Some(response) = response {
            response.tell(chunk);
        }
        Known::Yes
    }
}

impl<'a> Fields<'a> {
    #[inline]
    fn read(&mut self, json: &mut Json<'a>, name: &[u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
        match name {
            b"type" => self.kind = json.name()?,
            b"delta" => self.delta = self.values.text(json)?,
            b"sequence_number" | b"obfuscation" => self.values.skip(json)?,
            b"partial_image_b64" => self.image = json.text()?,
            b"item" => json.object(|json, name| {
                match name {
                    b"type" => self.item.kind = json.name()?.unwrap_or_default(),
                    b"name" => self.item.name = json.text()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            b"response" => self.response.get_or_insert_default().read(json, chunk)?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    }
}

fn kind_of_delta(kind: &[u8]) -> Option<PieceKind> {
    Some(match kind {
        b"response.output_text.delta" | b"response.audio.transcript.delta" => PieceKind::Text,
        b"response.reasoning_text.delta" | b"response.reasoning.delta" => PieceKind::Reasoning,
        b"response.reasoning_summary_text.delta" => PieceKind::ReasoningSummary,
        b"response.refusal.delta" => PieceKind::Refusal,
        b"response.function_call_arguments.delta"
        | b"response.custom_tool_call_input.delta"
        | b"response.mcp_call_arguments.delta"
        | b"response.code_interpreter_call_code.delta"
        | b"response.shell_call_command.delta"
        | b"response.apply_patch_call_operation_diff.delta" => PieceKind::Tool,
        b"response.audio.delta" => PieceKind::Media,
        _ => return None,
    })
}

/// True for kinds that are known to say nothing new: what begins and ends, and the progress of the provider's tools.
fn is_silent(kind: &[u8]) -> bool {
    const STEPS: [&[u8]; 11] = [
        b"created",
        b"queued",
        b"in_progress",
        b"added",
        b"done",
        b"searching",
        b"generating",
        b"interpreting",
        b"compacting",
        b"completed",
        b"failed",
    ];
    let step = kind.strip_prefix(b"response.").and_then(|kind| kind.rsplit(|byte| *byte == b'.').next());
    step.is_some_and(|step| STEPS.contains(&step))
        || matches!(kind, b"response.shell_call_output_content.delta" | b"keepalive")
}
