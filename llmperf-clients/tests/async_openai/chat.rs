//! Chat completions.

use async_openai::{
    error::OpenAIError,
    types::chat::{
        ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, CreateChatCompletionRequest,
        CreateChatCompletionRequestArgs,
    },
};
use llmperf_clients::async_openai as measured;
use llmperf_core::{Call, Outcome, Timing, testing::Probe};

use crate::{
    ALL, client,
    support::{
        STEP, attribute, complete, ending, read, reasons, sendable, serve,
        server::{Ending, Finish, Plan},
        swift, thinker, toolsmith, usage,
    },
};

fn question(plan: &Plan) -> CreateChatCompletionRequest {
    CreateChatCompletionRequestArgs::default()
        .model(plan.model)
        .messages([ChatCompletionRequestUserMessage::from("Which way to the harbour?").into()])
        .temperature(0.2)
        .max_completion_tokens(64_u32)
        .stream_options(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None })
        .build()
        .unwrap()
}

fn call(probe: &Probe, request: &CreateChatCompletionRequest) -> Call {
    measured::describe(probe.chat("openai", request.model.clone()), request)
}

/// Streams one chat completion of `plan` and reads at most `most` chunks of it.
async fn stream(probe: &Probe, plan: &Plan, most: usize) -> Result<Timing, OpenAIError> {
    let server = serve(plan);
    // With the client's feature `byot`, which another package of the build may have, nobody else says so.
    let (client, request) = (client(&server), CreateChatCompletionRequest { stream: Some(true), ..question(plan) });
    let (chat, call) = (client.chat(), call(probe, &request));
    let mut reply = sendable(sendable(measured::open(call, chat.create_stream(request))).await?);
    read(probe, &mut reply, most).await;
    Ok(reply.into_timing())
}

#[tokio::test]
async fn a_stream_of_text_is_measured_to_its_end() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let timing = stream(&probe, &plan, ALL).await.unwrap();

    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    assert_eq!(timing.usage, usage(&plan).reasoning(0));
    assert_eq!(reasons(&timing), ["stop"]);
    assert!(timing.time_to_head.is_some());
    // The role frame is the first chunk, the frame after it the first output.
    assert_eq!(timing.time_to_first_chunk, timing.time_to_head);
    assert_eq!(timing.time_to_first_token, timing.time_to_head.map(|head| head + STEP));
    assert_eq!(timing.time_to_first_answer, timing.time_to_first_token);
    assert_eq!(timing.outputs, 3);

    assert_eq!(probe.tree(), "chat swift-1\n");
    assert_eq!(attribute(&probe, "gen_ai.response.model"), "swift-1");
    assert_eq!(attribute(&probe, "gen_ai.response.id"), "chatcmpl-0");
    assert_eq!(attribute(&probe, "gen_ai.request.temperature"), "0.2");
    assert_eq!(attribute(&probe, "gen_ai.request.max_tokens"), "64");
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}

#[tokio::test]
async fn a_tool_call_is_output_from_its_name_on() {
    let (probe, plan) = (Probe::new(), toolsmith(Ending::Complete(Finish::ToolCalls)));
    let timing = stream(&probe, &plan, ALL).await.unwrap();
    assert_eq!((timing.outputs, reasons(&timing)), (3, vec!["tool_calls"]));
    assert_eq!(timing.time_to_first_token, timing.time_to_first_chunk.map(|chunk| chunk + STEP));
}

#[tokio::test]
async fn reasoning_that_the_client_has_no_field_for_is_not_seen() {
    let (probe, plan) = (Probe::new(), thinker(complete()));
    let timing = stream(&probe, &plan, ALL).await.unwrap();
    assert_eq!(timing.outputs, 1);
    assert_eq!(timing.usage, usage(&plan).reasoning(2));
    assert_eq!(timing.time_to_first_token, timing.time_to_first_chunk.map(|chunk| chunk + 3 * STEP));
}

#[tokio::test]
async fn a_stream_without_its_marker_is_whole_by_its_finish_reason() {
    let timing = stream(&Probe::new(), &swift(Ending::Unmarked(Finish::Length)), ALL).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    assert_eq!(reasons(&timing), ["length"]);
}

#[tokio::test]
async fn a_stream_that_is_left_early_is_cancelled() {
    let probe = Probe::new();
    let timing = stream(&probe, &swift(Ending::Silent), 2).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Cancelled), None));
    assert_eq!(timing.outputs, 1);
    assert_eq!(probe.tree(), "chat swift-1\n");
}

#[tokio::test]
async fn an_error_inside_the_stream_has_the_providers_code() {
    let probe = Probe::new();
    let timing = stream(&probe, &swift(Ending::ErrorFrame), ALL).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Error), Some("engine_overloaded")));
    assert_eq!(timing.outputs, 3);
    assert_eq!(probe.tree(), "chat swift-1 !\n");
}

#[tokio::test]
async fn a_stream_that_breaks_is_interrupted() {
    let probe = Probe::new();
    let timing = stream(&probe, &swift(Ending::Cut), ALL).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")));
    assert_eq!(probe.tree(), "chat swift-1 !\n");
}

#[tokio::test]
async fn a_refused_request_has_the_providers_code() {
    let probe = Probe::new();
    let error = stream(&probe, &swift(Ending::Refused(400)), ALL).await.unwrap_err();
    assert!(matches!(error, OpenAIError::ApiError(_)), "the error passes through: {error}");
    assert_eq!(attribute(&probe, "error.type"), "internal_error");
    assert_eq!(attribute(&probe, "llmperf.outcome"), "error");
    assert_eq!(probe.tree(), "chat swift-1 !\n");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_refused_connection() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let (client, request) = (client(&server), question(&plan));
    drop(server);
    let error = measured::open(call(&probe, &request), client.chat().create_stream(request)).await.err().unwrap();
    assert!(matches!(error, OpenAIError::Reqwest(_)), "{error}");
    assert_eq!(attribute(&probe, "error.type"), "connection_refused");
}

#[tokio::test]
async fn a_whole_answer_is_measured() {
    let (probe, plan) = (Probe::new(), thinker(complete()));
    let server = serve(&plan);
    let (client, request) = (client(&server), question(&plan));
    let (chat, call) = (client.chat(), call(&probe, &request));
    let answer = sendable(measured::run(call, chat.create(request))).await.unwrap();
    assert_eq!(answer.usage.map(|usage| usage.completion_tokens), Some(4));

    assert_eq!(attribute(&probe, "llmperf.outcome"), "complete");
    assert_eq!(attribute(&probe, "gen_ai.usage.output_tokens"), "4");
    assert_eq!(attribute(&probe, "gen_ai.usage.reasoning.output_tokens"), "2");
    assert_eq!(attribute(&probe, "gen_ai.response.finish_reasons"), "[\"stop\"]");
    assert_eq!(attribute(&probe, "gen_ai.response.id"), "chatcmpl-0");
    assert_eq!(probe.tree(), "chat thinker-1\n");
}

#[tokio::test]
async fn a_whole_answer_that_is_refused_has_the_providers_code() {
    let (probe, plan) = (Probe::new(), swift(Ending::Refused(400)));
    let server = serve(&plan);
    let (client, request) = (client(&server), question(&plan));
    measured::run(call(&probe, &request), client.chat().create(request)).await.unwrap_err();
    assert_eq!(attribute(&probe, "error.type"), "internal_error");
}
