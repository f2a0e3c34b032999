//! A response that is not streamed.
//!
//! | in the answer | means |
//! |---|---|
//! | `output[]` of the type `message`: `content[].text`, `….refusal` | text, a refusal |
//! | … `reasoning`: `content[].text`, `summary[].text` | reasoning, a summary of it |
//! | … a call: `name`, `arguments`, `input`, `code` | tool output |
//! | … `image_generation_call`: `result` | media |
//! | `status` `completed`, `incomplete` | the finish reason |
//! | … `failed` | a failure: `error` |
//! | `id`, `model`, `service_tier`, `usage`, `incomplete_details` | as in a stream |

use super::CALLS_OF_THE_CALLER;
use super::response::{Response, finish};
use crate::event::{Chunk, Failure, PieceKind};
use crate::json::{Json, Parsed};

/// Says what a response means.
pub(crate) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut response = Response::default();
    response.read(&mut Json::new(data), chunk)?;
    let mut calls = false;
    Json::only_object(data, |json, name| match name {
        b"output" => json.array(|json| {
            calls |= read_item(json, chunk)?;
            Ok(())
        }),
        _ => json.skip(),
    })?;
    match response.status {
        Some(status) if status.is("completed") || status.is("incomplete") => {
            chunk.finishes.push(finish(Some(&response), b"", calls));
        }
        Some(status) if status.is("failed") => {
            chunk.failure = chunk.failure.or(Some(Failure { status: Some(status), ..Failure::default() }));
        }
        _ => {}
    }
    response.tell(chunk);
    Ok(())
}

/// Reads an item; true if the caller has to answer it.
fn read_item<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<bool> {
    // The type may come last.
    let mut kind: &[u8] = b"";
    json.clone().object(|json, name| {
        match name {
            b"type" => kind = json.name()?.unwrap_or_default(),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    json.object(|json, name| {
        match (kind, name) {
            (b"message", b"content") => read_parts(json, chunk, PieceKind::Text)?,
            (b"reasoning", b"content") => read_parts(json, chunk, PieceKind::Reasoning)?,
            (b"reasoning", b"summary") => read_parts(json, chunk, PieceKind::ReasoningSummary)?,
            (b"image_generation_call", b"result") => chunk.output(PieceKind::Media, json.text()?),
            (_, b"name" | b"arguments" | b"input" | b"code") if kind.ends_with(b"_call") => {
                chunk.output(PieceKind::Tool, json.text_or_object()?);
            }
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(CALLS_OF_THE_CALLER.contains(&kind))
}

fn read_parts<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>, kind: PieceKind) -> Parsed<()> {
    json.array(|json| {
        json.object(|json, name| {
            match name {
                b"text" => chunk.output(kind, json.text()?),
                b"refusal" => chunk.output(PieceKind::Refusal, json.text()?),
                _ => json.skip()?,
            }
            Ok(())
        })
    })
}
