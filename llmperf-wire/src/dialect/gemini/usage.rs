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
    pub(super) fn usage(&self, sums: &mut Sums) -> Option<Usage> {
        let [prompt, tool_use, candidates, thoughts, total, cached] = self.figures;
        let mut usage = Usage {
            reasoning: thoughts,
            cache_read: cached,
            audio_input: self.audio_input,
            audio_output: self.audio_output,
            ..Usage::default()
        };
        if prompt.or(tool_use).is_some() {
            usage.input = keep(&mut sums.prompt, prompt).checked_add(keep(&mut sums.tool_use, tool_use));
        }
        if candidates.or(thoughts).is_some() {
            let (candidates, thoughts) = (keep(&mut sums.candidates, candidates), keep(&mut sums.thoughts, thoughts));
            let outside = sums.prompt.checked_add(sums.tool_use).and_then(|input| input.checked_add(candidates));
            let inside = total.is_some() && total == outside;
            usage.output = if inside { Some(candidates) } else { candidates.checked_add(thoughts) };
        }
        (usage != Usage::default()).then_some(usage)
    }
}

/// The parts of sums, as the reports of one stream told them last: a later report may leave out what an earlier one gave.
#[derive(Debug, Default)]
pub(super) struct Sums {
    prompt: u64,
    tool_use: u64,
    candidates: u64,
    thoughts: u64,
}

/// The last word on a count: an absent one keeps what was there, and so does a zero.
fn keep(kept: &mut u64, said: Option<u64>) -> u64 {
    *kept = said.filter(|tokens| *tokens > 0).unwrap_or(*kept);
    *kept
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
