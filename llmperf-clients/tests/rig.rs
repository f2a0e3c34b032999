//! The real rig against the local server, in the dialects of several providers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each client needs some of them")]
mod support;

use llmperf_clients::rig as measured;
use llmperf_core::{Call, Outcome, Timing, testing::Probe};
use rig_core::{
    DynModel, ProviderError,
    completion::CompletionRequest,
    http_client::DynHttpClient,
    operation::Completion,
    providers::{anthropic::AnthropicConfig, openai::OpenAIConfig},
};

use support::{
    STEP, attribute, complete, ending, read, reasons, sendable, serve,
    server::{Ending, Finish, Plan, Server},
    swift, thinker, toolsmith, usage,
};

const ALL: usize = usize::MAX;

/// Which provider's model is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Chat,
    Responses,
    Anthropic,
}

const EVERYBODY: [Asked; 3] = [Asked::Chat, Asked::Responses, Asked::Anthropic];

fn model(server: &Server, asked: Asked, plan: &Plan) -> DynModel<Completion> {
    // Loopback only; where other packages of the build ask for TLS, its provider must be there.
    let _already_set = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().tls_certs_only([]).build().unwrap();
    let http = DynHttpClient::new(rig_reqwest::ReqwestClient::from(http));
    let openai = OpenAIConfig::new("none").with_base_url(server.base_url());
    match asked {
        Asked::Chat => openai.connect(http).chat(plan.model).erase(),
        Asked::Responses => openai.connect(http).responses(plan.model).erase(),
        Asked::Anthropic => {
            let url = format!("http://{}", server.address());
            AnthropicConfig::new("none").with_base_url(url).connect(http).completion(plan.model).erase()
        }
    }
}

fn question() -> CompletionRequest {
    CompletionRequest::new("Which way to the harbour?").temperature(0.2).max_tokens(64)
}

fn call(probe: &Probe, plan: &Plan) -> Call {
    measured::describe(probe.chat("test", plan.model), &question())
}

/// Streams one completion of `plan` and reads at most `most` items of it.
async fn stream(probe: &Probe, asked: Asked, plan: &Plan, most: usize) -> Result<Timing, ProviderError> {
    let server = serve(plan);
    let model = model(&server, asked, plan);
    let mut reply = sendable(measured::open(call(probe, plan), &model, question())?);
    read(probe, &mut reply, most).await;
    Ok(reply.into_timing())
}

#[test]
fn a_call_is_named_by_its_model_and_provider() {
    let plan = swift(complete());
    let server = serve(&plan);
    let call = format!("{:?}", measured::call(&model(&server, Asked::Anthropic, &plan), &question()));
    assert!(call.contains("anthropic") && call.contains("swift-1"), "{call}");
}

#[tokio::test]
async fn a_stream_of_text_is_measured_to_its_end_whoever_answers() {
    for asked in EVERYBODY {
        let (probe, plan) = (Probe::new(), swift(complete()));
        let timing = stream(&probe, asked, &plan, ALL).await.unwrap();
        assert_eq!(ending(&timing), (Some(Outcome::Complete), None), "{asked:?}");
        assert_eq!((timing.usage.input_tokens(), timing.usage.output_tokens()), (Some(40), Some(4)), "{asked:?}");
        assert_eq!(reasons(&timing), ["stop"], "{asked:?}");
        assert_eq!(timing.outputs, 3, "{asked:?}");
        assert_eq!(probe.tree(), "chat swift-1\n", "{asked:?}");
    }
}

#[tokio::test]
async fn what_the_client_puts_together_is_no_event() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let timing = stream(&probe, Asked::Chat, &plan, ALL).await.unwrap();
    assert_eq!(timing.time_to_head, None, "the stream sends the request");
    // The part begins, then its first words.
    assert_eq!(timing.time_to_first_token, timing.time_to_first_chunk.map(|chunk| chunk + STEP));
    assert_eq!(timing.usage.cache_read_tokens(), usage(&plan).cache_read_tokens());
    assert_eq!(timing.chunks, 1 + 3 + 1);
    assert_eq!(attribute(&probe, "gen_ai.response.model"), "swift-1");
    assert_eq!(attribute(&probe, "gen_ai.response.id"), "chatcmpl-0");
    assert_eq!(attribute(&probe, "gen_ai.request.temperature"), "0.2");
    assert_eq!(attribute(&probe, "gen_ai.request.max_tokens"), "64");
}

#[tokio::test]
async fn a_stream_that_was_read_can_be_finished() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let model = model(&server, Asked::Chat, &plan);
    let mut reply = measured::open(call(&probe, &plan), &model, question()).unwrap();
    read(&probe, &mut reply, ALL).await;
    let response = reply.into_inner().into_inner().finish().await.unwrap();
    assert_eq!(response.usage.output_tokens, Some(4));
    assert_eq!(attribute(&probe, "llmperf.outcome"), "complete");
}

#[tokio::test]
async fn reasoning_is_output_but_no_answer() {
    for asked in EVERYBODY {
        let timing = stream(&Probe::new(), asked, &thinker(complete()), ALL).await.unwrap();
        assert_eq!(timing.outputs, 3, "{asked:?}");
        assert!(timing.time_to_first_token < timing.time_to_first_answer, "{asked:?}");
    }
}

#[tokio::test]
async fn a_tool_call_is_output_from_its_name_on() {
    for asked in EVERYBODY {
        let timing = stream(&Probe::new(), asked, &toolsmith(Ending::Complete(Finish::ToolCalls)), ALL).await.unwrap();
        assert!(timing.outputs >= 3, "{asked:?}: {timing:?}");
        assert_eq!(reasons(&timing), ["tool_calls"], "{asked:?}");
    }
}

#[tokio::test]
async fn a_stream_that_is_left_early_is_cancelled() {
    let probe = Probe::new();
    let timing = stream(&probe, Asked::Chat, &swift(Ending::Silent), 2).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Cancelled), None));
    assert_eq!(timing.outputs, 1);
    assert_eq!(probe.tree(), "chat swift-1\n");
}

#[tokio::test]
async fn an_error_inside_the_stream_has_the_providers_code() {
    let codes = [
        (Asked::Chat, "engine_overloaded"),
        (Asked::Responses, "server_error"),
        (Asked::Anthropic, "overloaded_error"),
    ];
    for (asked, code) in codes {
        let probe = Probe::new();
        let timing = stream(&probe, asked, &swift(Ending::ErrorFrame), ALL).await.unwrap();
        assert_eq!(ending(&timing), (Some(Outcome::Error), Some(code)), "{asked:?}");
        assert_eq!(probe.tree(), "chat swift-1 !\n", "{asked:?}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_interrupted() {
    for asked in EVERYBODY {
        let probe = Probe::new();
        let timing = stream(&probe, asked, &swift(Ending::Cut), ALL).await.unwrap();
        assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")), "{asked:?}");
        assert_eq!(probe.tree(), "chat swift-1 !\n", "{asked:?}");
    }
}

#[tokio::test]
async fn a_stream_without_its_terminal_event_is_interrupted() {
    let timing = stream(&Probe::new(), Asked::Responses, &swift(Ending::Unmarked(Finish::Stop)), ALL).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")));
}

#[tokio::test]
async fn a_refused_request_is_an_error_item_with_the_providers_code() {
    let timing = stream(&Probe::new(), Asked::Chat, &swift(Ending::Refused(429)), ALL).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Error), Some("rate_limit_exceeded")));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_refused_connection() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let model = model(&server, Asked::Chat, &plan);
    drop(server);
    let mut reply = measured::open(call(&probe, &plan), &model, question()).unwrap();
    read(&probe, &mut reply, ALL).await;
    assert_eq!(ending(&reply.into_timing()), (Some(Outcome::Error), Some("connection_refused")));
}

#[tokio::test]
async fn a_request_that_cannot_be_sent_is_an_error() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let model = model(&server, Asked::Chat, &plan);
    let mut empty = question();
    empty.chat_history.clear();
    measured::open(call(&probe, &plan), &model, empty).unwrap_err();
    assert_eq!(attribute(&probe, "error.type"), "rig_core::error::ProviderError");
}

#[tokio::test]
async fn a_whole_answer_is_measured() {
    let (probe, plan) = (Probe::new(), thinker(complete()));
    let server = serve(&plan);
    let model = model(&server, Asked::Anthropic, &plan);
    sendable(measured::run(call(&probe, &plan), model.call(question()))).await.unwrap();

    assert_eq!(attribute(&probe, "llmperf.outcome"), "complete");
    assert_eq!(attribute(&probe, "gen_ai.usage.input_tokens"), "40");
    assert_eq!(attribute(&probe, "gen_ai.usage.cache_read.input_tokens"), "16");
    assert_eq!(attribute(&probe, "gen_ai.response.finish_reasons"), "[\"stop\"]");
    assert_eq!(attribute(&probe, "gen_ai.response.model"), "thinker-1");
    assert_eq!(probe.tree(), "chat thinker-1\n");
}
