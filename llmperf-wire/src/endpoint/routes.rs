//! The paths that are known, by their ends.

use super::Operation::{self, Chat, Embeddings, GenerateContent, Rerank, TextCompletion};
use crate::Dialect;

/// What the end of a path stands for.
#[derive(Debug)]
pub(super) struct Route {
    /// Segments; `{model}` takes any one, `{version}` a `v1` or the like, `{model}:verb` a model and this verb.
    end: &'static str,
    /// Its last word. What is no call is known by this alone.
    word: &'static str,
    pub(super) operation: Operation,
    speech: Speech,
    /// The provider at a host that nobody knows.
    pub(super) provider: &'static str,
    pub(super) streams: Option<bool>,
    /// The end is all of the path.
    alone: bool,
}

/// How the answer is written.
#[derive(Debug, Clone, Copy)]
enum Speech {
    Known(Dialect),
    /// As server-sent events if the query asks for them, else as an array.
    GeminiStream,
    /// Never in a stream, or in none that we read.
    None,
}

const OPENAI_CHAT: Speech = Speech::Known(Dialect::OpenAiChat);
const RESPONSES: Speech = Speech::Known(Dialect::OpenAiResponses);
const ANTHROPIC: Speech = Speech::Known(Dialect::Anthropic);
const COHERE: Speech = Speech::Known(Dialect::Cohere);
const GEMINI: Speech = Speech::Known(Dialect::Gemini);
const OLLAMA: Speech = Speech::Known(Dialect::Ollama);
const BEDROCK: Speech = Speech::Known(Dialect::BedrockConverse);

/// The first that matches counts.
const ROUTES: &[Route] = &[
    route("deployments/{model}/chat/completions", Chat, OPENAI_CHAT, "azure.ai.openai"),
    route("chat/completions", Chat, OPENAI_CHAT, "openai"),
    route("deployments/{model}/completions", TextCompletion, OPENAI_CHAT, "azure.ai.openai"),
    route("engines/{model}/completions", TextCompletion, OPENAI_CHAT, "openai"),
    route("completions", TextCompletion, OPENAI_CHAT, "openai"),
    route("{version}/responses", Chat, RESPONSES, "openai"),
    route("openai/responses", Chat, RESPONSES, "openai"),
    route("codex/responses", Chat, RESPONSES, "openai"),
    route("/responses", Chat, RESPONSES, "openai").alone(),
    route("{version}/messages", Chat, ANTHROPIC, "anthropic"),
    route("anthropic/messages", Chat, ANTHROPIC, "anthropic"),
    route("anthropic/models/{model}:rawPredict", Chat, ANTHROPIC, "gcp.vertex_ai").streams(false),
    route("anthropic/models/{model}:streamRawPredict", Chat, ANTHROPIC, "gcp.vertex_ai"),
    route("mistralai/models/{model}:rawPredict", Chat, OPENAI_CHAT, "gcp.vertex_ai").streams(false),
    route("mistralai/models/{model}:streamRawPredict", Chat, OPENAI_CHAT, "gcp.vertex_ai"),
    route("v2/chat", Chat, COHERE, "cohere"),
    route("{model}:generateContent", GenerateContent, GEMINI, "gcp.gemini").streams(false),
    route("{model}:streamGenerateContent", GenerateContent, Speech::GeminiStream, "gcp.gemini").streams(true),
    route("api/chat", Chat, OLLAMA, "ollama"),
    route("api/generate", TextCompletion, OLLAMA, "ollama"),
    route("model/{model}/converse", Chat, BEDROCK, "aws.bedrock").streams(false),
    route("model/{model}/converse-stream", Chat, BEDROCK, "aws.bedrock").streams(true),
    route("model/{model}/invoke", Chat, Speech::None, "aws.bedrock").streams(false),
    route("model/{model}/invoke-with-response-stream", Chat, Speech::None, "aws.bedrock").streams(true),
    route("deployments/{model}/embeddings", Embeddings, Speech::None, "azure.ai.openai"),
    route("api/embeddings", Embeddings, Speech::None, "ollama"),
    route("api/embed", Embeddings, Speech::None, "ollama"),
    route("embeddings", Embeddings, Speech::None, "openai"),
    route("embed", Embeddings, Speech::None, "cohere"),
    route("{model}:embedContent", Embeddings, Speech::None, "gcp.gemini"),
    route("{model}:batchEmbedContents", Embeddings, Speech::None, "gcp.gemini"),
    route("rerank", Rerank, Speech::None, "cohere"),
    route("reranking", Rerank, Speech::None, "cohere"),
];

const fn route(end: &'static str, operation: Operation, speech: Speech, provider: &'static str) -> Route {
    let streams = match operation {
        Embeddings | Rerank => Some(false),
        _ => None,
    };
    Route { end, word: last_word(end), operation, speech, provider, streams, alone: false }
}

/// What stands behind the last `/` or `:`.
const fn last_word(end: &'static str) -> &'static str {
    let bytes = end.as_bytes();
    let mut at = bytes.len();
    while at > 0 && bytes[at - 1] != b'/' && bytes[at - 1] != b':' {
        at -= 1;
    }
    end.split_at(at).1
}

impl Route {
    const fn streams(mut self, streams: bool) -> Self {
        self.streams = Some(streams);
        self
    }

    const fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    pub(super) fn dialect(&self, query: &str) -> Option<Dialect> {
        match self.speech {
            Speech::Known(dialect) => Some(dialect),
            Speech::GeminiStream if query.split('&').any(|parameter| parameter == "alt=sse") => Some(Dialect::Gemini),
            Speech::GeminiStream => Some(Dialect::GeminiArray),
            Speech::None => None,
        }
    }
}

/// The route of a path, and the model that it names.
pub(super) fn find(path: &str) -> Option<(&'static Route, Option<&str>)> {
    ROUTES.iter().filter(|route| path.ends_with(route.word)).find_map(|route| {
        let model = matches(route.end, path)?;
        (!route.alone || path == route.end).then_some((route, model))
    })
}

/// If the path ends like that: the model that it names, if any.
fn matches<'p>(end: &str, path: &'p str) -> Option<Option<&'p str>> {
    let mut segments = path.rsplit('/');
    let mut model = None;
    for pattern in end.rsplit('/') {
        let segment = segments.next()?;
        match pattern.strip_prefix("{model}") {
            Some("") if segment.is_empty() => return None,
            Some("") => model = Some(segment),
            Some(verb) => model = Some(before_verb(segment, verb)?),
            None if pattern == "{version}" => is_version(segment).then_some(())?,
            None => (segment == pattern).then_some(())?,
        }
    }
    Some(model)
}

/// What stands before `:verb`, whose colon may be written as `%3A`.
fn before_verb<'p>(segment: &'p str, colon_and_verb: &str) -> Option<&'p str> {
    let verb = colon_and_verb.strip_prefix(':')?;
    let head = segment.strip_suffix(verb)?;
    let model = [":", "%3A", "%3a"].iter().find_map(|colon| head.strip_suffix(colon))?;
    (!model.is_empty()).then_some(model)
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|number| number.starts_with(|first: char| first.is_ascii_digit()))
}
