//! Responses.

use async_openai::error::OpenAIError;
use async_openai::types::responses::{CreateResponse, CreateResponseArgs};
use llmperf_clients::async_openai as measured;
use llmperf_core::{Call, FinishKind, Outcome, Timing, testing::Probe};

use crate::{
    ALL, client,
    support::{
        STEP, attribute, complete, ending, read, reasons, serve,
        server::{Ending, Finish, Plan},
        swift, thinker, toolsmith, usage,
    },
};

fn question(plan: &Plan) -> CreateResponse {
    CreateResponseArgs::default().model(plan.model).input("Which way to the harbour?").top_p(0.9).build().unwrap()
}

fn call(probe: &Probe, plan: &Plan) -> Call {
    measured::describe(probe.chat("openai", plan.model), &question(plan))
}

/// Streams one response of `plan` and reads at most `most` events of it.
async fn stream(probe: &Probe, plan: &Plan, most: usize) -> Result<Timing, OpenAIError> {
    let server = serve(plan);
    let client = client(&server);
    // With the client's feature `byot`, which another package of the build may have, nobody else says so.
    let request = CreateResponse { stream: Some(true), ..question(plan) };
    let request = client.responses().create_stream(request).await?;
    let mut reply = measured::measure(request, call(probe, plan));
    read(probe, &mut reply, most).await;
    Ok(reply.into_timing())
}

#[tokio::test]
async fn a_stream_of_text_is_measured_to_its_end() {
    let (probe, plan) = (Probe::new(), swift(complete()));
    let timing = stream(&probe, &plan, ALL).await.unwrap();

    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    assert_eq!(timing.usage, usage(&plan).reasoning(0));
    assert_eq!(reasons(&timing), ["completed"]);
    // Created, in progress, the item, its part: then the first output. What is told again when it is done is none.
    assert_eq!(timing.time_to_first_token, timing.time_to_first_chunk.map(|chunk| chunk + 4 * STEP));
    assert_eq!(timing.outputs, 3);

    assert_eq!(probe.tree(), "chat swift-1\n");
    assert_eq!(attribute(&probe, "gen_ai.response.model"), "swift-1");
    assert_eq!(attribute(&probe, "gen_ai.response.id"), "resp_0");
    assert_eq!(attribute(&probe, "gen_ai.request.top_p"), "0.9");
}

#[tokio::test]
async fn reasoning_is_output_but_no_answer() {
    let (probe, plan) = (Probe::new(), thinker(complete()));
    let timing = stream(&probe, &plan, ALL).await.unwrap();
    assert_eq!(timing.outputs, 3);
    assert!(timing.time_to_first_token < timing.time_to_first_answer);
    assert_eq!(timing.usage, usage(&plan).reasoning(2));
}

#[tokio::test]
async fn a_tool_call_is_output_from_its_name_on() {
    let timing = stream(&Probe::new(), &toolsmith(Ending::Complete(Finish::ToolCalls)), ALL).await.unwrap();
    assert_eq!((timing.outputs, reasons(&timing)), (3, vec!["completed"]));
    assert_eq!(timing.finish_reasons[0].kind, FinishKind::ToolCall, "the caller has to answer it");
}

#[tokio::test]
async fn an_answer_that_met_its_limit_is_complete() {
    let timing = stream(&Probe::new(), &swift(Ending::Complete(Finish::Length)), ALL).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    assert_eq!(reasons(&timing), ["incomplete"]);
    assert_eq!(timing.finish_reasons[0].kind, FinishKind::Length);
}

#[tokio::test]
async fn a_stream_without_its_terminal_event_is_interrupted() {
    for plan in [swift(Ending::Unmarked(Finish::Stop)), swift(Ending::Cut)] {
        let probe = Probe::new();
        let timing = stream(&probe, &plan, ALL).await.unwrap();
        assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")), "{:?}", plan.ending);
        assert_eq!(probe.tree(), "chat swift-1 !\n");
    }
}

#[tokio::test]
async fn a_stream_that_is_left_early_is_cancelled() {
    let timing = stream(&Probe::new(), &swift(Ending::Silent), 5).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Cancelled), None));
    assert_eq!(timing.outputs, 1);
}

#[tokio::test]
async fn an_error_event_has_the_providers_code() {
    let probe = Probe::new();
    let timing = stream(&probe, &swift(Ending::ErrorFrame), ALL).await.unwrap();
    assert_eq!(ending(&timing), (Some(Outcome::Error), Some("server_error")));
    assert_eq!(probe.tree(), "chat swift-1 !\n");
}

#[tokio::test]
async fn a_whole_answer_is_measured() {
    let (probe, plan) = (Probe::new(), thinker(complete()));
    let server = serve(&plan);
    let client = client(&server);
    measured::run(call(&probe, &plan), client.responses().create(question(&plan))).await.unwrap();

    assert_eq!(attribute(&probe, "llmperf.outcome"), "complete");
    assert_eq!(attribute(&probe, "gen_ai.usage.input_tokens"), "40");
    assert_eq!(attribute(&probe, "gen_ai.usage.output_tokens"), "4");
    assert_eq!(attribute(&probe, "gen_ai.response.finish_reasons"), "[\"completed\"]");
    assert_eq!(attribute(&probe, "gen_ai.response.id"), "resp_0");
}
