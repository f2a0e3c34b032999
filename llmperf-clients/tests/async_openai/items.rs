//! Items that the local server does not send: several choices, figures of other hosts, errors of all sorts.

use async_openai::{
    error::{ApiError, ApiErrorResponse, OpenAIError, StreamError},
    types::{chat::CreateChatCompletionStreamResponse, responses::ResponseStreamEvent},
};
use futures::{StreamExt as _, stream};
use llmperf_clients::async_openai as measured;
use llmperf_core::{Outcome, Timing, Usage, testing::Probe};
use serde_json::{Value, json};

use crate::support::{attribute, ending, reasons};

type Chunk = CreateChatCompletionStreamResponse;

fn chunk(choices: &Value, usage: &Value) -> Result<Chunk, OpenAIError> {
    let chunk = json!({ "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m-1",
        "service_tier": "flex", "choices": choices, "usage": usage });
    Ok(serde_json::from_value(chunk).unwrap())
}

fn choice(index: u32, content: &str, finish: Option<&str>) -> Value {
    json!({ "index": index, "delta": { "content": content }, "finish_reason": finish })
}

async fn timing(items: Vec<Result<Chunk, OpenAIError>>) -> Timing {
    let probe = Probe::new();
    let mut reply = measured::measure(stream::iter(items), probe.chat("openai", "m-1"));
    while reply.next().await.is_some() {}
    reply.into_timing()
}

#[tokio::test]
async fn several_choices_in_one_chunk_are_told_each() {
    let both = json!([choice(0, "a", None), choice(1, "b", None)]);
    let ends = json!([choice(0, "", Some("stop")), choice(1, "", Some("length"))]);
    let timing = timing(vec![chunk(&both, &Value::Null), chunk(&ends, &Value::Null)]).await;
    assert_eq!(ending(&timing), (Some(Outcome::Complete), None));
    assert_eq!(reasons(&timing), ["stop", "length"]);
    assert_eq!((timing.chunks, timing.outputs), (2, 1), "one event, whatever it holds");
}

#[tokio::test]
async fn a_choice_without_its_finish_reason_is_cut() {
    let both = json!([choice(0, "a", None), choice(1, "b", None)]);
    let one_ends = json!([choice(0, "", Some("stop"))]);
    let timing = timing(vec![chunk(&both, &Value::Null), chunk(&one_ends, &Value::Null)]).await;
    assert_eq!(ending(&timing), (Some(Outcome::Interrupted), Some("stream_interrupted")));
}

#[tokio::test]
async fn reasoning_that_stands_outside_the_output_is_added() {
    let tokens = |completion: u32, reasoning: u32, total: u32| {
        json!({ "prompt_tokens": 12, "completion_tokens": completion, "total_tokens": total,
            "completion_tokens_details": { "reasoning_tokens": reasoning } })
    };
    for usage in [tokens(1, 290, 303), tokens(291, 290, 303)] {
        let timing = timing(vec![chunk(&json!([choice(0, "a", Some("stop"))]), &usage)]).await;
        assert_eq!(timing.usage, Usage::of(12, 291).reasoning(290), "{usage}");
    }
}

#[tokio::test]
async fn errors_are_named_by_what_they_say() {
    let unparsed = |payload: &str| {
        let error = serde_json::from_str::<Chunk>(payload).unwrap_err();
        OpenAIError::JSONDeserialize(error, payload.into())
    };
    let refused = |code: Option<&str>, kind: Option<&str>| {
        let api_error = ApiError { code: code.map(Into::into), r#type: kind.map(Into::into), ..ApiError::default() };
        OpenAIError::ApiError(ApiErrorResponse { status_code: reqwest::StatusCode::IM_A_TEAPOT, api_error })
    };
    let broken = |words: &str| OpenAIError::StreamError(Box::new(StreamError::EventStream(words.into())));
    let cases = [
        (unparsed(r#"{"error":{"message":"no","code":null,"type":"server_error"}}"#), "server_error"),
        (unparsed(r#"{"object":"error","message":"no","code":400}"#), "400"),
        (unparsed(r#"{"choices":[{"finish_reason":"newly_invented"}]}"#), "async_openai::error::OpenAIError"),
        (refused(Some("insufficient_quota"), Some("requests")), "insufficient_quota"),
        (refused(Some(""), Some("requests")), "requests"),
        (refused(None, None), "418"),
        (broken("UTF8 error: invalid"), "malformed_stream"),
        (OpenAIError::InvalidArgument("the whole prompt".into()), "async_openai::error::OpenAIError"),
    ];
    for (error, expected) in cases {
        let said = error.to_string();
        let timing = timing(vec![chunk(&json!([choice(0, "a", None)]), &Value::Null), Err(error)]).await;
        assert_eq!(ending(&timing), (Some(Outcome::Error), Some(expected)), "{said}");
    }
}

#[tokio::test]
async fn a_connection_that_broke_after_all_was_said_is_whole() {
    let end = chunk(&json!([choice(0, "a", Some("stop"))]), &Value::Null);
    let broken = OpenAIError::StreamError(Box::new(StreamError::EventStream("Transport error: reset".into())));
    assert_eq!(ending(&timing(vec![end, Err(broken)]).await), (Some(Outcome::Complete), None));
}

#[tokio::test]
async fn the_tier_that_served_is_on_the_span() {
    let probe = Probe::new();
    let items = [chunk(&json!([choice(0, "a", Some("stop"))]), &Value::Null)];
    let mut reply = measured::measure(stream::iter(items), probe.chat("openai", "m-1"));
    while reply.next().await.is_some() {}
    assert_eq!(attribute(&probe, "openai.response.service_tier"), "flex");
}

#[tokio::test]
async fn a_response_that_failed_has_its_code_and_its_usage() {
    let failed: ResponseStreamEvent = serde_json::from_value(json!({ "type": "response.failed", "sequence_number": 1,
        "response": { "id": "r1", "object": "response", "created_at": 1, "model": "m-1", "status": "failed", "output": [],
            "error": { "code": "vector_store_timeout", "message": "no" },
            "usage": { "input_tokens": 7, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 2,
                "output_tokens_details": { "reasoning_tokens": 1 }, "total_tokens": 9 } } }))
    .unwrap();
    let probe = Probe::new();
    let mut reply = measured::measure(stream::iter([Ok(failed)]), probe.chat("openai", "m-1"));
    while reply.next().await.is_some() {}
    let timing = reply.into_timing();
    assert_eq!(ending(&timing), (Some(Outcome::Error), Some("vector_store_timeout")));
    assert_eq!((timing.usage.input_tokens(), timing.usage.output_tokens()), (Some(7), Some(2)));
}
