//! The usage reports of Gemini.
//!
//! | on the wire | means |
//! |---|---|
//! | `promptTokenCount` + `toolUsePromptTokenCount` | input: the results of the provider's own tools are read like a prompt, and counted apart from it |
//! | `candidatesTokenCount` + `thoughtsTokenCount` | output |
//! | `totalTokenCount` = prompt + tool use + candidates | the thoughts are in `candidatesTokenCount` already |
//! | `thoughtsTokenCount` | reasoning |
//! | `cachedContentTokenCount`, which the prompt includes | read from the cache |
//! | `promptTokensDetails[]`, `candidatesTokensDetails[]` of the modality `AUDIO` | audio |

use crate::event::{Chunk, Usage};
use crate::json::{Json, Parsed};

/// The modality `AUDIO` when enums are numbers.
const AUDIO: &str = "4";

/// Reads the value of `usageMetadata`.
pub(super) fn read(json: &mut Json<'_>, chunk: &mut Chunk<'_>) -> Parsed<()> {
    let mut usage = Usage::default();
    let [mut prompt, mut tool_use, mut candidates, mut total] = [None; 4];
    json.object(|json, name| {
        match name {
            b"promptTokenCount" => prompt = json.count()?,
            b"toolUsePromptTokenCount" => tool_use = json.count()?,
            b"candidatesTokenCount" => candidates = json.count()?,
            b"thoughtsTokenCount" => usage.reasoning = json.count()?,
            b"totalTokenCount" => total = json.count()?,
            b"cachedContentTokenCount" => usage.cache_read = json.count()?,
            b"promptTokensDetails" => usage.audio_input = read_audio(json)?,
            b"candidatesTokensDetails" => usage.audio_output = read_audio(json)?,
            _ => json.skip()?,
        }
        Ok(())
    })?;
    usage.input = sum(prompt, tool_use);
    let inside = total.is_some() && total == sum(usage.input, candidates);
    usage.output = if inside { candidates } else { sum(candidates, usage.reasoning) };
    chunk.usage = (usage != Usage::default()).then_some(usage);
    Ok(())
}

/// Tokens of the modality `AUDIO` in a list of modalities.
fn read_audio(json: &mut Json<'_>) -> Parsed<Option<u64>> {
    let mut audio = None;
    json.array(|json| {
        let (mut is_audio, mut tokens) = (false, None);
        json.object(|json, name| {
            match name {
                b"modality" => {
                    is_audio = json.text_or_number()?.is_some_and(|word| word.is("AUDIO") || word.is(AUDIO));
                }
                b"tokenCount" => tokens = json.count()?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        if is_audio {
            audio = tokens;
        }
        Ok(())
    })?;
    Ok(audio)
}

/// The sum of what there is of the two.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => one.checked_add(other),
        (one, other) => one.or(other),
    }
}
