//! Answers that hold vectors or an order of documents: nothing but their figures is read.
//!
//! | in the answer | means |
//! |---|---|
//! | `usage` (OpenAI, Mistral, Jina, Voyage, vLLM) | what it means in a chat; a total alone is the input |
//! | `meta.tokens.{input,output}_tokens`, `meta.billed_units.{input,output}_tokens` (Cohere) | used and billed |
//! | `prompt_eval_count`, `total_duration`, `load_duration` (Ollama) | input, the server's times |
//! | `usageMetadata.promptTokenCount` (Gemini) | input |
//! | `id`, `model` | themselves |
//! | an array, and all else | skipped |

use crate::dialect::{cohere, openai_chat};
use crate::event::{Chunk, ServerTimings, Usage};
use crate::json::{Json, Parsed};

/// Reads an answer.
pub(super) fn read<'a>(data: &'a [u8], chunk: &mut Chunk<'a>) -> Parsed<()> {
    let mut json = Json::new(data);
    let mut found = Usage::default();
    let mut timings = ServerTimings::default();
    json.object(|json, name| {
        match name {
            b"id" => chunk.id = json.text()?,
            b"model" => chunk.model = json.text()?,
            b"usage" => {
                found.input = total(&mut json.clone())?.or(found.input);
                openai_chat::read_usage(json, chunk)?;
            }
            b"meta" => json.object(|json, name| match name {
                b"tokens" => cohere::read_pair(json, &mut found.input, &mut found.output),
                b"billed_units" => cohere::read_pair(json, &mut found.billed_input, &mut found.billed_output),
                _ => json.skip(),
            })?,
            b"usageMetadata" => json.object(|json, name| {
                match name {
                    b"promptTokenCount" => found.input = json.count()?,
                    _ => json.skip()?,
                }
                Ok(())
            })?,
            b"prompt_eval_count" => found.input = json.count()?,
            b"total_duration" => timings.total = json.nanoseconds()?,
            b"load_duration" => timings.load = json.nanoseconds()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    json.end()?;
    let usage = chunk.usage.get_or_insert_default();
    usage.input = usage.input.or(found.input);
    usage.output = usage.output.or(found.output).filter(|output| *output > 0);
    usage.billed_input = found.billed_input;
    usage.billed_output = found.billed_output;
    chunk.usage = chunk.usage.filter(|usage| *usage != Usage::default());
    if timings != ServerTimings::default() {
        chunk.timings = Some(timings);
    }
    Ok(())
}

fn total(json: &mut Json<'_>) -> Parsed<Option<u64>> {
    let mut total = None;
    json.object(|json, name| {
        match name {
            b"total_tokens" => total = json.count()?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    Ok(total)
}
