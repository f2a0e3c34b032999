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

mod delta;
mod usage;

use super::{Known, Payload, failure, finish};
use crate::event::{Chunk, Finish, PieceKind};
use crate::json::{Json, Parsed};
use crate::text::Text;
use usage::Report;

/// The longest head of a payload that is kept to be compared with the next.
const LONGEST_HEAD: usize = 512;

/// How deep the value of a `delta` lies: in the payload, its choices, one choice.
const DELTA_DEPTH: u32 = 3;

/// Reads the payloads of one stream.
///
/// All payloads of an answer begin alike, mostly with two thirds of their bytes: id, model and so on up to the first
/// `delta`. That head is compared with the one before, and read only if it differs.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// How the last payload began; empty if nothing can be said.
    head: Vec<u8>,
    /// The index of the choice that the head ends in, as far as it had been told.
    index: u32,
}

/// One payload while it is read.
#[derive(Debug)]
struct Parse<'c, 'a> {
    chunk: &'c mut Chunk<'a>,
    report: Report,
    /// The payload is itself the error that others put under `error`.
    is_error: bool,
    /// What lay ahead at the first delta, and its choice's index.
    first_delta: Option<(usize, u32)>,
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
        let mut payload = Parse { chunk, report: Report::default(), is_error, first_delta: None };
        match data.strip_prefix(self.head.as_slice()) {
            Some(rest) if !self.head.is_empty() => payload.read_behind_head(rest, self.index)?,
            _ => {
                payload.read(data)?;
                self.keep_head(data, payload.first_delta);
            }
        }
        payload.finish(data)
    }

    fn keep_head(&mut self, data: &[u8], first_delta: Option<(usize, u32)>) {
        if let Some((remaining, index)) = first_delta {
            let (head, _) = data.split_at(data.len() - remaining);
            if head.len() <= LONGEST_HEAD {
                self.head.clear();
                self.head.extend_from_slice(head);
                self.index = index;
            }
        }
    }
}

impl<'a> Parse<'_, 'a> {
    fn read(&mut self, data: &'a [u8]) -> Parsed<()> {
        Json::only_object(data, |json, name| self.read_field(json, name))
    }

    /// Reads a payload from the value of its first delta on.
    fn read_behind_head(&mut self, rest: &'a [u8], index: u32) -> Parsed<()> {
        let mut json = Json::inside(DELTA_DEPTH, rest);
        let before = self.chunk.pieces.len();
        let mut choice = Choice { index, has_delta: true, ..Choice::default() };
        delta::read(&mut json, self.chunk)?;
        json.rest_of_object(|json, name| self.read_choice_field(json, name, &mut choice))?;
        self.close_choice(&choice, before);
        json.rest_of_array(|json| self.read_choice(json))?;
        json.rest_of_object(|json, name| self.read_field(json, name))?;
        json.end()
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
                if choice.reason.is_none() && self.is_plain() {
                    self.first_delta.get_or_insert((json.remaining(), choice.index));
                }
                choice.has_delta |= json.peek() == Some(b'{');
                delta::read(json, self.chunk)?;
            }
            b"text" => choice.text = json.text()?,
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

    /// True as long as the payload has said nothing but what all payloads of its answer say.
    fn is_plain(&self) -> bool {
        let chunk = &*self.chunk;
        !self.is_error
            && self.report.is_empty()
            && chunk.failure.is_none()
            && chunk.tokens.is_none()
            && chunk.pieces.len() == 0
            && chunk.finishes.len() == 0
    }

    fn finish(self, data: &'a [u8]) -> Parsed<()> {
        self.report.tell(self.chunk);
        if self.is_error || self.chunk.failure.is_some() {
            failure::complete(data, self.chunk)?;
        }
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
