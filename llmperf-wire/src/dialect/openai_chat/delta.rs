//! What a delta adds to the answer.

use crate::event::{Chunk, PieceKind};
use crate::json::{Json, Parsed};

/// Reads the value of a `delta`.
pub(super) fn read<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut reasoned = false;
    json.object(|json, name| match name {
        b"content" => read_content(json, chunk),
        b"reasoning_content" | b"reasoning" if !reasoned => {
            let thought = json.text()?;
            reasoned = thought.is_some();
            chunk.output(PieceKind::Reasoning, thought);
            Ok(())
        }
        b"refusal" => take(json, chunk, PieceKind::Refusal),
        b"tool_calls" => json.array(|json| {
            json.object(|json, name| match name {
                b"function" => read_function(json, chunk),
                _ => json.skip(),
            })
        }),
        b"function_call" => read_function(json, chunk),
        b"audio" => json.object(|json, name| match name {
            b"transcript" => take(json, chunk, PieceKind::Text),
            b"data" => take(json, chunk, PieceKind::Media),
            _ => json.skip(),
        }),
        _ => json.skip(),
    })
}

/// A string, or a list of typed parts.
fn read_content<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    if json.peek() != Some(b'[') {
        return take(json, chunk, PieceKind::Text);
    }
    json.array(|json| {
        json.object(|json, name| match name {
            b"text" => take(json, chunk, PieceKind::Text),
            b"thinking" => read_thinking(json, chunk),
            _ => json.skip(),
        })
    })
}

/// A string, or a list of parts again.
fn read_thinking<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    if json.peek() != Some(b'[') {
        return take(json, chunk, PieceKind::Reasoning);
    }
    json.array(|json| {
        json.object(|json, name| match name {
            b"text" => take(json, chunk, PieceKind::Reasoning),
            _ => json.skip(),
        })
    })
}

fn read_function<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    json.object(|json, name| match name {
        b"name" => take(json, chunk, PieceKind::Tool),
        // A string that is JSON in turn; some servers write the object itself.
        b"arguments" => {
            let arguments = json.text_or_object()?;
            chunk.output(PieceKind::Tool, arguments);
            Ok(())
        }
        _ => json.skip(),
    })
}

fn take<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>, kind: PieceKind) -> Parsed<()> {
    let text = json.text()?;
    chunk.output(kind, text);
    Ok(())
}
