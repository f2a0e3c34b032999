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

use crate::dialect::shape::Values;
use crate::event::Usage;
use crate::json::{Json, Parsed};

/// The modality `AUDIO` when enums are numbers.
const AUDIO: &str = "4";

/// The figures that are numbers by themselves, by their places in a report.
const PROMPT: u8 = 0;
const TOOL_USE: u8 = 1;
const CANDIDATES: u8 = 2;
const THOUGHTS: u8 = 3;
const TOTAL: u8 = 4;
const CACHED: u8 = 5;

/// A report as it is written.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) figures: [Option<u64>; 6],
    audio_input: Option<u64>,
    audio_output: Option<u64>,
}

impl Report {
    /// Reads the value of `usageMetadata`.
    pub(super) fn read(&mut self, json: &mut Json<'_>, values: &mut Values) -> Parsed<()> {
        json.object(|json, name| {
            let place = match name {
                b"promptTokenCount" => PROMPT,
                b"toolUsePromptTokenCount" => TOOL_USE,
                b"candidatesTokenCount" => CANDIDATES,
                b"thoughtsTokenCount" => THOUGHTS,
                b"totalTokenCount" => TOTAL,
                b"cachedContentTokenCount" => CACHED,
                b"promptTokensDetails" => {
                    self.audio_input = read_audio(json)?;
                    return Ok(());
                }
                b"candidatesTokensDetails" => {
                    self.audio_output = read_audio(json)?;
                    return Ok(());
                }
                _ => return json.skip(),
            };
            if let Some(figure) = self.figures.get_mut(usize::from(place)) {
                *figure = values.figure(json, place)?;
            }
            Ok(())
        })
    }

    /// True if it has a figure that is not a number by itself.
    pub(super) fn has_audio(&self) -> bool {
        self.audio_input.is_some() || self.audio_output.is_some()
    }

    /// What it says, if it says anything.
    pub(super) fn usage(&self) -> Option<Usage> {
        let [prompt, tool_use, candidates, thoughts, total, cached] = self.figures;
        let input = sum(prompt, tool_use);
        let inside = total.is_some() && total == sum(input, candidates);
        let usage = Usage {
            input,
            output: if inside { candidates } else { sum(candidates, thoughts) },
            reasoning: thoughts,
            cache_read: cached,
            audio_input: self.audio_input,
            audio_output: self.audio_output,
            ..Usage::default()
        };
        (usage != Usage::default()).then_some(usage)
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

/// The sum of what there is of the two.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => one.checked_add(other),
        (one, other) => one.or(other),
    }
}
