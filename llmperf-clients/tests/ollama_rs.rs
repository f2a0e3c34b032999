//! The real ollama-rs against the local server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each client needs some of them")]
mod support;

use futures::StreamExt as _;
use llmperf_clients::ollama_rs as measured;
use llmperf_core::{Outcome, Timing, Usage, testing::Probe};
use ollama_rs::{
    Ollama,
    error::OllamaError,
    generation::{
        chat::{ChatMessage, request::ChatMessageRequest},
        completion::request::GenerationRequest,
    },
};

use support::{
    STEP, attribute, complete, ending, read, reasons, sendable, serve,
    server::{Ending, Finish, Plan, Server},
    swift, thinker, toolsmith,
};

const ALL: usize = usize::MAX;

fn client(server: &Server) -> Ollama {
    Ollama::try_new(format!("http://{}", server.address())).unwrap()
}

fn message(plan: &Plan) -> ChatMessageRequest {
    ChatMessageRequest::new(plan.model.into(), vec![ChatMessage::user("Which way to the harbour?".into())])
}

/// Ollama tells of no cache.
fn usage(plan: &Plan) -> Usage {
    Usage::of(plan.prompt_tokens.into(), plan.output_tokens().into())
}

/// Streams one chat of `plan` and reads at most `most` messages of it.
async fn chat(probe: &Probe, plan: &Plan, most: usize) -> Result<Timing, OllamaError> {
    let server = serve(plan);
    let client = client(&server);
    let request = client.send_chat_messages_stream(message(plan));
    let mut reply = sendable(sendable(measured::open(probe.chat("ollama", plan.model), request)).await?);
    read(probe, &mut reply, most).await;
    Ok(reply.into_timing())
}

/// Streams one completion of `plan` and reads it to its end or its first error.
async fn generate(probe: &Probe, plan: &Plan) -> Timing {
    let server = serve(plan);
    let client = client(&server);
    let request = client.generate_stream(GenerationRequest::new(plan.model.into(), "Which way?"));
    let mut reply = measured::open(probe.chat("ollama", plan.model), request).await.unwrap();
    read(probe, &mut reply, ALL).await;
    reply.into_timing()
}

#[test]
fn a_call_is_named_by_its_request() {
    let call = format!("{:?}", measured::call(&message(&swift(complete()))));
    assert!(call.contains("ollama") && call.contains("swift-1"), "{call}");
    let call = format!("{:?}", measured::call(&GenerationRequest::new("swift-1".into(), "Which way?")));
    assert!(call.contains("ollama") && call.contains("swift-1"), "{call}");
}

#[tokio::test]
async fn a_stream_of_text_is_measured_to_its_end() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let timing = chat(&probe, &plan, ALL).await.unwrap();

    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    assert_eq!(timing.usage, usage(&plan));
    assert_eq!(reasons(&timing), [""; 0], "the client has no field for it");
    assert!(timing.time_to_head.is_some());
    assert_eq!(timing.time_to_first_token, timing.time_to_first_chunk.map(|chunk| chunk + STEP));
    assert_eq!(timing.outputs, 3);

    assert_eq!(probe.tree(), "chat swift-1\n");
    assert_eq!(attribute(&probe, "gen_ai.response.model"), "swift-1");
    for time in ["total", "load", "prompt", "generation"] {
        let seconds = attribute(&probe, &format!("llmperf.server_reported.{time}_time"));
        assert!(seconds.parse::<f64>().unwrap() < 60.0, "{time}: {seconds}");
    }
}

#[tokio::test]
async fn reasoning_is_output_but_no_answer() {
    let timing = chat(&Probe::new(), &thinker(complete()), ALL).await.unwrap();
    assert_eq!(timing.outputs, 3);
    assert_eq!(timing.time_to_first_answer, timing.time_to_first_token.map(|token| token + 2 * STEP));
}

#[tokio::test]
async fn a_tool_call_comes_whole() {
    let timing = chat(&Probe::new(), &toolsmith(Ending::Complete(Finish::ToolCalls)), ALL).await.unwrap();
    assert_eq!((timing.outputs, timing.outcome), (1, Some(Outcome::Complete)));
}

#[tokio::test]
async fn a_stream_that_is_left_early_is_cancelled() {
    let probe = Probe::new();
    let timing = chat(&probe, &swift(Ending::Silent), 2).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Cancelled), None));
    assert_eq!(probe.tree(), "chat swift-1\n");
}

#[tokio::test]
async fn a_stream_that_breaks_or_lacks_its_marker_is_interrupted() {
    // The client drops the line of an error, so that such a stream lacks its marker too.
    for plan in [swift(Ending::Cut), swift(Ending::Unmarked(Finish::Stop)), swift(Ending::ErrorFrame)] {
        let probe = Probe::new();
        let timing = chat(&probe, &plan, ALL).await.unwrap();
        assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")), "{:?}", plan.ending);
        assert_eq!(probe.tree(), "chat swift-1 !\n");
    }
}

#[tokio::test]
async fn a_refused_request_is_an_error_of_the_client() {
    let probe = Probe::new();
    chat(&probe, &swift(Ending::Refused(503)), ALL).await.unwrap_err();
    assert_eq!(attribute(&probe, "error.type"), "ollama_rs::error::OllamaError");
    assert_eq!(probe.tree(), "chat swift-1 !\n");
}

#[tokio::test]
async fn a_completion_is_measured_to_its_end() {
    let (probe, plan) = (Probe::new(), thinker(complete()));
    let timing = generate(&probe, &plan).await;
    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    assert_eq!(timing.usage, usage(&plan));
    // How many of them a read holds is the network's affair.
    assert_eq!(timing.outputs, 3);
    assert!(timing.time_to_first_token <= timing.time_to_first_answer);
    assert_ne!(attribute(&probe, "llmperf.server_reported.total_time"), "");
    assert_eq!(probe.tree(), "chat thinker-1\n");
}

#[tokio::test]
async fn a_completion_that_breaks_or_is_left_ends_as_such() {
    let timing = generate(&Probe::new(), &swift(Ending::Cut)).await;
    assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")));

    let (probe, plan) = (Probe::new(), swift(Ending::Silent));
    let server = serve(&plan);
    let client = client(&server);
    let stream = client.generate_stream(GenerationRequest::new(plan.model.into(), "Which way?")).await.unwrap();
    let mut reply = measured::measure(stream, probe.chat("ollama", plan.model));
    reply.next().await.unwrap().unwrap();
    assert_eq!(ending(&reply.into_timing()), (Some(Outcome::Cancelled), None));
}

#[tokio::test]
async fn a_whole_answer_is_measured() {
    let (probe, plan) = (Probe::new(), thinker(complete()));
    let server = serve(&plan);
    let client = client(&server);
    let answer = measured::run(probe.chat("ollama", plan.model), client.send_chat_messages(message(&plan))).await;
    assert!(answer.unwrap().message.thinking.is_some());

    assert_eq!(attribute(&probe, "llmperf.outcome"), "complete");
    assert_eq!(attribute(&probe, "gen_ai.usage.output_tokens"), "4");
    assert_ne!(attribute(&probe, "llmperf.server_reported.generation_time"), "");
    assert_eq!(probe.tree(), "chat thinker-1\n");
}

#[tokio::test]
async fn a_whole_completion_is_measured() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let client = client(&server);
    let request = client.generate(GenerationRequest::new(plan.model.into(), "Which way?"));
    measured::run(probe.chat("ollama", plan.model), request).await.unwrap();
    assert_eq!(attribute(&probe, "gen_ai.usage.input_tokens"), "40");
    assert_ne!(attribute(&probe, "llmperf.server_reported.prompt_time"), "");
}
