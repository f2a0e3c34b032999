//! Where a request goes, and what it asks for.

use hyper::{Method, Uri};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::dialects::Dialect;
use super::fixed::Fixed;
use super::plan::MODELS;
use super::refusal::Refusal;
use super::script::Asked;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Answer(Target),
    Fixed(Fixed),
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
    Body {
        otherwise: bool,
    },
    Path(bool),
}

impl Route {
    pub(super) fn of(method: &Method, uri: &Uri) -> Self {
        let path = uri.path();
        if let Some(fixed) = Fixed::at(method.as_str(), path) {
            return Self::Fixed(fixed);
        }
        let target = match (method.as_str(), path) {
            ("POST", "/v1/chat/completions") => Target::asked_in_body(Dialect::OpenAiChat, false),
            ("POST", "/v1/responses") => Target::asked_in_body(Dialect::Responses, false),
            ("POST", "/v1/messages") => Target::asked_in_body(Dialect::Anthropic, false),
            ("POST", "/v2/chat") => Target::asked_in_body(Dialect::Cohere, false),
            ("POST", "/api/chat") => Target::asked_in_body(Dialect::OllamaChat, true),
            ("POST", "/api/generate") => Target::asked_in_body(Dialect::OllamaGenerate, true),
            ("POST", _) => match gemini(uri).or_else(|| bedrock(path)) {
                Some(target) => target,
                None => return Self::Unknown,
            },
            _ => return Self::Unknown,
        };
        Self::Answer(target)
    }
}

fn gemini(uri: &Uri) -> Option<Target> {
    let (model, operation) = uri.path().strip_prefix("/v1beta/models/")?.rsplit_once(':')?;
    let sse = uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"));
    let (dialect, streamed) = match operation {
        "generateContent" => (Dialect::GeminiSse, false),
        "streamGenerateContent" if sse => (Dialect::GeminiSse, true),
        "streamGenerateContent" => (Dialect::GeminiArray, true),
        _ => return None,
    };
    Some(Target::asked_in_path(dialect, model, streamed))
}

fn bedrock(path: &str) -> Option<Target> {
    let (model, operation) = path.strip_prefix("/model/")?.split_once('/')?;
    let streamed = match operation {
        "converse" => false,
        "converse-stream" => true,
        _ => return None,
    };
    Some(Target::asked_in_path(Dialect::Bedrock, model, streamed))
}

impl Target {
    fn asked_in_body(dialect: Dialect, otherwise: bool) -> Self {
        Self { dialect, model: None, streams: Streams::Body { otherwise } }
    }

    fn asked_in_path(dialect: Dialect, model: &str, streamed: bool) -> Self {
        let model = percent_decode_str(model).decode_utf8_lossy().into_owned();
        Self { dialect, model: Some(model), streams: Streams::Path(streamed) }
    }

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
        let streamed = match self.streams {
            Streams::Path(streamed) => streamed,
            Streams::Body { otherwise } => body["stream"].as_bool().unwrap_or(otherwise),
        };
        let include_usage = body["stream_options"]["include_usage"].as_bool().unwrap_or(false);
        Ok((Asked { dialect: self.dialect, index, model: model.into(), include_usage }, streamed))
    }
}
