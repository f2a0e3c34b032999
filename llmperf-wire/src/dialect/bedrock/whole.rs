//! The answer of `Converse`, which is not streamed.
//!
//! | in the answer | means |
//! |---|---|
//! | `output.message.content[].text` | text |
//! | `….toolUse.{name,input}` | tool output; the input is an object |
//! | `….reasoningContent.reasoningText.text` | reasoning |
//! | `….image.source.bytes` | media |
//! | `stopReason`, `usage`, `metrics`, `serviceTier` | as in a stream |

use super::{read_metrics, read_service_tier, read_stop_reason, read_usage, take};
use crate::event::{Chunk, PieceKind};
use crate::json::{Json, Parsed};

/// Says what an answer means.
pub(crate) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    Json::only_object(data, |json, name| match name {
        b"output" => {
            field(json, b"message", |json| field(json, b"content", |json| json.array(|json| read_block(json, chunk))))
        }
        b"stopReason" => read_stop_reason(json, chunk),
        b"usage" => read_usage(json, chunk),
        b"metrics" => read_metrics(json, chunk),
        b"serviceTier" => read_service_tier(json, chunk),
        _ => json.skip(),
    })
}

fn read_block<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    json.object(|json, name| match name {
        b"text" => take(json, chunk, PieceKind::Text),
        b"toolUse" => json.object(|json, name| {
            match name {
                b"name" => take(json, chunk, PieceKind::Tool)?,
                b"input" => {
                    let input = json.text_or_object()?;
                    chunk.output(PieceKind::Tool, input);
                }
                _ => json.skip()?,
            }
            Ok(())
        }),
        b"reasoningContent" => {
            field(json, b"reasoningText", |json| field(json, b"text", |json| take(json, chunk, PieceKind::Reasoning)))
        }
        b"image" => field(json, b"source", |json| field(json, b"bytes", |json| take(json, chunk, PieceKind::Media))),
        _ => json.skip(),
    })
}

/// Gives the value of one field of the object ahead to `value`.
fn field<'a>(json: &mut Json<'a>, wanted: &[u8], mut value: impl FnMut(&mut Json<'a>) -> Parsed<()>) -> Parsed<()> {
    json.object(|json, name| if name == wanted { value(json) } else { json.skip() })
}
