//! A measured client over a measured transport: each call is counted once, whatever becomes of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each client needs some of them")]
mod support;

use async_openai::{
    Client,
    config::OpenAIConfig,
    error::OpenAIError,
    middleware::HttpRequestFactory,
    types::{
        chat::{
            ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, CreateChatCompletionRequest,
            CreateChatCompletionRequestArgs,
        },
        responses::{CreateResponse, CreateResponseArgs},
    },
};
use llmperf_clients::async_openai as measured;
use llmperf_core::{Outcome, Timing, testing::Probe};
use llmperf_http::Measure;

use support::{
    complete, ending, read, serve,
    server::{Ending, Plan, Server},
    swift,
};

const ALL: usize = usize::MAX;

/// async-openai, whose requests go through reqwest with the middleware.
fn client(server: &Server, probe: &Probe) -> Client<OpenAIConfig> {
    // Loopback only; where other packages of the build ask for TLS, its provider must be there.
    let _already_set = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().tls_certs_only([]).build().unwrap();
    let measure: Measure = Measure::new().instrumentation(probe.instrumentation());
    let http = reqwest_middleware::ClientBuilder::new(http).with(measure).build();
    let service = tower::service_fn(move |request: HttpRequestFactory| {
        let http = http.clone();
        async move { http.execute(request.build().await?).await.map_err(|error| OpenAIError::Boxed(error.into())) }
    });
    let config = OpenAIConfig::new().with_api_base(server.base_url()).with_api_key("none");
    Client::with_config(config).with_http_service(service)
}

fn chat(plan: &Plan) -> CreateChatCompletionRequest {
    CreateChatCompletionRequestArgs::default()
        .model(plan.model)
        .messages([ChatCompletionRequestUserMessage::from("Which way to the harbour?").into()])
        .stream(true)
        .stream_options(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None })
        .build()
        .unwrap()
}

fn response(plan: &Plan) -> CreateResponse {
    CreateResponseArgs::default().model(plan.model).input("Which way to the harbour?").build().unwrap()
}

/// Streams one chat completion of `plan` through client and transport, both measured, and reads at most `most` chunks.
async fn stream(probe: &Probe, plan: &Plan, most: usize) -> Timing {
    let server = serve(plan);
    let client = client(&server, probe);
    let (request, chat) = (chat(plan), client.chat());
    let call = measured::describe(probe.chat("openai", plan.model), &request);
    let mut reply = measured::open(call, chat.create_stream(request)).await.unwrap();
    read(probe, &mut reply, most).await;
    reply.into_timing()
}

/// One call, and below it the transport's span, whose outcome is its own.
fn assert_one(probe: &Probe, timing: &Timing, outcome: Outcome) {
    assert_eq!(timing.outcome, Some(outcome));
    assert_eq!(timing.attempts, Some(1));
    assert_eq!(probe.count("llmperf.client.calls"), 1.0, "{outcome}");
    assert_eq!(probe.points("llmperf.client.duration").len(), 1, "{outcome}");
    assert_eq!(probe.instrumentation().live_calls(), 0, "{outcome}");
    let tree = match outcome {
        Outcome::Error | Outcome::Interrupted => "chat swift-1 !\n  chat swift-1 !\n",
        _ => "chat swift-1\n  chat swift-1\n",
    };
    assert_eq!(probe.tree(), tree, "{outcome}");
}

#[tokio::test]
async fn a_stream_is_one_call_with_its_tokens_once() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let timing = stream(&probe, &plan, ALL).await;
    settle(&probe, 2).await;
    assert_one(&probe, &timing, Outcome::Complete);
    assert_eq!(timing.usage.output_tokens(), Some(4));
    let tokens = |kind: &str| -> f64 {
        let points = probe.points("llmperf.client.tokens");
        points.iter().filter(|point| point.attribute("llmperf.token.type") == kind).map(|point| point.sum).sum()
    };
    assert_eq!((tokens("input"), tokens("output")), (40.0, 4.0));
}

#[tokio::test]
async fn a_failure_inside_the_stream_is_one_failed_call() {
    let (probe, plan) = (Probe::new(), swift(Ending::ErrorFrame));
    let timing = stream(&probe, &plan, ALL).await;
    settle(&probe, 2).await;
    assert_one(&probe, &timing, Outcome::Error);
    assert_eq!(ending(&timing).1, Some("engine_overloaded"));
}

#[tokio::test]
async fn a_broken_stream_is_one_interrupted_call() {
    let (probe, plan) = (Probe::new(), swift(Ending::Cut));
    let timing = stream(&probe, &plan, ALL).await;
    settle(&probe, 2).await;
    assert_one(&probe, &timing, Outcome::Interrupted);
}

#[tokio::test]
async fn a_stream_that_is_dropped_is_one_cancelled_call() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let timing = stream(&probe, &plan, 2).await;
    settle(&probe, 2).await;
    assert_one(&probe, &timing, Outcome::Cancelled);
}

#[tokio::test]
async fn a_response_is_one_call_streamed_or_whole() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let client = client(&server, &probe);
    let (request, responses) = (response(&plan), client.responses());
    let call = measured::describe(probe.chat("openai", plan.model), &request);
    let mut reply =
        measured::open(call, responses.create_stream(CreateResponse { stream: Some(true), ..request.clone() }))
            .await
            .unwrap();
    read(&probe, &mut reply, ALL).await;
    settle(&probe, 2).await;
    assert_one(&probe, &reply.into_timing(), Outcome::Complete);

    let call = measured::describe(probe.chat("openai", plan.model), &request);
    measured::run(call, responses.create(request)).await.unwrap();
    assert_eq!(probe.count("llmperf.client.calls"), 2.0);
}

#[tokio::test]
async fn a_client_that_is_not_measured_is_measured_by_its_transport() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let client = client(&server, &probe);
    let mut reply = client.chat().create_stream(chat(&plan)).await.unwrap();
    read(&probe, &mut reply, ALL).await;
    settle(&probe, 1).await;
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(probe.tree(), "chat swift-1\n");
}

/// Waits until so many spans have ended: the transport's does when the task in which the client reads lets go of the body.
async fn settle(probe: &Probe, spans: usize) {
    let ended = async {
        while probe.spans().len() < spans {
            tokio::task::yield_now().await;
        }
    };
    // A span that never ends fails the test by what it lacks, not by hanging.
    let _missing = tokio::time::timeout(std::time::Duration::from_secs(30), ended).await;
}
