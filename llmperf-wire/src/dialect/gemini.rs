//! Google's `streamGenerateContent`, of the Gemini API and of Vertex AI, as server-sent events or as one growing array.
//!
//! | on the wire | means |
//! |---|---|
//! | `candidates[].content.parts[].text` | text; a summary of reasoning if the part has `thought: true`: the thoughts themselves are not sent |
//! | `functionCall.{name,args}`, `functionCall.partialArgs[].{stringValue,numberValue}` | tool output; `args` is an object |
//! | `executableCode.code` | tool output: what the model has a tool of the provider run |
//! | `inlineData.data` | media |
//! | `codeExecutionResult`, `functionResponse`, `thoughtSignature`, ratings, grounding, empty texts | a chunk, no output |
//! | `candidates[].finishReason` | the choice ends; older models say `STOP` in every event |
//! | `promptFeedback.blockReason` without candidates | the prompt was blocked: the first choice ends |
//! | `FINISH_REASON_UNSPECIFIED`, `BLOCKED_REASON_UNSPECIFIED`, `BLOCK_REASON_UNSPECIFIED` | nothing |
//! | a number for a reason (`enum-encoding=int`) | the word, as far as both APIs agree; else the number itself |
//! | `usageMetadata`, in every event | what has been used so far; see the table in the module below |
//! | `error` in an event, or in an object that stands alone | a failure: its `status` is a word, its `code` a number |
//! | `modelVersion`, `responseId` | model and id |
//! | the array's `]` | the end of the stream; server-sent events have no marker |
//! | an object with none of these | a kind of event that is not known |

mod usage;

use super::shape::{Shape, Values};
use super::{Known, Payload, failure, finish};
use crate::event::{Chunk, Finish, FinishKind, PieceKind};
use crate::json::{Json, Parsed};
use crate::text::Text;
use usage::{Report, Sums};

/// Finish reasons by the numbers that mean the same in both APIs: from 6 on they differ.
const FINISH_REASONS: &[&str] = &["FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER"];

/// The same for what blocks a prompt: from 5 on they differ.
const BLOCK_REASONS: &[&str] = &["BLOCKED_REASON_UNSPECIFIED", "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT"];

/// Reads the payloads of one stream.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    shape: Shape,
    // In a box: the decoders of all dialects are as large as the largest.
    sums: Box<Sums>,
}

impl Reader {
    /// Says what a payload means.
    pub(crate) fn read<'a>(&mut self, payload: Payload<'a>, chunk: &mut Chunk<'a>) -> Parsed<Known> {
        let data = payload.data;
        if data.starts_with(b"[DONE]") {
            // Not of Google's: some gateways end all streams so.
            return Ok(Known::Yes);
        }
        let mut report = Report::default();
        if self.shape.read_with_figures(data, &mut report.figures, chunk) {
            chunk.usage = report.usage(&mut self.sums);
            return Ok(Known::Yes);
        }
        let mut report = Report::default();
        let mut values = Values::new();
        let mut known = Known::No;
        let mut candidates = false;
        let mut blocked = None;
        Json::only_object(data, |json, name| {
            match name {
                b"candidates" => json.array(|json| {
                    candidates = true;
                    read_candidate(json, &mut values, chunk)
                })?,
                b"usageMetadata" => report.read(json, &mut values)?,
                b"modelVersion" => chunk.model = json.text()?,
                b"responseId" => chunk.id = json.text()?,
                b"promptFeedback" => json.object(|json, name| {
                    match name {
                        b"blockReason" => blocked = reason(json, BLOCK_REASONS)?,
                        _ => json.skip()?,
                    }
                    Ok(())
                })?,
                b"error" => failure::read(json, chunk)?,
                _ => return json.skip(),
            }
            known = Known::Yes;
            Ok(())
        })?;
        if let Some(reason) = blocked.filter(|_| !candidates) {
            chunk.finishes.push(Finish { choice: 0, reason, kind: FinishKind::ContentFilter });
        }
        // What says of audio is written where it is compared with, and not read again.
        if !report.has_audio() {
            self.shape.keep(data, chunk, &values);
        }
        chunk.usage = report.usage(&mut self.sums);
        Ok(known)
    }

    /// Says what the payload means that `ahead` begins with, if it has the shape of the last; gives its length.
    #[inline]
    pub(crate) fn read_ahead<'a>(&mut self, ahead: &'a [u8], chunk: &mut Chunk<'a>) -> Option<usize> {
        let mut report = Report::default();
        let length = self.shape.read_ahead(ahead, &mut report.figures, chunk)?;
        chunk.usage = report.usage(&mut self.sums);
        Some(length)
    }
}

fn read_candidate<'a>(json: &mut Json<'a>, values: &mut Values, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let before = chunk.pieces.len();
    let mut choice = 0;
    let mut ending = None;
    json.object(|json, name| {
        match name {
            b"index" => choice = json.count()?.and_then(|index| u32::try_from(index).ok()).unwrap_or(0),
            b"content" => json.object(|json, name| match name {
                b"parts" => json.array(|json| read_part(json, values, chunk)),
                _ => json.skip(),
            })?,
            b"finishReason" => ending = reason(json, FINISH_REASONS)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    if choice != 0 {
        for piece in chunk.pieces.iter_mut().skip(before) {
            piece.choice = choice;
        }
    }
    if let Some(reason) = ending {
        chunk.finishes.push(Finish { choice, reason, kind: finish::kind(reason) });
    }
    Ok(())
}

fn read_part<'a>(json: &mut Json<'a>, values: &mut Values, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut text = None;
    let mut thought = false;
    json.object(|json, name| {
        match name {
            b"text" => text = values.text(json)?,
            b"thought" => thought = json.flag()?.unwrap_or(false),
            b"functionCall" => read_function_call(json, chunk)?,
            b"executableCode" => json.object(|json, name| match name {
                b"code" => take(json, chunk, PieceKind::Tool),
                _ => json.skip(),
            })?,
            b"inlineData" => json.object(|json, name| match name {
                b"data" => take(json, chunk, PieceKind::Media),
                _ => json.skip(),
            })?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    chunk.output(if thought { PieceKind::ReasoningSummary } else { PieceKind::Text }, text);
    Ok(())
}

fn read_function_call<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    json.object(|json, name| {
        match name {
            b"name" => take(json, chunk, PieceKind::Tool)?,
            b"args" => chunk.output(PieceKind::Tool, json.text_or_object()?),
            b"partialArgs" => json.array(|json| {
                json.object(|json, name| {
                    match name {
                        b"stringValue" | b"numberValue" => {
                            chunk.output(PieceKind::Tool, json.text_or_number()?);
                        }
                        _ => json.skip()?,
                    }
                    Ok(())
                })
            })?,
            _ => json.skip()?,
        }
        Ok(())
    })
}

/// A reason, by its word or by its number among `words`; none if it is unspecified.
fn reason<'a>(json: &mut Json<'a>, words: &[&'static str]) -> Parsed<Option<Text<'a>>> {
    let told = json.text_or_number()?;
    let number = told.and_then(|told| told.decode().parse::<usize>().ok());
    let word = number.and_then(|number| words.get(number)).map(|word| Text::plain(word.as_bytes())).or(told);
    let unspecified = ["FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED"];
    Ok(word.filter(|word| !unspecified.iter().any(|none| word.is(none))))
}

fn take<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>, kind: PieceKind) -> Parsed<()> {
    let text = json.text()?;
    chunk.output(kind, text);
    Ok(())
}
