//! Anthropic Messages, as Anthropic, its resellers, llama.cpp, vLLM and others speak it.
//!
//! Every event has a `type`, and mostly the same name as a server-sent event; if they differ, the `type` holds.
//!
//! | on the wire | means |
//! |---|---|
//! | `message_start` | a chunk, no output; its `message` names id and model, and gives the input tokens |
//! | `content_block_delta` with a `text_delta` | text |
//! | … `thinking_delta` | reasoning |
//! | … `input_json_delta` | tool output; the first one is empty |
//! | … `signature_delta`, `citations_delta` | a chunk, no output |
//! | `content_block_start` of `tool_use`, `server_tool_use`, `mcp_tool_use` | tool output: the name |
//! | … of `text`, `thinking` | what it begins with, mostly nothing |
//! | … of `redacted_thinking`, the results of tools and all else | a chunk, no output |
//! | `content_block_stop`, `ping` | a chunk, no output |
//! | `message_delta` | the finish reason, `delta.stop_reason`, and the usage so far |
//! | `message_stop` | the end |
//! | `error`; an `error` in any event, field or bare object | a failure; its code is `error.type` |
//! | any other type, or none, or a delta of any other type | a chunk of an unknown kind |
//! | `[DONE]` (gateways), empty data | a chunk, no output |
//!
//! The blocks of an answer are no choices: all output belongs to choice 0.

mod usage;
pub(crate) mod whole;

use super::shape::{Shape, Values};
use super::{Known, Payload, failure, finish};
use crate::event::{Chunk, Finish, PieceKind};
use crate::json::{Json, Parsed};
use crate::text::Text;
use usage::{Report, Tokens};

/// Reads the events of one stream.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    tokens: Tokens,
    shape: Shape,
}

/// The fields of one event, whatever their order.
#[derive(Debug)]
struct Fields<'a> {
    /// The `type`.
    kind: Option<&'a [u8]>,
    values: Values,
    block: Block<'a>,
    stop_reason: Option<Text<'a>>,
    report: Option<Report<'a>>,
}

/// A content block at its start, or what a delta adds to one: no event has both.
#[derive(Debug, Default)]
struct Block<'a> {
    kind: &'a [u8],
    text: Option<Text<'a>>,
    thinking: Option<Text<'a>>,
    input: Option<Text<'a>>,
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
        let mut fields =
            Fields { kind: None, values: Values::new(), block: Block::default(), stop_reason: None, report: None };
        Json::only_object(data, |json, name| fields.read(json, name, chunk))?;
        let kind = fields.kind.unwrap_or(name);
        if is_error || kind == b"error" {
            failure::complete(data, chunk)?;
        }
        let known = self.tell(kind, &fields, chunk);
        if !is_error && fields.kind == Some(b"content_block_delta") {
            self.shape.keep(data, chunk, &fields.values);
        }
        Ok(known)
    }

    #[inline]
    fn tell<'a>(&mut self, kind: &[u8], fields: &Fields<'a>, chunk: &mut Chunk<'a>) -> Known {
        let Fields { ref block, stop_reason, ref report, .. } = *fields;
        match kind {
            b"content_block_delta" => return block.tell_delta(chunk),
            b"content_block_start" => block.tell_start(chunk),
            b"message_start" | b"message_delta" => {
                if let Some(report) = report {
                    self.tokens.take(report, chunk);
                }
                if let Some(reason) = stop_reason {
                    chunk.finishes.push(Finish { choice: 0, reason, kind: finish::kind(reason) });
                }
            }
            b"message_stop" => chunk.terminal = true,
            b"content_block_stop" | b"ping" => {}
            _ if chunk.failure.is_some() => {}
            _ => return Known::No,
        }
        Known::Yes
    }
}

impl<'a> Fields<'a> {
    #[inline]
    fn read(&mut self, json: &mut Json<'a>, name: &[u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
        match name {
            b"type" => self.kind = json.name()?,
            b"delta" => json.object(|json, name| match name {
                b"stop_reason" => {
                    self.stop_reason = json.text()?;
                    Ok(())
                }
                _ => self.block.read(json, name, &mut self.values),
            })?,
            b"content_block" => json.object(|json, name| self.block.read(json, name, &mut self.values))?,
            b"message" => json.object(|json, name| {
                match name {
                    b"id" => chunk.id = json.text()?,
                    b"model" => chunk.model = json.text()?,
                    b"usage" => self.report.get_or_insert_default().read_provisional(json)?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            b"usage" => self.report.get_or_insert_default().read(json)?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    }
}

impl<'a> Block<'a> {
    #[inline]
    fn read(&mut self, json: &mut Json<'a>, name: &[u8], values: &mut Values) -> Parsed<()> {
        match name {
            b"type" => self.kind = json.name()?.unwrap_or_default(),
            b"text" => self.text = values.text(json)?,
            b"thinking" => self.thinking = values.text(json)?,
            b"partial_json" => self.input = values.text(json)?,
            b"name" => self.name = json.text()?,
            _ => json.skip()?,
        }
        Ok(())
    }

    /// A delta without a type is what its fields are.
    fn tell_delta(&self, chunk: &mut Chunk<'a>) -> Known {
        match self.kind {
            b"text_delta" => chunk.output(PieceKind::Text, self.text),
            b"input_json_delta" => chunk.output(PieceKind::Tool, self.input),
            b"thinking_delta" => chunk.output(PieceKind::Reasoning, self.thinking),
            b"signature_delta" | b"citations_delta" => {}
            b"" => {
                chunk.output(PieceKind::Text, self.text);
                chunk.output(PieceKind::Reasoning, self.thinking);
                chunk.output(PieceKind::Tool, self.input);
            }
            _ => return Known::No,
        }
        Known::Yes
    }

    fn tell_start(&self, chunk: &mut Chunk<'a>) {
        match self.kind {
            b"text" => chunk.output(PieceKind::Text, self.text),
            b"thinking" => chunk.output(PieceKind::Reasoning, self.thinking),
            b"tool_use" | b"server_tool_use" | b"mcp_tool_use" => chunk.output(PieceKind::Tool, self.name),
            _ => {}
        }
    }
}
