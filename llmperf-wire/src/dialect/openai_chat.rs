//! OpenAI Chat Completions, and the family of servers and hosts that speak like it.
//!
//! | on the wire | means |
//! |---|---|
//! | `choices[].delta.content`, a string or a list of typed parts (Mistral) | text; a part of type `thinking` is reasoning |
//! | `delta.reasoning_content`, else `delta.reasoning` | reasoning; servers that write both write the same text twice |
//! | `choices[].text` without a `delta` (legacy completions) | text; beside a `delta` it is the same text again (Together) |
//! | `delta.refusal` | a refusal |
//! | `delta.tool_calls[].function.{name,arguments}`, `delta.function_call` | tool output |
//! | `delta.audio.{transcript,data}` | text, media |
//! | `delta.role`, empty strings, a choice without `delta` (Azure's annotations), `choices: []` | a chunk, no output |
//! | `choices[].message` beside `delta` (Writer, Perplexity) | the same output again, or all of it so far: skipped; in an answer that is not streamed, the fields of a delta |
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

mod delta;
mod usage;

use super::shape::{Shape, Values};
use super::{Known, Payload, failure, finish};
use crate::event::{Chunk, Finish, PieceKind};
use crate::json::{Json, Parsed};
use crate::text::Text;
use usage::Report;

/// Reads the payloads of one stream.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    shape: Shape,
}

/// One payload while it is read.
#[derive(Debug)]
struct Parse<'c, 'a> {
    chunk: &'c mut Chunk<'a>,
    report: Report,
    /// The payload is itself the error that others put under `error`.
    is_error: bool,
    values: Values,
    /// The answer is not streamed.
    is_whole: bool,
}

/// Says what an answer means that is not streamed: a choice has a `message` in place of a `delta`.
pub(crate) fn read_whole<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut payload =
        Parse { chunk, report: Report::default(), is_error: false, values: Values::new(), is_whole: true };
    payload.read(data)
}

/// Reads the usage of an answer of the family that holds no words.
pub(crate) fn read_usage(json: &mut Json<'_>, chunk: &mut Chunk<'_>) -> Parsed<()> {
    let mut report = Report::default();
    report.read_usage(json)?;
    report.tell(chunk);
    Ok(())
}

impl Reader {
    /// Says what a payload means.
    pub(crate) fn read<'a>(&mut self, payload: Payload<'a>, chunk: &mut Chunk<'a>) -> Parsed<Known> {
        let Payload { name, data } = payload;
        if data.starts_with(b"[DONE]") {
            chunk.terminal = true;
        } else if !data.is_empty() {
            self.read_json(data, name == b"error", chunk)?;
        }
        Ok(Known::Yes)
    }

    /// `is_error` says that the event or the field is called `error`.
    fn read_json<'a>(&mut self, data: &'a [u8], is_error: bool, chunk: &mut Chunk<'a>) -> Parsed<()> {
        if !is_error && self.shape.read(data, chunk) {
            return Ok(());
        }
        let mut payload = Parse { chunk, report: Report::default(), is_error, values: Values::new(), is_whole: false };
        payload.read(data)?;
        let Parse { chunk, values, .. } = payload;
        self.shape.keep(data, chunk, &values);
        Ok(())
    }
}

impl<'a> Parse<'_, 'a> {
    fn read(&mut self, data: &'a [u8]) -> Parsed<()> {
        Json::only_object(data, |json, name| self.read_field(json, name))?;
        std::mem::take(&mut self.report).tell(self.chunk);
        if self.is_error || self.chunk.failure.is_some() {
            failure::complete(data, self.chunk)?;
        }
        Ok(())
    }

    fn read_field(&mut self, json: &mut Json<'a>, name: &[u8]) -> Parsed<()> {
        match name {
            b"id" => self.chunk.id = json.text()?,
            b"object" => self.is_error |= json.text()?.is_some_and(|object| object.is("error")),
            b"model" => self.chunk.model = json.text()?,
            b"service_tier" => self.chunk.service_tier = json.text()?,
            b"system_fingerprint" => self.chunk.system_fingerprint = json.text()?,
            b"choices" => json.array(|json| self.read_choice(json))?,
            b"usage" => self.report.read_usage(json)?,
            b"timings" => self.report.read_llama_timings(json)?,
            b"metrics" => self.report.read_vllm_metrics(json)?,
            b"x_groq" => json.object(|json, name| match name {
                b"usage" => self.report.read_usage(json),
                b"error" => failure::read(json, self.chunk),
                _ => json.skip(),
            })?,
            b"error" => failure::read(json, self.chunk)?,
            b"obfuscation" => self.values.skip(json)?,
            _ => json.skip()?,
        }
        Ok(())
    }

    fn read_choice(&mut self, json: &mut Json<'a>) -> Parsed<()> {
        let before = self.chunk.pieces.len();
        let mut choice = Choice::default();
        json.object(|json, name| self.read_choice_field(json, name, &mut choice))?;
        self.close_choice(&choice, before);
        Ok(())
    }

    fn read_choice_field(&mut self, json: &mut Json<'a>, name: &[u8], choice: &mut Choice<'a>) -> Parsed<()> {
        match name {
            b"index" => {
                choice.index = json.count()?.and_then(|index| u32::try_from(index).ok()).unwrap_or(0);
            }
            b"delta" => {
                choice.has_delta |= json.peek() == Some(b'{');
                delta::read(json, self.chunk, &mut self.values)?;
            }
            b"message" if self.is_whole => {
                choice.has_delta |= json.peek() == Some(b'{');
                delta::read(json, self.chunk, &mut self.values)?;
            }
            b"text" => choice.text = self.values.text(json)?,
            b"finish_reason" => choice.reason = json.text()?,
            b"token_ids" => self.read_token_ids(json)?,
            b"error" => failure::read(json, self.chunk)?,
            _ => json.skip()?,
        }
        Ok(())
    }

    /// Takes the choice's end, and tells its output whose it is: the index may come last.
    fn close_choice(&mut self, choice: &Choice<'a>, before: usize) {
        let Choice { index, text, has_delta, reason } = *choice;
        if !has_delta {
            self.chunk.output(PieceKind::Text, text);
        }
        if index != 0 {
            for piece in self.chunk.pieces.iter_mut().skip(before) {
                piece.choice = index;
            }
        }
        if let Some(reason) = reason {
            let kind = finish::kind(reason);
            self.chunk.finishes.push(Finish { choice: index, reason, kind });
        }
    }

    fn read_token_ids(&mut self, json: &mut Json<'a>) -> Parsed<()> {
        let mut tokens = self.chunk.tokens.unwrap_or(0);
        json.array(|json| {
            tokens = tokens.saturating_add(1);
            json.skip()
        })?;
        self.chunk.tokens = (tokens > 0).then_some(tokens);
        Ok(())
    }
}

/// What is known of a choice.
#[derive(Debug, Clone, Copy, Default)]
struct Choice<'a> {
    index: u32,
    text: Option<Text<'a>>,
    has_delta: bool,
    reason: Option<Text<'a>>,
}
