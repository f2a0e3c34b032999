//! Answers that no plan tells: models, embeddings and rankings, all tiny and a function of the request.

use serde_json::{Value, json};

use super::dialects::Dialect;
use super::plan::MODELS;
use super::refusal::Refusal;

/// A path with such an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    Models,
    OpenAiEmbeddings,
    CohereEmbeddings,
    OllamaEmbeddings,
    /// As Jina, vLLM and others rank.
    Ranking,
    CohereRanking,
}

impl Fixed {
    pub(super) fn at(method: &str, path: &str) -> Option<Self> {
        Some(match (method, path) {
            ("GET", "/v1/models") => Self::Models,
            ("POST", "/v1/embeddings") => Self::OpenAiEmbeddings,
            ("POST", "/v2/embed") => Self::CohereEmbeddings,
            ("POST", "/api/embed") => Self::OllamaEmbeddings,
            ("POST", "/v1/rerank") => Self::Ranking,
            ("POST", "/v2/rerank") => Self::CohereRanking,
            _ => return None,
        })
    }

    /// Whose words a refusal has.
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Models | Self::OpenAiEmbeddings | Self::Ranking => Dialect::OpenAiChat,
            Self::CohereEmbeddings | Self::CohereRanking => Dialect::Cohere,
            Self::OllamaEmbeddings => Dialect::OllamaChat,
        }
    }

    /// The body of the answer. Any model will do; a token is a word.
    pub(super) fn answer(self, body: &[u8]) -> Result<Value, Refusal> {
        if self == Self::Models {
            let models = MODELS.map(|id| json!({ "id": id, "object": "model", "owned_by": "llmperf" }));
            return Ok(json!({ "object": "list", "data": models }));
        }
        let body: Value = serde_json::from_slice(body).map_err(|error| Refusal::invalid(error.to_string()))?;
        let model = body["model"].as_str().ok_or_else(|| Refusal::invalid("model is missing."))?;
        let texts = texts(&body[self.key()]);
        if texts.is_empty() {
            return Err(Refusal::invalid(format!("{} is missing.", self.key())));
        }
        Ok(match self {
            Self::Ranking | Self::CohereRanking => self.ranking(model, &body, &texts),
            _ => self.embeddings(model, &texts),
        })
    }

    /// The field of the request that holds the texts.
    fn key(self) -> &'static str {
        match self {
            Self::CohereEmbeddings => "texts",
            Self::Ranking | Self::CohereRanking => "documents",
            _ => "input",
        }
    }

    fn embeddings(self, model: &str, texts: &[&str]) -> Value {
        let tokens = tokens(texts);
        let vectors: Vec<_> = texts.iter().map(|text| vector(text)).collect();
        match self {
            Self::CohereEmbeddings => json!({
                "id": "embed_0",
                "response_type": "embeddings_by_type",
                "embeddings": { "float": vectors },
                "texts": texts,
                "meta": { "api_version": { "version": "2" }, "billed_units": { "input_tokens": tokens } },
            }),
            Self::OllamaEmbeddings => json!({
                "model": model,
                "embeddings": vectors,
                "total_duration": 14_143_917,
                "load_duration": 1_019_500,
                "prompt_eval_count": tokens,
            }),
            _ => {
                let data = vectors.iter().enumerate();
                let data =
                    data.map(|(index, vector)| json!({ "object": "embedding", "index": index, "embedding": vector }));
                json!({
                    "object": "list",
                    "data": data.collect::<Vec<_>>(),
                    "model": model,
                    "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
                })
            }
        }
    }

    /// The first document fits best.
    fn ranking(self, model: &str, body: &Value, texts: &[&str]) -> Value {
        let best = body["top_n"].as_u64().and_then(|best| usize::try_from(best).ok()).unwrap_or(texts.len());
        let score = |index: usize| 1.0 / (index + 1) as f64;
        let results = texts.iter().enumerate().take(best);
        if self == Self::CohereRanking {
            let results = results.map(|(index, _)| json!({ "index": index, "relevance_score": score(index) }));
            return json!({
                "id": "rerank_0",
                "results": results.collect::<Vec<_>>(),
                "meta": { "api_version": { "version": "2" }, "billed_units": { "search_units": 1 } },
            });
        }
        let results = results.map(
            |(index, text)| json!({ "index": index, "relevance_score": score(index), "document": { "text": text } }),
        );
        let query = body["query"].as_str().unwrap_or_default();
        json!({
            "model": model,
            "results": results.collect::<Vec<_>>(),
            "usage": { "total_tokens": tokens(texts) + tokens(&[query]) },
        })
    }
}

/// One text, or several; a document may be an object with a text.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(texts) => texts.iter().filter_map(|text| text.as_str().or(text["text"].as_str())).collect(),
        _ => Vec::new(),
    }
}

fn tokens(texts: &[&str]) -> usize {
    texts.iter().map(|text| text.split_whitespace().count()).sum()
}

fn vector(text: &str) -> [f64; 3] {
    let length = text.len() as f64;
    [0.25, 0.5, length / 1024.0]
}
