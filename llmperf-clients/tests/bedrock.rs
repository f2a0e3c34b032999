//! The real Bedrock SDK against the local server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each client needs some of them")]
mod support;

use aws_sdk_bedrockruntime::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region, retry::RetryConfig},
    error::SdkError,
    operation::{
        RequestId as _,
        converse_stream::{ConverseStreamError, builders::ConverseStreamFluentBuilder},
    },
    types::{ContentBlock, ConversationRole, InferenceConfiguration, Message},
};
use llmperf_clients::bedrock as measured;
use llmperf_core::{Call, Outcome, Timing, testing::Probe};

use support::{
    STEP, attribute, complete, ending, read, reasons, sendable, serve,
    server::{Ending, Finish, Plan, Server},
    swift, thinker, toolsmith, usage,
};

const ALL: usize = usize::MAX;

fn client(server: &Server) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::from_static("local"))
        .credentials_provider(Credentials::new("none", "none", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .endpoint_url(format!("http://{}", server.address()))
        .build();
    Client::from_conf(config)
}

fn message() -> Message {
    let text = ContentBlock::Text("Which way to the harbour?".into());
    Message::builder().role(ConversationRole::User).content(text).build().unwrap()
}

fn question(client: &Client, plan: &Plan) -> ConverseStreamFluentBuilder {
    let limits = InferenceConfiguration::builder().max_tokens(64).temperature(0.2).build();
    client.converse_stream().model_id(plan.model).messages(message()).inference_config(limits)
}

fn call(probe: &Probe, plan: &Plan, request: &ConverseStreamFluentBuilder) -> Call {
    measured::describe(probe.chat("aws.bedrock", plan.model), request)
}

/// Streams one answer of `plan` and reads at most `most` events of it.
async fn stream(probe: &Probe, plan: &Plan, most: usize) -> Result<Timing, SdkError<ConverseStreamError>> {
    let server = serve(plan);
    let client = client(&server);
    let request = question(&client, plan);
    let mut reply = sendable(sendable(measured::open(call(probe, plan, &request), request.send())).await?);
    read(probe, &mut reply, most).await;
    Ok(reply.into_timing())
}

#[test]
fn a_call_is_named_by_its_request() {
    let config = Config::builder().behavior_version(BehaviorVersion::latest()).build();
    let request = Client::from_conf(config).converse().model_id("nova");
    let call = format!("{:?}", measured::call(&request));
    assert!(call.contains("aws.bedrock") && call.contains("nova"), "{call}");
}

#[tokio::test]
async fn a_stream_of_text_is_measured_to_its_end() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let timing = stream(&probe, &plan, ALL).await.unwrap();

    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    // The service counts the cached part of the input beside the rest.
    assert_eq!(timing.usage, usage(&plan).cache_write(0));
    assert_eq!(reasons(&timing), ["end_turn"]);
    assert!(timing.time_to_head.is_some());
    assert_eq!(timing.time_to_first_token, timing.time_to_first_chunk.map(|chunk| chunk + STEP));
    assert_eq!(timing.outputs, 3);

    assert_eq!(probe.tree(), "chat swift-1\n");
    assert_eq!(attribute(&probe, "gen_ai.request.max_tokens"), "64");
    assert_eq!(attribute(&probe, "gen_ai.request.temperature"), "0.2");
    assert_ne!(attribute(&probe, "llmperf.server_reported.total_time"), "");
    assert_ne!(attribute(&probe, "aws.request_id"), "");
}

#[tokio::test]
async fn a_receiver_is_received_from_in_its_own_shape() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let client = client(&server);
    let opened = question(&client, &plan).send().await.unwrap();
    let id = opened.request_id().map(str::to_owned);
    let mut reply = measured::measure(opened, probe.chat("aws.bedrock", plan.model));
    assert_eq!(reply.get_ref().request_id(), id.as_deref());
    let mut events = 0;
    while let Some(_event) = reply.recv().await.unwrap() {
        events += 1;
    }
    assert_eq!(ending(&reply.timing()), (Some(Outcome::Complete), None));
    assert_eq!(events, 1 + 3 + 1 + 1 + 1, "start, deltas, block stop, message stop, metadata");
    assert!(reply.recv().await.unwrap().is_none(), "after the end there is nothing");
}

#[tokio::test]
async fn a_receive_that_was_given_up_loses_nothing() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let client = client(&server);
    let request = question(&client, &plan);
    let mut reply = measured::open(call(&probe, &plan, &request), request.send()).await.unwrap();
    let mut events = 0;
    loop {
        // Gives up at once where nothing is there yet.
        tokio::select! {
            biased;
            event = reply.recv() => match event.unwrap() {
                Some(_) => events += 1,
                None => break,
            },
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(events, 7);
    assert_eq!(ending(&reply.timing()), (Some(Outcome::Complete), None));
}

#[tokio::test]
async fn reasoning_is_output_but_no_answer() {
    let timing = stream(&Probe::new(), &thinker(complete()), ALL).await.unwrap();
    assert_eq!(timing.outputs, 3);
    assert!(timing.time_to_first_token < timing.time_to_first_answer);
}

#[tokio::test]
async fn a_tool_call_is_output_from_its_name_on() {
    let timing = stream(&Probe::new(), &toolsmith(Ending::Complete(Finish::ToolCalls)), ALL).await.unwrap();
    assert_eq!((timing.outputs, reasons(&timing)), (3, vec!["tool_use"]));
}

#[tokio::test]
async fn a_stream_without_its_metadata_is_whole_by_its_stop_reason() {
    let timing = stream(&Probe::new(), &swift(Ending::Unmarked(Finish::Length)), ALL).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    assert_eq!(reasons(&timing), ["max_tokens"]);
    assert!(timing.usage.is_empty());
}

#[tokio::test]
async fn a_stream_that_is_left_early_is_cancelled() {
    let probe = Probe::new();
    let timing = stream(&probe, &swift(Ending::Silent), 2).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Cancelled), None));
    assert_eq!(probe.tree(), "chat swift-1\n");
}

#[tokio::test]
async fn an_exception_inside_the_stream_has_its_name() {
    let probe = Probe::new();
    let timing = stream(&probe, &swift(Ending::ErrorFrame), ALL).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Error), Some("modelStreamErrorException")));
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
async fn a_refused_request_has_the_services_code() {
    let probe = Probe::new();
    let error = stream(&probe, &swift(Ending::Refused(429)), ALL).await.unwrap_err();
    assert!(error.as_service_error().is_some_and(ConverseStreamError::is_throttling_exception), "{error:?}");
    assert_eq!(attribute(&probe, "error.type"), "ThrottlingException");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_refused_connection() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let client = client(&server);
    drop(server);
    let request = question(&client, &plan);
    measured::open(call(&probe, &plan, &request), request.send()).await.err().unwrap();
    assert_eq!(attribute(&probe, "error.type"), "connection_refused");
}

#[tokio::test]
async fn a_whole_answer_is_measured() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let server = serve(&plan);
    let client = client(&server);
    let request = client.converse().model_id(plan.model).messages(message());
    measured::run(measured::describe(probe.chat("aws.bedrock", plan.model), &request), request.send()).await.unwrap();

    assert_eq!(attribute(&probe, "llmperf.outcome"), "complete");
    assert_eq!(attribute(&probe, "gen_ai.usage.input_tokens"), "40");
    assert_eq!(attribute(&probe, "gen_ai.usage.cache_read.input_tokens"), "16");
    assert_eq!(attribute(&probe, "gen_ai.response.finish_reasons"), "[\"end_turn\"]");
    assert_ne!(attribute(&probe, "llmperf.server_reported.total_time"), "");
    assert_eq!(probe.tree(), "chat swift-1\n");
}
