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

/// The longest details that are kept to be compared with the next.
const LONGEST_DETAILS: usize = 512;

/// Reads the reports of one stream.
///
/// The parts of a sum are remembered: a later report may leave out what an earlier one gave.
///
/// Every event repeats what the prompt was made of, mostly of text. It is compared with the one before, and read only if
/// it differs.
#[derive(Debug, Default)]
pub(super) struct Reports(Option<Box<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    prompt: Option<u64>,
    tool_use: Option<u64>,
    candidates: Option<u64>,
    thoughts: Option<u64>,
    /// The last `promptTokensDetails` as they are written, if there is no audio among them; else empty.
    silent_prompt: Vec<u8>,
}

impl Reports {
    /// Reads the value of `usageMetadata`.
    pub(super) fn read(&mut self, json: &mut Json<'_>, chunk: &mut Chunk<'_>) -> Parsed<()> {
        self.0.get_or_insert_default().read(json, chunk)
    }
}

impl Kept {
    fn read(&mut self, json: &mut Json<'_>, chunk: &mut Chunk<'_>) -> Parsed<()> {
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
                b"promptTokensDetails" => usage.audio_input = self.read_prompt_details(json)?,
                b"candidatesTokensDetails" => usage.audio_output = read_audio(json)?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        if prompt.or(tool_use).is_some() {
            usage.input = sum(keep(&mut self.prompt, prompt), keep(&mut self.tool_use, tool_use));
        }
        if candidates.or(usage.reasoning).is_some() {
            let said = (keep(&mut self.candidates, candidates), keep(&mut self.thoughts, usage.reasoning));
            let inside = total.is_some() && total == sum(sum(self.prompt, self.tool_use), said.0);
            usage.output = if inside { said.0 } else { sum(said.0, said.1) };
        }
        chunk.usage = (usage != Usage::default()).then_some(usage);
        Ok(())
    }

    fn read_prompt_details(&mut self, json: &mut Json<'_>) -> Parsed<Option<u64>> {
        if json.skip_same(&self.silent_prompt) {
            return Ok(None);
        }
        let mut details = json.clone();
        let audio = read_audio(json)?;
        let text = details.text_up_to(json);
        if audio.is_none() && text.starts_with(b"[") && text.len() <= LONGEST_DETAILS {
            self.silent_prompt.clear();
            self.silent_prompt.extend_from_slice(text);
        }
        Ok(audio)
    }
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

/// The last word on a count: an absent one keeps what was there, and so does a zero.
fn keep(kept: &mut Option<u64>, said: Option<u64>) -> Option<u64> {
    *kept = said.filter(|tokens| *tokens > 0 || kept.is_none()).or(*kept);
    *kept
}

/// The sum of what there is of the two.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => one.checked_add(other),
        (one, other) => one.or(other),
    }
}
