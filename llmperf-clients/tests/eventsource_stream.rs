//! The real eventsource-stream over the real reqwest, against the local server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each client needs some of them")]
mod support;

use eventsource_stream::Eventsource as _;
use llmperf_clients::eventsource_stream as measured;
use llmperf_core::{Carries, Outcome, Output, Sees, Timing, Usage, testing::Probe};
use serde::Deserialize;

use support::{
    STEP, complete, ending, read, reasons, sendable, serve,
    server::{Dialect, Ending, Finish, Plan},
    swift,
};

const ALL: usize = usize::MAX;

/// As much of a chat completion chunk as a test needs.
#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl Carries for Chunk {
    const SEES: Sees = Sees::Finish;

    fn output(&self) -> Output<'_> {
        let usage = self.usage.as_ref().map(|tokens| Usage::of(tokens.prompt_tokens, tokens.completion_tokens));
        let carried = Output::none().and_usage(usage);
        let Some(choice) = self.choices.first() else { return carried };
        carried
            .and_text(choice.delta.content.as_deref().unwrap_or_default())
            .and_finish(choice.finish_reason.as_deref())
    }
}

/// Streams one answer of `plan` and reads at most `most` events of it.
async fn stream(probe: &Probe, dialect: Dialect, plan: &Plan, most: usize) -> Timing {
    // Loopback only; where other packages of the build ask for TLS, its provider must be there.
    let _already_set = rustls::crypto::ring::default_provider().install_default();
    let server = serve(plan);
    let http = reqwest::Client::builder().tls_certs_only([]).build().unwrap();
    let mut question = dialect.question(plan.model, "Which way to the harbour?", true);
    question["stream_options"] = serde_json::json!({ "include_usage": true });
    let url = format!("http://{}{}", server.address(), dialect.path(plan.model, true));
    let call = probe.chat("house", plan.model);
    let body = http.post(url).json(&question).send().await.unwrap().bytes_stream();
    let mut events =
        sendable(measured::measure(body.eventsource(), call, |payload| serde_json::from_str::<Chunk>(payload)));
    read(probe, &mut events, most).await;
    events.into_timing()
}

#[tokio::test]
async fn a_stream_of_text_is_measured_to_its_end() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let timing = stream(&probe, Dialect::OpenAiChat, &plan, ALL).await;
    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    assert_eq!(timing.usage, Usage::of(40, 4));
    assert_eq!((timing.outputs, reasons(&timing)), (3, vec!["stop"]));
    assert_eq!(timing.time_to_first_token, timing.time_to_first_chunk.map(|chunk| chunk + STEP));
    assert_eq!(probe.tree(), "chat swift-1\n");
    assert_eq!(probe.count("llmperf.internal.events"), 0.0);
}

#[tokio::test]
async fn a_stream_without_its_marker_is_whole_by_its_finish_reason() {
    let timing = stream(&Probe::new(), Dialect::OpenAiChat, &swift(Ending::Unmarked(Finish::Length)), ALL).await;
    assert_eq!((timing.outcome, reasons(&timing)), (Some(Outcome::Complete), vec!["length"]));
}

#[tokio::test]
async fn a_stream_that_is_left_early_is_cancelled() {
    let timing = stream(&Probe::new(), Dialect::OpenAiChat, &swift(Ending::Silent), 2).await;
    assert_eq!((ending(&timing), timing.outputs), ((Some(Outcome::Cancelled), None), 1));
}

#[tokio::test]
async fn a_payload_that_is_an_error_has_the_providers_code() {
    let probe = Probe::new();
    let timing = stream(&probe, Dialect::OpenAiChat, &swift(Ending::ErrorFrame), ALL).await;
    assert_eq!(ending(&timing), (Some(Outcome::Error), Some("engine_overloaded")));
    assert_eq!(probe.tree(), "chat swift-1 !\n");
}

#[tokio::test]
async fn an_error_event_has_the_providers_code_and_unknown_payloads_are_counted() {
    let probe = Probe::new();
    let timing = stream(&probe, Dialect::Anthropic, &swift(Ending::ErrorFrame), ALL).await;
    assert_eq!(ending(&timing), (Some(Outcome::Error), Some("overloaded_error")));
    assert_eq!(timing.outputs, 0, "nothing of it is a chunk of this dialect");
    assert!(probe.count("llmperf.internal.events") > 0.0);
}

#[tokio::test]
async fn a_stream_that_breaks_is_interrupted() {
    let probe = Probe::new();
    let timing = stream(&probe, Dialect::OpenAiChat, &swift(Ending::Cut), ALL).await;
    assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")));
    assert_eq!(probe.tree(), "chat swift-1 !\n");
}
