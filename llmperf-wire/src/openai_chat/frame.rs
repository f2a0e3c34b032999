//! The payloads of the dialect as types: only what is measured, borrowed from the read.
//!
//! Whatever is rare or may come in several shapes is kept raw and read once it is known to be there.

use serde::Deserialize;

use crate::json::{Count, Raw};
use crate::list::List;

/// One payload.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Payload<'a> {
    pub(super) object: Raw<'a>,
    pub(super) id: Raw<'a>,
    pub(super) model: Raw<'a>,
    pub(super) service_tier: Raw<'a>,
    pub(super) system_fingerprint: Raw<'a>,
    pub(super) choices: Option<List<Choice<'a>, 1>>,
    pub(super) usage: Raw<'a>,
    pub(super) timings: Raw<'a>,
    pub(super) metrics: Raw<'a>,
    pub(super) x_groq: Raw<'a>,
    pub(super) error: Raw<'a>,
}

impl<'a> Payload<'a> {
    /// Reads a JSON object; anything else is no payload of this dialect.
    pub(super) fn parse(data: &'a [u8]) -> Option<Self> {
        if data.starts_with(b"{") {
            serde_json::from_slice(data).ok()
        } else {
            None
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Choice<'a> {
    pub(super) index: Count,
    pub(super) delta: Option<Delta<'a>>,
    pub(super) finish_reason: Raw<'a>,
    pub(super) token_ids: Raw<'a>,
    pub(super) error: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Delta<'a> {
    pub(super) content: Raw<'a>,
    pub(super) reasoning_content: Raw<'a>,
    pub(super) reasoning: Raw<'a>,
    pub(super) refusal: Raw<'a>,
    pub(super) tool_calls: Raw<'a>,
    pub(super) function_call: Raw<'a>,
    pub(super) audio: Raw<'a>,
}

/// An element of a `content` that is a list.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Part<'a> {
    pub(super) text: Raw<'a>,
    /// A string, or a list of parts again.
    pub(super) thinking: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct ToolCall<'a> {
    pub(super) function: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Function<'a> {
    pub(super) name: Raw<'a>,
    /// A string that is JSON in turn; some servers write the object itself.
    pub(super) arguments: Raw<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Audio<'a> {
    pub(super) transcript: Raw<'a>,
    pub(super) data: Raw<'a>,
}

/// Groq's own part of a payload.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Groq<'a> {
    pub(super) usage: Raw<'a>,
    pub(super) error: Raw<'a>,
}
