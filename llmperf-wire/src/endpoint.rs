//! Endpoints: what an HTTP request asks for, as far as its method, host and path tell.

mod provider;
mod routes;

use std::borrow::Cow;

use crate::Dialect;
use crate::request::Request;
use provider::Host;

/// What an HTTP request asks a model server for.
///
/// A request is recognised by the end of its path, whatever a gateway put before it, and by `POST` alone: lists of models,
/// files, batches, stored answers and counts of tokens are no inference.
///
/// | path ends with | operation | [dialect](Self::dialect) |
/// |---|---|---|
/// | `/chat/completions` (a model in `/deployments/{model}/…`, as Azure has it) | `chat` | `OpenAiChat` |
/// | `/completions` (the same; `/engines/{model}/…`) | `text_completion` | `OpenAiChat` |
/// | `/v1/responses`, `/openai/responses`, `/codex/responses`, `/responses` alone | `chat` | `OpenAiResponses` |
/// | `/v1/messages`, `/anthropic/messages` | `chat` | `Anthropic` |
/// | `/publishers/anthropic/models/{model}:rawPredict`, `:streamRawPredict` | `chat` | `Anthropic` |
/// | `/publishers/mistralai/models/{model}:rawPredict`, `:streamRawPredict` | `chat` | `OpenAiChat` |
/// | `/v2/chat` | `chat` | `Cohere` |
/// | `/{model}:generateContent`, `:streamGenerateContent?alt=sse` | `generate_content` | `Gemini` |
/// | `/{model}:streamGenerateContent` | `generate_content` | `GeminiArray` |
/// | `/api/chat` | `chat` | `Ollama` |
/// | `/api/generate` | `text_completion` | `Ollama` |
/// | `/model/{model}/converse`, `/converse-stream` | `chat` | `BedrockConverse` |
/// | `/model/{model}/invoke`, `/invoke-with-response-stream` | `chat` | none: each model has its own |
/// | `/embeddings`, `/embed`, `/api/embed`, `/{model}:embedContent`, `:batchEmbedContents` | `embeddings` | none |
/// | `/rerank`, `/reranking` | `rerank` | none |
///
/// The words `responses` and `messages` are other people's too: they are taken behind a version or a provider's name only.
/// What still looks alike from outside is told apart by the body: see [`fits`](Self::fits).
///
/// The provider is the owner of the host, by the list of the OpenTelemetry conventions and beyond it by the name of the
/// host's owner; at a host that nobody knows it is a provider's name in the path (`/groq/openai/v1/…`), else the one
/// who made the protocol.
///
/// ```
/// use llmperf_wire::{Dialect, Endpoint, Operation};
///
/// let path = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21";
/// let endpoint = Endpoint::detect("POST", Some("desk.openai.azure.com"), path).unwrap();
/// assert_eq!(endpoint.operation(), Operation::Chat);
/// assert_eq!(endpoint.dialect(), Some(Dialect::OpenAiChat));
/// assert_eq!((endpoint.provider(), endpoint.model()), ("azure.ai.openai", Some("gpt-4o")));
///
/// assert_eq!(Endpoint::detect("GET", Some("api.openai.com"), "/v1/models"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    operation: Operation,
    dialect: Option<Dialect>,
    provider: Cow<'static, str>,
    known_host: bool,
    model: Option<String>,
    streams: Option<bool>,
}

/// What is asked of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// An answer in a conversation.
    Chat,
    /// The continuation of a text.
    TextCompletion,
    /// Content of any kind (Gemini).
    GenerateContent,
    /// Vectors for texts.
    Embeddings,
    /// An order of documents.
    Rerank,
}

impl Operation {
    /// The name in `gen_ai.operation.name`. The conventions have none for reranking, so `rerank` is ours.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::TextCompletion => "text_completion",
            Self::GenerateContent => "generate_content",
            Self::Embeddings => "embeddings",
            Self::Rerank => "rerank",
        }
    }
}

impl Endpoint {
    /// An endpoint that its user knows: an own host, a path that nobody else has.
    pub fn new(operation: Operation, provider: impl Into<Cow<'static, str>>) -> Self {
        Self { operation, dialect: None, provider: provider.into(), known_host: true, model: None, streams: None }
    }

    /// Sets the dialect of its answers.
    #[must_use = "the setter consumes the endpoint and returns it"]
    pub fn speaking(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets whether its answers stream, whatever the request says.
    #[must_use = "the setter consumes the endpoint and returns it"]
    pub fn streaming(mut self, streams: bool) -> Self {
        self.streams = Some(streams);
        self
    }

    /// Sets the model that its path stands for.
    #[must_use = "the setter consumes the endpoint and returns it"]
    pub fn of_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Recognises a request by its method, its host (with or without a port) and its path with the query.
    ///
    /// Nothing is allocated for a request that is not recognised.
    pub fn detect(method: &str, host: Option<&str>, path_and_query: &str) -> Option<Self> {
        if method != "POST" {
            return None;
        }
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let path = path.trim_end_matches('/');
        let (route, model) = routes::find(path)?;
        let host = host.map(Host::new);
        let known = host.as_ref().and_then(|host| host.provider(path));
        let provider = known.or_else(|| provider::in_path(path)).or_else(|| host?.by_port()).unwrap_or(route.provider);
        Some(Self {
            operation: route.operation,
            dialect: route.dialect(query),
            provider: Cow::Borrowed(provider),
            known_host: known.is_some(),
            model: model.map(percent_decoded),
            streams: route.streams,
        })
    }

    /// What is asked for.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The dialect of the answer, if it is one that can stream.
    pub fn dialect(&self) -> Option<Dialect> {
        self.dialect
    }

    /// The value for `gen_ai.provider.name`.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model, if the path names it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Whether the answer streams, if the path says so.
    pub fn streams(&self) -> Option<bool> {
        self.streams
    }

    /// Whether the answer streams, by the path, else the request, else the protocol: Ollama streams unless it is told
    /// not to, all others stream only when they are asked.
    pub fn answer_streams(&self, request: Option<&Request>) -> bool {
        let asked = || request.and_then(|request| request.stream);
        let by_protocol = self.dialect == Some(Dialect::Ollama);
        self.streams.or_else(asked).unwrap_or(by_protocol)
    }

    /// Whether a request with this body can be meant for this endpoint.
    ///
    /// True for all requests to a provider's own host. Elsewhere a path like `/api/chat` may be anybody's: the body must
    /// hold a prompt or documents, and a model unless the path names it or the protocol does not ask for one.
    pub fn fits(&self, request: &Request) -> bool {
        let named = self.model.is_some() || request.model.is_some() || !self.dialect.is_some_and(requires_model);
        self.known_host || request.has_prompt && named
    }
}

/// OpenAI's chat is also spoken by servers of one model, which ask for no name.
fn requires_model(dialect: Dialect) -> bool {
    dialect != Dialect::OpenAiChat
}

fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                decoded.push(hex(*high) << 4 | hex(*low));
                rest = tail;
            }
            _ => {
                decoded.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}
