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
mod frame;
mod usage;

use std::borrow::Cow;

use serde::de::IgnoredAny;

use crate::dialect::Counts;
use crate::event::{Chunk, Event, Finish, FinishKind, Origin, Piece, PieceKind};
use crate::json::{self, Raw};
use crate::list::List;
use crate::sse::Frame;
use crate::text::Text;
use frame::{Audio, Choice, Delta, Function, Part, Payload, ToolCall};

/// Says what a frame of the stream means.
pub(crate) fn interpret(frame: Frame<'_>, counts: &mut Counts, sink: &mut impl FnMut(Event<'_>)) {
    let (name, data, chunk) = match frame {
        Frame::Event {
            name,
            data,
            unterminated,
        } => (name, data, Chunk::new(Origin::Event, unterminated)),
        Frame::Field { name, value } => (name.as_bytes(), value, Chunk::new(Origin::Field, false)),
        Frame::Bare { data, unterminated } => {
            ([].as_slice(), data, Chunk::new(Origin::Bare, unterminated))
        }
        Frame::Comment(_) | Frame::Oversized => return,
    };
    let data = data.trim_ascii_start();
    if data.is_empty() {
        sink(Event::Chunk(&chunk));
    } else if data.starts_with(b"[DONE]") {
        sink(Event::Chunk(&Chunk {
            terminal: true,
            ..chunk
        }));
    } else if let Some(payload) = Payload::parse(data) {
        sink(Event::Chunk(&read(&payload, name, data, chunk)));
    } else {
        interpret_unreadable(name, data, chunk, counts, sink);
    }
}

/// A payload that does not parse as it is: it may do so once its invalid UTF-8 is replaced.
#[cold]
fn interpret_unreadable(
    name: &[u8],
    data: &[u8],
    chunk: Chunk<'_>,
    counts: &mut Counts,
    sink: &mut impl FnMut(Event<'_>),
) {
    if let Cow::Owned(text) = String::from_utf8_lossy(data)
        && let Some(payload) = Payload::parse(text.as_bytes())
    {
        counts.replaced += 1;
        sink(Event::Chunk(&read(&payload, name, text.as_bytes(), chunk)));
    } else {
        counts.malformed += 1;
        sink(Event::Malformed(data));
    }
}

fn read<'a>(payload: &Payload<'a>, name: &[u8], data: &'a [u8], mut chunk: Chunk<'a>) -> Chunk<'a> {
    chunk.id = json::text(payload.id);
    chunk.model = json::text(payload.model);
    chunk.service_tier = json::text(payload.service_tier);
    chunk.system_fingerprint = json::text(payload.system_fingerprint);
    for choice in payload.choices.iter().flat_map(List::iter) {
        read_choice(choice, &mut chunk);
    }
    (chunk.usage, chunk.timings) = usage::figures(payload);
    chunk.failure = failure::failure(payload, name == b"error", data);
    chunk
}

fn read_choice<'a>(choice: &Choice<'a>, chunk: &mut Chunk<'a>) {
    let index = choice
        .index
        .0
        .and_then(|index| u32::try_from(index).ok())
        .unwrap_or(0);
    if let Some(delta) = &choice.delta {
        read_delta(delta, &mut |kind, text| {
            chunk.pieces.push(Piece {
                kind,
                choice: index,
                text,
            });
        });
    }
    if let Some(reason) = json::text(choice.finish_reason) {
        chunk.finishes.push(Finish {
            choice: index,
            reason,
            kind: finish_kind(reason),
        });
    }
    // Elements without a size: the vector only counts them.
    if let Some(ids) = json::read::<Vec<IgnoredAny>>(choice.token_ids) {
        let tokens = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        chunk.tokens = Some(chunk.tokens.unwrap_or(0).saturating_add(tokens));
    }
}

fn read_delta<'a>(delta: &Delta<'a>, output: &mut impl FnMut(PieceKind, Text<'a>)) {
    if let Some(text) = json::text(delta.reasoning_content).or(json::text(delta.reasoning)) {
        output(PieceKind::Reasoning, text);
    }
    read_content(delta.content, output);
    if let Some(text) = json::text(delta.refusal) {
        output(PieceKind::Refusal, text);
    }
    for call in json::read::<List<ToolCall<'_>, 2>>(delta.tool_calls)
        .iter()
        .flat_map(List::iter)
    {
        read_function(call.function, output);
    }
    read_function(delta.function_call, output);
    if let Some(audio) = json::read::<Audio<'_>>(delta.audio) {
        let pieces = [
            (PieceKind::Text, audio.transcript),
            (PieceKind::Media, audio.data),
        ];
        for (kind, raw) in pieces {
            if let Some(text) = json::text(raw) {
                output(kind, text);
            }
        }
    }
}

fn read_content<'a>(content: Raw<'a>, output: &mut impl FnMut(PieceKind, Text<'a>)) {
    if let Some(text) = json::text(content) {
        output(PieceKind::Text, text);
        return;
    }
    for part in json::read::<List<Part<'_>, 2>>(content)
        .iter()
        .flat_map(List::iter)
    {
        if let Some(text) = json::text(part.text) {
            output(PieceKind::Text, text);
        }
        if let Some(text) = json::text(part.thinking) {
            output(PieceKind::Reasoning, text);
        }
        for thought in json::read::<List<Part<'_>, 2>>(part.thinking)
            .iter()
            .flat_map(List::iter)
        {
            if let Some(text) = json::text(thought.text) {
                output(PieceKind::Reasoning, text);
            }
        }
    }
}

fn read_function<'a>(function: Raw<'a>, output: &mut impl FnMut(PieceKind, Text<'a>)) {
    let Some(function) = json::read::<Function<'_>>(function) else {
        return;
    };
    if let Some(name) = json::text(function.name) {
        output(PieceKind::Tool, name);
    }
    if let Some(arguments) = json::text(function.arguments).or(json::object(function.arguments)) {
        output(PieceKind::Tool, arguments);
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
