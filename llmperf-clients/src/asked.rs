//! Parameters of a request, as attributes of its call's span. Never the prompt, nor words out of it.

use llmperf_core::{Call, semconv::request as name};

/// What a request asks for, as far as it says so.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<f64>,
    pub(crate) frequency_penalty: Option<f64>,
    pub(crate) presence_penalty: Option<f64>,
    pub(crate) max_tokens: Option<i64>,
    /// How many choices, if not one.
    pub(crate) choices: Option<i64>,
    pub(crate) seed: Option<i64>,
}

impl Asked {
    pub(crate) fn tell(self, mut call: Call) -> Call {
        let ratios = [
            (name::TEMPERATURE, self.temperature),
            (name::TOP_P, self.top_p),
            (name::FREQUENCY_PENALTY, self.frequency_penalty),
            (name::PRESENCE_PENALTY, self.presence_penalty),
        ];
        for (key, ratio) in ratios {
            if let Some(ratio) = ratio {
                call = call.attribute(key, ratio);
            }
        }
        let choices = self.choices.filter(|choices| *choices != 1);
        for (key, count) in
            [(name::MAX_TOKENS, self.max_tokens), (name::CHOICE_COUNT, choices), (name::SEED, self.seed)]
        {
            if let Some(count) = count {
                call = call.attribute(key, count);
            }
        }
        call
    }
}

/// A parameter of single precision as it was written: 0.2, not 0.20000000298.
#[cfg(any(feature = "async-openai", feature = "bedrock"))]
pub(crate) fn as_written(parameter: f32) -> f64 {
    (f64::from(parameter) * 1e6).round() / 1e6
}
