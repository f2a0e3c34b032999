//! OpenAI Chat Completions, and the family of servers and hosts that speak like it.
//!
//! | on the wire | means |
//! |---|---|
//! | `choices[].delta.content`, a string or a list of typed parts (Mistral) | text; a part of type `thinking` is reasoning |
//! | `delta.reasoning_content`, else `delta.reasoning` | reasoning; servers that write both write the same text twice |
//! | `delta.refusal` | a refusal |
//! | `delta.tool_calls[].function.{name,arguments}`, `delta.function_call` | tool output |
//! | `delta.audio.{transcript,data}` | text, media |
//! | `delta.role`, empty strings, a choice without `delta` (Azure's annotations), `choices: []` | a chunk, no output |
//! | `choices[].message` beside `delta` (Writer, Perplexity) | the same output again, or all of it so far: skipped |
//! | `choices[].finish_reason` | the choice ends; an empty one says nothing; a repeated one is reported again |
//! | `choices[].token_ids` (vLLM) | how many tokens the chunk carries |
//! | `usage`, `x_groq.usage` | what has been used so far; see the table in the module below |
//! | `timings` (llama.cpp), `metrics` (vLLM), times in `usage` (Groq, GPUStack) | the server's own times |
//! | `error` in a payload, beside whatever (OpenRouter), in a choice or in `x_groq` | a failure |
//! | `{"object":"error",…}` (older vLLM), any payload under `event: error` or in a field `error:` | a failure |
//! | a JSON object between the events, without `data:` | read like any payload |
//! | data that begins with `[DONE]` | the end of the stream |
//! | empty data | a chunk, no output |
//! | `id`, `model`, `service_tier`, `system_fingerprint` | themselves, unless empty (Azure's first frame) |
//! | `obfuscation`, `logprobs` and all else | skipped |

mod failure;
mod usage;

use crate::dialect::Counts;
use crate::event::{Chunk, Event, Finish, FinishKind, Origin, Piece, PieceKind};
use crate::json::{Json, Malformed, Parsed};
use crate::sse::Frame;
use crate::text::Text;
use usage::Report;

/// Says what a frame of the stream means.
pub(crate) fn interpret(frame: Frame<'_>, counts: &mut Counts, sink: &mut impl FnMut(Event<'_>)) {
    let (name, data, origin, unterminated) = match frame {
        Frame::Event {
            name,
            data,
            unterminated,
        } => (name, data, Origin::Event, unterminated),
        Frame::Field { name, value } => (name.as_bytes(), value, Origin::Field, false),
        Frame::Bare { data, unterminated } => ([].as_slice(), data, Origin::Bare, unterminated),
        Frame::Comment(_) | Frame::Oversized => return,
    };
    let mut chunk = Chunk::new(origin, unterminated);
    let data = data.trim_ascii_start();
    let read = if data.is_empty() {
        Ok(())
    } else if data.starts_with(b"[DONE]") {
        chunk.terminal = true;
        Ok(())
    } else {
        read_payload(data, name == b"error", &mut chunk)
    };
    match read {
        Ok(()) => sink(Event::Chunk(&chunk)),
        Err(Malformed) => {
            counts.malformed += 1;
            sink(Event::Malformed(data));
        }
    }
}

/// `named` says that the event or the field is called `error`.
fn read_payload<'a>(data: &'a [u8], named: bool, chunk: &mut Chunk<'a>) -> Parsed<()> {
    if !data.starts_with(b"{") {
        return Err(Malformed);
    }
    let mut flat_error = named;
    let mut usage = Report::default();
    let mut json = Json::new(data);
    json.object(|json, name| {
        match name {
            b"id" => chunk.id = json.text()?,
            b"object" => flat_error |= json.text()?.is_some_and(|object| object.is("error")),
            b"model" => chunk.model = json.text()?,
            b"service_tier" => chunk.service_tier = json.text()?,
            b"system_fingerprint" => chunk.system_fingerprint = json.text()?,
            b"choices" => json.array(|json| read_choice(json, chunk))?,
            b"usage" => usage.read_usage(json)?,
            b"timings" => usage.read_llama_timings(json)?,
            b"metrics" => usage.read_vllm_metrics(json)?,
            b"x_groq" => json.object(|json, name| match name {
                b"usage" => usage.read_usage(json),
                b"error" => failure::read(json, chunk),
                _ => json.skip(),
            })?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    json.end()?;
    usage.tell(chunk);
    if flat_error || chunk.failure.is_some() {
        failure::complete(data, chunk)?;
    }
    Ok(())
}

fn read_choice<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let before = chunk.pieces.iter().count();
    let mut index = 0;
    let mut reason = None;
    json.object(|json, name| {
        match name {
            b"index" => {
                index = json
                    .count()?
                    .and_then(|index| u32::try_from(index).ok())
                    .unwrap_or(0)
            }
            b"delta" => read_delta(json, chunk)?,
            b"finish_reason" => reason = json.text()?,
            b"token_ids" => read_token_ids(json, chunk)?,
            b"error" => failure::read(json, chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    // The index may come last.
    for piece in chunk.pieces.iter_mut().skip(before) {
        piece.choice = index;
    }
    if let Some(reason) = reason {
        chunk.finishes.push(Finish {
            choice: index,
            reason,
            kind: finish_kind(reason),
        });
    }
    Ok(())
}

fn read_token_ids<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut tokens = chunk.tokens.unwrap_or(0);
    json.array(|json| {
        tokens = tokens.saturating_add(1);
        json.skip()
    })?;
    chunk.tokens = (tokens > 0).then_some(tokens);
    Ok(())
}

fn read_delta<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut reasoned = false;
    json.object(|json, name| match name {
        b"content" => read_content(json, chunk),
        b"reasoning_content" | b"reasoning" if !reasoned => {
            let thought = json.text()?;
            reasoned = thought.is_some();
            output(chunk, PieceKind::Reasoning, thought);
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
            output(chunk, PieceKind::Tool, arguments);
            Ok(())
        }
        _ => json.skip(),
    })
}

fn take<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>, kind: PieceKind) -> Parsed<()> {
    let text = json.text()?;
    output(chunk, kind, text);
    Ok(())
}

fn output<'a>(chunk: &mut Chunk<'a>, kind: PieceKind, text: Option<Text<'a>>) {
    if let Some(text) = text {
        chunk.pieces.push(Piece {
            kind,
            choice: 0,
            text,
        });
    }
}

fn finish_kind(reason: Text<'_>) -> FinishKind {
    const KINDS: &[(&str, FinishKind)] = &[
        ("stop", FinishKind::Stop),
        ("eos", FinishKind::Stop),
        ("eos_token", FinishKind::Stop),
        ("stop_sequence", FinishKind::Stop),
        ("end_turn", FinishKind::Stop),
        ("length", FinishKind::Length),
        ("max_tokens", FinishKind::Length),
        ("model_length", FinishKind::Length),
        ("tool_calls", FinishKind::ToolCall),
        ("function_call", FinishKind::ToolCall),
        ("content_filter", FinishKind::ContentFilter),
        ("refusal", FinishKind::Refusal),
    ];
    KINDS
        .iter()
        .find(|(word, _)| reason.is(word))
        .map_or(FinishKind::Other, |&(_, kind)| kind)
}
