//! Endpoints: the rows of the table, whose host it is, and what is none.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::Dialect::{
    Anthropic, BedrockConverse, Cohere, Gemini, GeminiArray, Ollama, OpenAiChat, OpenAiResponses,
};
use llmperf_wire::Operation::{self, Chat, Embeddings, GenerateContent, Rerank, TextCompletion};
use llmperf_wire::{Dialect, Endpoint, Request};

fn detect(host: &str, path: &str) -> Option<Endpoint> {
    Endpoint::detect("POST", Some(host).filter(|host| !host.is_empty()), path)
}

type Row = (&'static str, Operation, Option<Dialect>, &'static str, Option<&'static str>, Option<bool>);

/// Path, operation, dialect, provider at an unknown host, model, whether it streams.
const PATHS: &[Row] = &[
    ("/v1/chat/completions", Chat, Some(OpenAiChat), "openai", None, None),
    ("/chat/completions/", Chat, Some(OpenAiChat), "openai", None, None),
    ("/openai/v1/chat/completions", Chat, Some(OpenAiChat), "openai", None, None),
    ("/v1beta/openai/chat/completions?key=1", Chat, Some(OpenAiChat), "openai", None, None),
    ("/v1/projects/p/locations/l/endpoints/openapi/chat/completions", Chat, Some(OpenAiChat), "openai", None, None),
    (
        "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
        Chat,
        Some(OpenAiChat),
        "azure.ai.openai",
        Some("gpt-4o"),
        None,
    ),
    ("/v1/completions", TextCompletion, Some(OpenAiChat), "openai", None, None),
    ("/v1/fim/completions", TextCompletion, Some(OpenAiChat), "openai", None, None),
    ("/openai/deployments/d%20e/completions", TextCompletion, Some(OpenAiChat), "azure.ai.openai", Some("d e"), None),
    ("/v1/engines/davinci/completions", TextCompletion, Some(OpenAiChat), "openai", Some("davinci"), None),
    ("/v1/responses", Chat, Some(OpenAiResponses), "openai", None, None),
    ("/api/v1/responses", Chat, Some(OpenAiResponses), "openai", None, None),
    ("/openai/responses?api-version=p", Chat, Some(OpenAiResponses), "openai", None, None),
    ("/backend-api/codex/responses", Chat, Some(OpenAiResponses), "openai", None, None),
    ("/responses", Chat, Some(OpenAiResponses), "openai", None, None),
    ("/v1/messages", Chat, Some(Anthropic), "anthropic", None, None),
    ("/anthropic/v1/messages?beta=true", Chat, Some(Anthropic), "anthropic", None, None),
    (
        "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@2025:streamRawPredict",
        Chat,
        Some(Anthropic),
        "gcp.vertex_ai",
        Some("claude-x@2025"),
        None,
    ),
    (
        "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x%402025:rawPredict",
        Chat,
        Some(Anthropic),
        "gcp.vertex_ai",
        Some("claude-x@2025"),
        Some(false),
    ),
    (
        "/v1/projects/p/locations/l/publishers/mistralai/models/m:streamRawPredict",
        Chat,
        Some(OpenAiChat),
        "gcp.vertex_ai",
        Some("m"),
        None,
    ),
    ("/v2/chat", Chat, Some(Cohere), "cohere", None, None),
    (
        "/v1beta/models/gemini-x:generateContent",
        GenerateContent,
        Some(Gemini),
        "gcp.gemini",
        Some("gemini-x"),
        Some(false),
    ),
    (
        "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
        GenerateContent,
        Some(Gemini),
        "gcp.gemini",
        Some("gemini-x"),
        Some(true),
    ),
    (
        "/v1beta/models/gemini-x%3AstreamGenerateContent?key=k&alt=sse",
        GenerateContent,
        Some(Gemini),
        "gcp.gemini",
        Some("gemini-x"),
        Some(true),
    ),
    (
        "/v1beta/models/gemini-x:streamGenerateContent?key=k",
        GenerateContent,
        Some(GeminiArray),
        "gcp.gemini",
        Some("gemini-x"),
        Some(true),
    ),
    (
        "/v1/projects/p/locations/l/publishers/google/models/gemini-x:streamGenerateContent",
        GenerateContent,
        Some(GeminiArray),
        "gcp.vertex_ai",
        Some("gemini-x"),
        Some(true),
    ),
    ("/api/chat", Chat, Some(Ollama), "ollama", None, None),
    ("/ollama/api/generate", TextCompletion, Some(Ollama), "ollama", None, None),
    (
        "/model/eu.anthropic.claude-x-v1%3A0/converse",
        Chat,
        Some(BedrockConverse),
        "aws.bedrock",
        Some("eu.anthropic.claude-x-v1:0"),
        Some(false),
    ),
    (
        "/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ainference-profile%2Fx/converse-stream",
        Chat,
        Some(BedrockConverse),
        "aws.bedrock",
        Some("arn:aws:bedrock:eu:1:inference-profile/x"),
        Some(true),
    ),
    ("/model/m/invoke", Chat, None, "aws.bedrock", Some("m"), Some(false)),
    ("/model/m/invoke-with-response-stream", Chat, None, "aws.bedrock", Some("m"), Some(true)),
    ("/v1/embeddings", Embeddings, None, "openai", None, Some(false)),
    ("/openai/deployments/e-3/embeddings?api-version=1", Embeddings, None, "azure.ai.openai", Some("e-3"), Some(false)),
    ("/api/embed", Embeddings, None, "ollama", None, Some(false)),
    ("/api/embeddings", Embeddings, None, "ollama", None, Some(false)),
    ("/v2/embed", Embeddings, None, "cohere", None, Some(false)),
    ("/v1beta/models/e:embedContent", Embeddings, None, "gcp.gemini", Some("e"), Some(false)),
    ("/v1beta/models/e:batchEmbedContents", Embeddings, None, "gcp.gemini", Some("e"), Some(false)),
    ("/v1/rerank", Rerank, None, "cohere", None, Some(false)),
    ("/v2/rerank", Rerank, None, "cohere", None, Some(false)),
    ("/rerank", Rerank, None, "cohere", None, Some(false)),
    ("/reranking", Rerank, None, "cohere", None, Some(false)),
];

#[test]
fn a_path_says_operation_dialect_model_and_whether_it_streams() {
    for &(path, operation, dialect, provider, model, streams) in PATHS {
        let endpoint = detect("", path).unwrap_or_else(|| panic!("{path}"));
        assert_eq!(endpoint.operation(), operation, "{path}");
        assert_eq!(endpoint.dialect(), dialect, "{path}");
        assert_eq!(endpoint.provider(), provider, "{path}");
        assert_eq!(endpoint.model(), model, "{path}");
        assert_eq!(endpoint.streams(), streams, "{path}");
    }
}

#[test]
fn a_prefix_and_a_slash_at_the_end_change_nothing_but_the_provider() {
    for &(path, operation, dialect, _, model, streams) in PATHS.iter().filter(|row| row.0 != "/responses") {
        let path = format!("/some/gateway{}", path.replacen('?', "/?", 1));
        let endpoint = detect("gateway.example", &path).unwrap_or_else(|| panic!("{path}"));
        let found = (endpoint.operation(), endpoint.dialect(), endpoint.model(), endpoint.streams());
        assert_eq!(found, (operation, dialect, model, streams), "{path}");
    }
}

#[test]
fn what_is_no_inference_is_no_endpoint() {
    for path in [
        "/",
        "",
        "?",
        "/v1/models",
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/threads/thread_1/messages",
        "/channels/7/messages",
        "/messages",
        "/forms/7/responses",
        "/v1/responses/resp_1",
        "/v1/responses/resp_1/cancel",
        "/v1/chat/completions/chatcmpl-1",
        "/v1/files",
        "/v1/batches",
        "/v1/images/generations",
        "/v1/audio/transcriptions",
        "/v1beta/models/gemini-x:countTokens",
        "/v1beta/models/:generateContent",
        "/v1beta/models/generateContent",
        "/v1/chat",
        "/chat",
        "/model//converse",
        "/api/tags",
        "/api/pull",
        "/v1/rerankers",
        "/xchat/completionsx",
    ] {
        assert_eq!(detect("api.openai.com", path), None, "{path}");
    }
}

#[test]
fn only_a_post_asks_a_model() {
    for method in ["GET", "DELETE", "HEAD", "OPTIONS", "PUT", "post", ""] {
        assert_eq!(Endpoint::detect(method, Some("api.openai.com"), "/v1/responses"), None, "{method}");
    }
}

#[test]
fn the_host_says_whose_it_is() {
    for (host, path, provider) in [
        ("api.openai.com", "/v1/chat/completions", "openai"),
        ("EU.API.OpenAI.com:443", "/v1/responses", "openai"),
        ("desk.openai.azure.com", "/openai/v1/chat/completions", "azure.ai.openai"),
        ("desk.cognitiveservices.azure.com", "/openai/deployments/d/chat/completions", "azure.ai.openai"),
        ("desk.services.ai.azure.com", "/models/chat/completions", "azure.ai.inference"),
        ("desk.services.ai.azure.com", "/openai/v1/responses", "azure.ai.openai"),
        ("api.anthropic.com", "/v1/messages", "anthropic"),
        ("generativelanguage.googleapis.com", "/v1beta/openai/chat/completions", "gcp.gemini"),
        ("europe-west1-aiplatform.googleapis.com", "/v1/publishers/google/models/g:generateContent", "gcp.vertex_ai"),
        ("aiplatform.googleapis.com", "/v1/x/endpoints/openapi/chat/completions", "gcp.vertex_ai"),
        ("bedrock-runtime.eu-west-1.amazonaws.com", "/model/m/converse", "aws.bedrock"),
        ("bedrock-runtime-fips.us-east-1.amazonaws.com", "/openai/v1/chat/completions", "aws.bedrock"),
        ("vpce-1.bedrock-runtime.eu-west-1.vpce.amazonaws.com", "/model/m/converse", "aws.bedrock"),
        ("bedrock-runtime.cn-north-1.amazonaws.com.cn", "/model/m/converse", "aws.bedrock"),
        ("bedrock-mantle.us-east-1.api.aws", "/v1/responses", "aws.bedrock"),
        ("api.cohere.com", "/compatibility/v1/chat/completions", "cohere"),
        ("api.mistral.ai", "/v1/chat/completions", "mistral_ai"),
        ("api.groq.com", "/openai/v1/chat/completions", "groq"),
        ("api.deepseek.com.", "/chat/completions", "deepseek"),
        ("api.deepseek.com", "/anthropic/v1/messages", "deepseek"),
        ("api.x.ai", "/v1/responses", "x_ai"),
        ("api.perplexity.ai", "/chat/completions", "perplexity"),
        ("api.moonshot.cn", "/v1/chat/completions", "moonshot_ai"),
        ("openrouter.ai", "/api/v1/chat/completions", "openrouter"),
        ("api.jina.ai", "/v1/rerank", "jina_ai"),
        ("ollama.com", "/api/chat", "ollama"),
    ] {
        assert_eq!(detect(host, path).unwrap().provider(), provider, "{host}{path}");
    }
}

#[test]
fn at_a_host_that_nobody_knows_the_path_says_it_then_the_port_then_the_protocol() {
    for (host, path, provider) in [
        ("gateway.example", "/v1/acc/gw/groq/chat/completions", "groq"),
        ("gateway.example", "/v1/acc/gw/perplexity-ai/chat/completions", "perplexity"),
        ("gateway.example", "/v1/anthropic/openrouter/v1/messages", "openrouter"),
        ("localhost:11434", "/v1/chat/completions", "ollama"),
        ("[::1]:11434", "/v1/chat/completions", "ollama"),
        ("[::1]", "/v1/chat/completions", "openai"),
        ("user:word@localhost:11434", "/v1/chat/completions", "ollama"),
        ("localhost:8000", "/v1/chat/completions", "openai"),
        ("", "/v1/chat/completions", "openai"),
        ("notopenai.com", "/v1/messages", "anthropic"),
        ("x.ai.example", "/v1/messages", "anthropic"),
        ("ai", "/v1/messages", "anthropic"),
        (":", "/v1/messages", "anthropic"),
        ("é", "/v1/messages", "anthropic"),
    ] {
        assert_eq!(detect(host, path).unwrap().provider(), provider, "{host}{path}");
    }
}

#[test]
fn an_answer_streams_by_the_path_else_the_request_else_the_protocol() {
    let streams = |path: &str, body: &str| {
        let request = Request::read(body.as_bytes());
        detect("", path).unwrap().answer_streams(request.as_ref())
    };
    for (path, body, expected) in [
        ("/v1/chat/completions", "{}", false),
        ("/v1/chat/completions", r#"{"stream":null}"#, false),
        ("/v1/chat/completions", r#"{"stream":true}"#, true),
        ("/v1/chat/completions", "not read", false),
        ("/api/chat", "{}", true),
        ("/api/chat", "not read", true),
        ("/api/chat", r#"{"stream":false}"#, false),
        ("/v1/embeddings", r#"{"stream":true}"#, false),
        ("/v1beta/models/g:streamGenerateContent", r#"{"stream":false}"#, true),
        ("/v1beta/models/g:generateContent", r#"{"stream":true}"#, false),
        ("/model/m/converse-stream", "{}", true),
        ("/v1/publishers/anthropic/models/m:streamRawPredict", r#"{"stream":true}"#, true),
    ] {
        assert_eq!(streams(path, body), expected, "{path} {body}");
    }
}

#[test]
fn a_request_fits_if_a_model_could_answer_it() {
    let fits =
        |host: &str, path: &str, body: &str| detect(host, path).unwrap().fits(&Request::read(body.as_bytes()).unwrap());
    for (host, path, body, expected) in [
        ("", "/v1/chat/completions", r#"{"messages":[]}"#, true),
        ("", "/v1/messages", r#"{"model":"m","messages":[]}"#, true),
        ("", "/v1/messages", r#"{"to":"+1","type":"text","text":{"body":"hi"}}"#, false),
        ("api.anthropic.com", "/v1/messages", "{}", true),
        ("", "/api/chat", r#"{"messages":[]}"#, false),
        ("", "/api/chat", r#"{"model":"m","messages":[]}"#, true),
        ("", "/rerank", r#"{"query":"q","texts":["a"]}"#, true),
        ("", "/rerank", r#"{"items":["a"]}"#, false),
        ("", "/model/m/converse", r#"{"messages":[]}"#, true),
        ("", "/v1beta/models/g:generateContent", r#"{"contents":[]}"#, true),
        ("", "/v1/responses", r#"{"model":"m","input":null}"#, false),
    ] {
        assert_eq!(fits(host, path, body), expected, "{host}{path} {body}");
    }
}

#[test]
fn an_endpoint_of_ones_own_is_what_it_is_told_to_be() {
    let own = Endpoint::new(Operation::Chat, "desk").speaking(Anthropic).streaming(true).of_model("m");
    assert_eq!((own.operation().as_str(), own.dialect(), own.provider()), ("chat", Some(Anthropic), "desk"));
    assert_eq!((own.model(), own.streams()), (Some("m"), Some(true)));
    assert!(own.fits(&Request::default()) && own.answer_streams(None));
}

#[test]
fn a_percent_that_encodes_nothing_stays() {
    for (path, model) in
        [("/model/a%/converse", "a%"), ("/model/a%2/converse", "a%2"), ("/model/%zz%41%ff/converse", "%zzA\u{FFFD}")]
    {
        assert_eq!(detect("", path).unwrap().model(), Some(model));
    }
}

#[test]
fn nothing_is_allocated_for_what_is_no_endpoint() {
    let allocations = allocation_counter::measure(|| {
        for path in ["/v1/models", "/static/app.js?v=1", "/v1/charges/ch_1"] {
            assert!(detect("api.example.com:8443", path).is_none());
        }
    });
    assert_eq!(allocations.count_total, 0);
}
