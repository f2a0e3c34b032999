//! The answer of the family that is not streamed.
//!
//! | in the answer | means |
//! |---|---|
//! | `choices[].message` | the fields of a delta |
//! | `choices[].text` (legacy completions) | text |
//! | all else | as in a stream |

use super::usage::Report;
use super::{Choice, delta, failure, finish_kind};
use crate::event::{Chunk, Finish, Piece, PieceKind};
use crate::json::{Json, Parsed};

/// Reads an answer.
pub(crate) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut report = Report::default();
    let mut json = Json::new(data);
    json.object(|json, name| {
        match name {
            b"id" => chunk.id = json.text()?,
            b"model" => chunk.model = json.text()?,
            b"service_tier" => chunk.service_tier = json.text()?,
            b"system_fingerprint" => chunk.system_fingerprint = json.text()?,
            b"choices" => json.array(|json| read_choice(json, chunk))?,
            b"usage" => report.read_usage(json)?,
            b"timings" => report.read_llama_timings(json)?,
            b"metrics" => report.read_vllm_metrics(json)?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    report.tell(chunk);
    json.end()
}

fn read_choice<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let before = chunk.pieces.len();
    let mut choice = Choice { index: 0, reason: None };
    json.object(|json, name| {
        match name {
            b"index" => {
                choice.index = json.count()?.and_then(|index| u32::try_from(index).ok()).unwrap_or(0);
            }
            b"message" => delta::read(json, chunk)?,
            b"text" => {
                if let Some(text) = json.text()? {
                    chunk.pieces.push(Piece { kind: PieceKind::Text, choice: 0, text });
                }
            }
            b"finish_reason" => choice.reason = json.text()?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let Choice { index, reason } = choice;
    for piece in chunk.pieces.iter_mut().skip(before) {
        piece.choice = index;
    }
    if let Some(reason) = reason {
        chunk.finishes.push(Finish { choice: index, reason, kind: finish_kind(reason) });
    }
    Ok(())
}

/// Reads the value of a field `error`, in whatever answer it stands.
pub(crate) fn read_error<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    failure::read(json, chunk)
}

/// Reads the figures of an answer of the family that holds vectors or an order, not words.
pub(crate) fn read_usage(json: &mut Json<'_>, chunk: &mut Chunk<'_>) -> Parsed<()> {
    let mut report = Report::default();
    report.read_usage(json)?;
    report.tell(chunk);
    Ok(())
}
