//! A message that is not streamed.
//!
//! | in the answer | means |
//! |---|---|
//! | `content[]` of the type `text` | text |
//! | … `thinking` | reasoning |
//! | … `tool_use`, `server_tool_use`, `mcp_tool_use`: `name`, `input` | tool output |
//! | … of any other type | no output |
//! | `stop_reason`, `usage`, `id`, `model`, `error` | as in a stream |

use super::usage::{Report, Tokens};
use super::{failure, finish};
use crate::event::{Chunk, Finish, PieceKind};
use crate::json::{Json, Parsed};
use crate::text::Text;

/// Says what a message means.
pub(crate) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut report = Report::default();
    Json::only_object(data, |json, name| {
        match name {
            b"id" => chunk.id = json.text()?,
            b"model" => chunk.model = json.text()?,
            b"content" => json.array(|json| read_block(json, chunk))?,
            b"stop_reason" => {
                if let Some(reason) = json.text()? {
                    chunk.finishes.push(Finish { choice: 0, reason, kind: finish::kind(reason) });
                }
            }
            b"usage" => report.read(json)?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Tokens::default().take(&report, chunk);
    Ok(())
}

fn read_block<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut kind: &[u8] = b"";
    let [mut text, mut thinking, mut name_of_tool, mut input]: [Option<Text<'a>>; 4] = [None; 4];
    json.object(|json, name| {
        match name {
            b"type" => kind = json.name()?.unwrap_or_default(),
            b"text" => text = json.text()?,
            b"thinking" => thinking = json.text()?,
            b"name" => name_of_tool = json.text()?,
            b"input" => input = json.text_or_object()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    match kind {
        b"text" => chunk.output(PieceKind::Text, text),
        b"thinking" => chunk.output(PieceKind::Reasoning, thinking),
        b"tool_use" | b"server_tool_use" | b"mcp_tool_use" => {
            chunk.output(PieceKind::Tool, name_of_tool);
            chunk.output(PieceKind::Tool, input);
        }
        _ => {}
    }
    Ok(())
}
