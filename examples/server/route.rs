//! Where a request goes, and what it asks for.

use hyper::{Method, Uri};
use serde_json::Value;

use super::dialects::Dialect;
use super::plan::MODELS;
use super::refusal::Refusal;
use super::script::Asked;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Answer(Target),
    Models,
    Unknown,
}

/// A path that gives planned answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) dialect: Dialect,
    /// The model, where the path names it.
    model: Option<String>,
    streams: Streams,
}

/// Who says whether an answer is streamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Streams {
    /// The request body; if it is silent, this holds.
    Body { otherwise: bool },
}

impl Route {
    pub(super) fn of(method: &Method, uri: &Uri) -> Self {
        let body = |dialect| Self::Answer(Target { dialect, model: None, streams: Streams::Body { otherwise: false } });
        match (method.as_str(), uri.path()) {
            ("POST", "/v1/chat/completions") => body(Dialect::OpenAiChat),
            ("GET", "/v1/models") => Self::Models,
            _ => Self::Unknown,
        }
    }
}

impl Target {
    /// Reads the request's body: what is asked, and whether the answer is to be streamed.
    pub(super) fn read(&self, index: u64, body: &[u8]) -> Result<(Asked, bool), Refusal> {
        let body: Value = serde_json::from_slice(body).map_err(|error| Refusal::invalid(error.to_string()))?;
        let model = self.model.as_deref().or(body["model"].as_str());
        let model = model.ok_or_else(|| Refusal::invalid("model is missing."))?;
        let question = self.dialect.speech().question_key();
        match &body[question] {
            Value::Null => return Err(Refusal::invalid(format!("{question} is missing."))),
            Value::Array(turns) if turns.is_empty() => return Err(Refusal::invalid(format!("{question} is empty."))),
            _ => {}
        }
        if !MODELS.contains(&model) {
            return Err(Refusal::unknown_model(model));
        }
        let Streams::Body { otherwise } = self.streams;
        let streamed = body["stream"].as_bool().unwrap_or(otherwise);
        let include_usage = body["stream_options"]["include_usage"].as_bool().unwrap_or(false);
        Ok((Asked { dialect: self.dialect, index, model: model.into(), include_usage }, streamed))
    }
}
