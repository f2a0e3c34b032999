//! The real genai against the local server, in the dialects of several providers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each client needs some of them")]
mod support;

use genai::{
    Client, ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{ChatMessage, ChatOptions, ChatRequest},
    resolver::{AuthData, Endpoint},
};
use llmperf_clients::genai as measured;
use llmperf_core::{Outcome, Timing, testing::Probe};

use support::{
    STEP, attribute, complete, ending, read, reasons, sendable, serve,
    server::{Ending, Finish, Plan, Server},
    swift, thinker, toolsmith,
};

const ALL: usize = usize::MAX;

/// Where each adapter looks for its API.
const APIS: [(AdapterKind, &str); 6] = [
    (AdapterKind::OpenAI, "v1/"),
    (AdapterKind::OpenAIResp, "v1/"),
    (AdapterKind::Anthropic, "v1/"),
    (AdapterKind::Gemini, "v1beta/"),
    (AdapterKind::Ollama, ""),
    (AdapterKind::BedrockApi, ""),
];

fn http() -> reqwest::Client {
    // Loopback only; where other packages of the build ask for TLS, its provider must be there.
    let _already_set = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().unwrap()
}

fn client(server: &Server, adapter: AdapterKind) -> Client {
    let (_, api) = APIS.into_iter().find(|(kind, _)| *kind == adapter).unwrap();
    let url = format!("http://{}/{api}", server.address());
    let target = move |target: ServiceTarget| {
        let (endpoint, auth) = (Endpoint::from_owned(url.as_str()), AuthData::from_single("none"));
        Ok(ServiceTarget { endpoint, auth, ..target })
    };
    Client::builder().with_reqwest(http()).with_service_target_resolver_fn(target).build().unwrap()
}

fn question() -> ChatRequest {
    ChatRequest::new(vec![ChatMessage::user("Which way to the harbour?")])
}

fn options() -> ChatOptions {
    ChatOptions::default().with_capture_usage(true).with_temperature(0.2).with_max_tokens(64)
}

/// Streams one chat of `plan` and reads at most `most` events of it.
async fn stream(probe: &Probe, adapter: AdapterKind, plan: &Plan, most: usize) -> Timing {
    let server = serve(plan);
    let (client, model, options) = (client(&server, adapter), ModelIden::new(adapter, plan.model), options());
    let call = measured::describe(probe.chat("test", plan.model), Some(&options));
    let request = client.exec_chat_stream(model, question(), Some(&options));
    let mut reply = sendable(sendable(measured::open(call, request)).await.unwrap());
    read(probe, &mut reply, most).await;
    reply.into_timing()
}

#[test]
fn a_call_is_named_by_its_model_and_adapter() {
    let call = format!("{:?}", measured::call(&ModelIden::new(AdapterKind::Mistral, "large"), Some(&options())));
    assert!(call.contains("mistral_ai") && call.contains("large"), "{call}");
}

#[tokio::test]
async fn a_stream_of_text_is_measured_to_its_end_whoever_answers() {
    for (adapter, _) in APIS {
        let (probe, plan) = (Probe::new(), swift(complete()));
        let timing = stream(&probe, adapter, &plan, ALL).await;
        assert_eq!(ending(&timing), (Some(Outcome::Complete), None), "{adapter}");
        assert_eq!((timing.usage.input_tokens(), timing.usage.output_tokens()), (Some(40), Some(4)), "{adapter}");
        assert_eq!(timing.finish_reasons.len(), 1, "{adapter}");
        assert_eq!(timing.outputs, 3, "{adapter}");
        assert_eq!(probe.tree(), "chat swift-1\n", "{adapter}");
    }
}

#[tokio::test]
async fn the_start_that_comes_before_the_request_is_no_event() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let timing = stream(&probe, AdapterKind::OpenAI, &plan, ALL).await;
    assert_eq!(timing.time_to_head, None, "the stream sends the request");
    assert_eq!(timing.time_to_first_chunk, Some(STEP), "one step after the client's own start");
    assert_eq!(timing.time_to_first_token, timing.time_to_first_chunk);
    assert_eq!(reasons(&timing), ["stop"]);
    assert_eq!(attribute(&probe, "gen_ai.request.temperature"), "0.2");
    assert_eq!(attribute(&probe, "gen_ai.request.max_tokens"), "64");
}

#[tokio::test]
async fn reasoning_is_output_but_no_answer() {
    for adapter in [AdapterKind::OpenAI, AdapterKind::Anthropic, AdapterKind::Gemini, AdapterKind::Ollama] {
        let timing = stream(&Probe::new(), adapter, &thinker(complete()), ALL).await;
        assert_eq!((timing.outputs, timing.usage.output_tokens()), (3, Some(4)), "{adapter}");
        assert!(timing.time_to_first_token < timing.time_to_first_answer, "{adapter}");
    }
}

#[tokio::test]
async fn a_tool_call_is_output() {
    for (adapter, _) in APIS {
        let timing = stream(&Probe::new(), adapter, &toolsmith(Ending::Complete(Finish::ToolCalls)), ALL).await;
        assert!(timing.outputs > 0, "{adapter}");
        assert_eq!(timing.outcome, Some(Outcome::Complete), "{adapter}");
    }
}

#[tokio::test]
async fn a_stream_that_is_left_early_is_cancelled() {
    let probe = Probe::new();
    let timing = stream(&probe, AdapterKind::OpenAI, &swift(Ending::Silent), 2).await;
    assert_eq!(ending(&timing), (Some(Outcome::Cancelled), None));
    assert_eq!(timing.outputs, 1);
    assert_eq!(probe.tree(), "chat swift-1\n");
}

#[tokio::test]
async fn an_error_inside_the_stream_has_the_providers_code() {
    let codes = [
        (AdapterKind::OpenAI, "engine_overloaded"),
        (AdapterKind::OpenAIResp, "server_error"),
        (AdapterKind::Anthropic, "overloaded_error"),
    ];
    for (adapter, code) in codes {
        let probe = Probe::new();
        let timing = stream(&probe, adapter, &swift(Ending::ErrorFrame), ALL).await;
        assert_eq!(ending(&timing), (Some(Outcome::Error), Some(code)), "{adapter}");
        assert_eq!(probe.tree(), "chat swift-1 !\n", "{adapter}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_interrupted() {
    for (adapter, _) in APIS {
        let probe = Probe::new();
        let timing = stream(&probe, adapter, &swift(Ending::Cut), ALL).await;
        assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")), "{adapter}");
        assert_eq!(probe.tree(), "chat swift-1 !\n", "{adapter}");
    }
}

#[tokio::test]
async fn a_stream_without_its_marker_hides_its_finish_reason() {
    for adapter in [AdapterKind::OpenAI, AdapterKind::Ollama] {
        let timing = stream(&Probe::new(), adapter, &swift(Ending::Unmarked(Finish::Stop)), ALL).await;
        assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")), "{adapter}");
    }
}

#[tokio::test]
async fn a_refused_request_is_an_error_item_with_the_providers_code() {
    let probe = Probe::new();
    let timing = stream(&probe, AdapterKind::OpenAI, &swift(Ending::Refused(429)), ALL).await;
    assert_eq!(ending(&timing), (Some(Outcome::Error), Some("rate_limit_exceeded")));
    let timing = stream(&Probe::new(), AdapterKind::Ollama, &swift(Ending::Refused(503)), ALL).await;
    assert_eq!(ending(&timing), (Some(Outcome::Error), Some("503")), "there is no code in the body");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_refused_connection() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let (client, model) = (client(&server, AdapterKind::OpenAI), ModelIden::new(AdapterKind::OpenAI, plan.model));
    drop(server);
    let request = client.exec_chat_stream(model, question(), None);
    let mut reply = measured::open(probe.chat("openai", plan.model), request).await.unwrap();
    read(&probe, &mut reply, ALL).await;
    assert_eq!(ending(&reply.into_timing()), (Some(Outcome::Error), Some("connection_refused")));
}

#[tokio::test]
async fn a_request_that_cannot_be_made_is_an_error() {
    let probe = Probe::new();
    let resolver = |_: ModelIden| Err::<Option<AuthData>, _>(genai::resolver::Error::Custom("no key".into()));
    let client = Client::builder().with_reqwest(http()).with_auth_resolver_fn(resolver).build().unwrap();
    let request = client.exec_chat_stream(ModelIden::new(AdapterKind::OpenAI, "swift-1"), question(), None);
    measured::open(probe.chat("openai", "swift-1"), request).await.err().unwrap();
    assert_eq!(attribute(&probe, "error.type"), "genai::error::Error");
}

#[tokio::test]
async fn a_whole_answer_is_measured() {
    let (probe, plan) = (Probe::new(), thinker(complete()));
    let server = serve(&plan);
    let (client, model) = (client(&server, AdapterKind::Anthropic), ModelIden::new(AdapterKind::Anthropic, plan.model));
    let request = client.exec_chat(model, question(), None);
    measured::run(probe.chat("anthropic", plan.model), request).await.unwrap();

    assert_eq!(attribute(&probe, "llmperf.outcome"), "complete");
    assert_eq!(attribute(&probe, "gen_ai.usage.input_tokens"), "40");
    assert_eq!(attribute(&probe, "gen_ai.usage.cache_read.input_tokens"), "16");
    assert_eq!(attribute(&probe, "gen_ai.response.model"), "thinker-1");
    assert_eq!(attribute(&probe, "gen_ai.response.finish_reasons"), "[\"end_turn\"]");
    assert_eq!(probe.tree(), "chat thinker-1\n");
}
