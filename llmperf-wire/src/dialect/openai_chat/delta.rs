//! What a delta adds to the answer.

use crate::dialect::shape::Values;
use crate::event::{Chunk, PieceKind};
use crate::json::{Json, Parsed};

/// Reads the value of a `delta`.
pub(super) fn read<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>, values: &mut Values) -> Parsed<()> {
    let mut reasoned = false;
    json.object(|json, name| match name {
        b"content" => read_content(json, chunk, values),
        b"reasoning_content" | b"reasoning" if !reasoned => {
            let thought = values.text(json)?;
            reasoned = thought.is_some();
            chunk.output(PieceKind::Reasoning, thought);
            Ok(())
        }
        b"refusal" => take(json, chunk, values, PieceKind::Refusal),
        b"tool_calls" => json.array(|json| {
            json.object(|json, name| match name {
                b"function" => read_function(json, chunk, values),
                _ => json.skip(),
            })
        }),
        b"function_call" => read_function(json, chunk, values),
        b"audio" => json.object(|json, name| match name {
            b"transcript" => take(json, chunk, values, PieceKind::Text),
            b"data" => take(json, chunk, values, PieceKind::Media),
            _ => json.skip(),
        }),
        _ => json.skip(),
    })
}

/// A string, or a list of typed parts.
fn read_content<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>, values: &mut Values) -> Parsed<()> {
    if json.peek() != Some(b'[') {
        return take(json, chunk, values, PieceKind::Text);
    }
    json.array(|json| {
        json.object(|json, name| match name {
            b"text" => take(json, chunk, values, PieceKind::Text),
            b"thinking" => read_thinking(json, chunk, values),
            _ => json.skip(),
        })
    })
}

/// A string, or a list of parts again.
fn read_thinking<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>, values: &mut Values) -> Parsed<()> {
    if json.peek() != Some(b'[') {
        return take(json, chunk, values, PieceKind::Reasoning);
    }
    json.array(|json| {
        json.object(|json, name| match name {
            b"text" => take(json, chunk, values, PieceKind::Reasoning),
            _ => json.skip(),
        })
    })
}

fn read_function<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>, values: &mut Values) -> Parsed<()> {
    json.object(|json, name| match name {
        b"name" => take(json, chunk, values, PieceKind::Tool),
        // A string that is JSON in turn; some servers write the object itself.
        b"arguments" if json.peek() == Some(b'{') => {
            let arguments = json.text_or_object()?;
            chunk.output(PieceKind::Tool, arguments);
            Ok(())
        }
        b"arguments" => take(json, chunk, values, PieceKind::Tool),
        _ => json.skip(),
    })
}

fn take<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>, values: &mut Values, kind: PieceKind) -> Parsed<()> {
    let text = values.text(json)?;
    chunk.output(kind, text);
    Ok(())
}
