//! Amazon Bedrock's `ConverseStream`: messages of the binary event stream, each with its type in a header.
//!
//! | on the wire | means |
//! |---|---|
//! | `contentBlockDelta`: `delta.text` | text |
//! | `delta.reasoningContent.text` | reasoning; its `signature` and `redactedContent` are no output |
//! | `contentBlockStart`: `start.toolUse.name`, `delta.toolUse.input` | tool output |
//! | `delta.image.source.bytes` | media |
//! | `delta.citation`, `delta.toolResult`, empty strings | a chunk, no output |
//! | `messageStart`, `contentBlockStop`, `initial-response` | a chunk, no output |
//! | `messageStop`: `stopReason` | the choice ends |
//! | `metadata` | the end of the stream |
//! | `metadata`: `usage.inputTokens` + `cacheReadInputTokens` + `cacheWriteInputTokens` | input: the service counts only what came not through the cache as the first |
//! | `usage.totalTokens` = input + output | what came through the cache is in the input already (some gateways) |
//! | `usage.outputTokens`, `cacheReadInputTokens`, `cacheWriteInputTokens` | output, read from the cache, written to it |
//! | `metrics.latencyMs` | the server's own time for all of it |
//! | `serviceTier.type` | the service tier |
//! | an exception (`:exception-type`) or an error (`:error-code`, `:error-message`) | a failure: its type is the code, `originalStatusCode` its number |
//! | `p` (padding), `trace` and all else | skipped |
//! | any other type of event | a kind of event that is not known |
//!
//! Neither the model nor an id is in the stream, and there is one choice.

pub(crate) mod whole;

use super::shape::{Shape, Values};
use super::{Known, Payload, finish};
use crate::event::{Chunk, Failure, Finish, PieceKind, ServerTimings, Usage};
use crate::json::{Json, Parsed};
use crate::text::Text;

/// The other types of events that the dialect knows.
const KINDS: &[&[u8]] =
    &[b"contentBlockStart", b"contentBlockStop", b"messageStart", b"messageStop", b"metadata", b"initial-response"];

/// The type of event that carries output.
const DELTA: &[u8] = b"contentBlockDelta";

/// Reads the events of one stream.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// That of deltas alone: the type is not in the payload.
    shape: Shape,
}

impl Reader {
    /// Says what an event means.
    pub(crate) fn read<'a>(&mut self, payload: Payload<'a>, chunk: &mut Chunk<'a>) -> Parsed<Known> {
        let Payload { name: kind, data } = payload;
        if kind != DELTA {
            return read_other(payload, chunk);
        }
        if !self.shape.read(data, chunk) {
            let mut values = Values::new();
            Json::only_object(data, |json, name| match name {
                b"delta" => read_delta(json, &mut values, chunk),
                b"p" => values.skip(json),
                _ => json.skip(),
            })?;
            self.shape.keep(data, chunk, &values);
        }
        Ok(Known::Yes)
    }
}

fn read_other<'a>(payload: Payload<'a>, chunk: &mut Chunk<'a>) -> Parsed<Known> {
    let Payload { name: kind, data } = payload;
    chunk.terminal = kind == b"metadata";
    Json::only_object(data, |json, name| match (kind, name) {
        (b"contentBlockStart", b"start") => read_start(json, chunk),
        (b"messageStop", b"stopReason") => read_stop_reason(json, chunk),
        (b"metadata", b"usage") => read_usage(json, chunk),
        (b"metadata", b"metrics") => read_metrics(json, chunk),
        (b"metadata", b"serviceTier") => read_service_tier(json, chunk),
        _ => json.skip(),
    })?;
    Ok(if KINDS.contains(&kind) { Known::Yes } else { Known::No })
}

/// The failure that an exception or an error of the event stream reports; the payload may be anything.
pub(crate) fn exception<'a>(name: &'a [u8], message: &'a [u8], data: &'a [u8]) -> Failure<'a> {
    let word = |text: &'a [u8]| (!text.is_empty()).then(|| Text::plain(text));
    let mut failure = Failure { code: word(name), message: word(message), ..Failure::default() };
    // The name alone is enough: a payload that does not parse adds nothing.
    let _ = Json::new(data).object(|json, name| {
        match name {
            b"message" | b"Message" => failure.message = json.text()?.or(failure.message),
            b"originalStatusCode" => failure.number = json.count()?,
            _ => json.skip()?,
        }
        Ok(())
    });
    failure
}

fn read_delta<'a>(json: &mut Json<'a>, values: &mut Values, chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut take = |json: &mut Json<'a>, kind| {
        let text = values.text(json)?;
        chunk.output(kind, text);
        Ok(())
    };
    json.object(|json, name| match name {
        b"text" => take(json, PieceKind::Text),
        b"reasoningContent" => json.object(|json, name| match name {
            b"text" => take(json, PieceKind::Reasoning),
            _ => json.skip(),
        }),
        b"toolUse" => json.object(|json, name| match name {
            b"input" => take(json, PieceKind::Tool),
            _ => json.skip(),
        }),
        b"image" => json.object(|json, name| match name {
            b"source" => json.object(|json, name| match name {
                b"bytes" => take(json, PieceKind::Media),
                _ => json.skip(),
            }),
            _ => json.skip(),
        }),
        _ => json.skip(),
    })
}

fn read_start<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    json.object(|json, name| match name {
        b"toolUse" => json.object(|json, name| match name {
            b"name" => take(json, chunk, PieceKind::Tool),
            _ => json.skip(),
        }),
        _ => json.skip(),
    })
}

fn read_stop_reason<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    if let Some(reason) = json.text()? {
        chunk.finishes.push(Finish { choice: 0, reason, kind: finish::kind(reason) });
    }
    Ok(())
}

fn read_usage(json: &mut Json<'_>, chunk: &mut Chunk<'_>) -> Parsed<()> {
    let (mut usage, mut total) = (Usage::default(), None);
    json.object(|json, name| {
        match name {
            b"totalTokens" => total = json.count()?,
            b"inputTokens" => usage.input = json.count()?,
            b"outputTokens" => usage.output = json.count()?,
            b"cacheReadInputTokens" => usage.cache_read = json.count()?,
            b"cacheWriteInputTokens" => usage.cache_write = json.count()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    let cached = usage.cache_read.unwrap_or(0).checked_add(usage.cache_write.unwrap_or(0));
    let inside =
        total.is_some() && total == usage.input.zip(usage.output).and_then(|(input, output)| input.checked_add(output));
    usage.input = usage.input.and_then(|input| if inside { Some(input) } else { input.checked_add(cached?) });
    chunk.usage = (usage != Usage::default()).then_some(usage);
    Ok(())
}

fn read_metrics(json: &mut Json<'_>, chunk: &mut Chunk<'_>) -> Parsed<()> {
    json.object(|json, name| match name {
        b"latencyMs" => {
            let total = json.milliseconds()?;
            chunk.timings = total.map(|total| ServerTimings { total: Some(total), ..ServerTimings::default() });
            Ok(())
        }
        _ => json.skip(),
    })
}

fn read_service_tier<'a>(json: &mut Json<'a>, chunk: &mut Chunk<'a>) -> Parsed<()> {
    json.object(|json, name| match name {
        b"type" => {
            chunk.service_tier = json.text()?;
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
