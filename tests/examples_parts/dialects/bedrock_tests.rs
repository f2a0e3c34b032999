//! Bedrock Converse as the local server speaks it.

use serde_json::{Value, json};

use super::asking::{complete, http, plan, streamed, whole};
use super::event_stream::{Message, messages};
use crate::server::{Dialect, Ending, Finish, Plan, SWIFT, Server, THINKER, TOOLSMITH};

async fn events(plan: Plan) -> Vec<Message> {
    let told = streamed(Dialect::Bedrock, plan).await;
    assert_eq!((told.status, told.content_type.as_str()), (200, "application/vnd.amazon.eventstream"));
    assert!(told.request_id.is_some());
    let (messages, rest) = messages(&told.body);
    assert!(rest.is_empty());
    assert!(messages.iter().all(|message| message.header(":content-type") == Some("application/json")));
    messages
}

fn order(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(Message::event).collect()
}

/// The texts at this place in the deltas of one block.
fn deltas(messages: &[Message], block: usize, pointer: &str) -> String {
    let deltas = messages.iter().filter(|message| message.payload["contentBlockIndex"] == block);
    deltas.filter_map(|message| message.payload["delta"].pointer(pointer)?.as_str()).collect()
}

fn payload<'a>(messages: &'a [Message], event: &str) -> &'a Value {
    &messages.iter().find(|message| message.event() == event).unwrap().payload
}

#[tokio::test]
async fn text_has_no_start_and_figures_come_last() {
    let messages = events(complete(SWIFT)).await;
    let delta = "contentBlockDelta";
    let planned = ["messageStart", delta, delta, delta, "contentBlockStop", "messageStop", "metadata"];
    assert_eq!(order(&messages), planned);
    assert_eq!(deltas(&messages, 0, "/text").split_whitespace().count(), 4);
    assert_eq!(payload(&messages, "messageStop")["stopReason"], "end_turn");
    let usage = json!({
        "inputTokens": 30,
        "cacheReadInputTokens": 10,
        "cacheWriteInputTokens": 0,
        "outputTokens": 4,
        "totalTokens": 44,
    });
    let metadata = payload(&messages, "metadata");
    assert_eq!((&metadata["usage"], &metadata["metrics"]["latencyMs"]), (&usage, &json!(3)));
    assert!(messages.iter().all(|message| message.payload["p"].is_string()), "padding");
}

#[tokio::test]
async fn reasoning_is_a_block_before_the_answer_and_is_signed() {
    let messages = events(complete(THINKER)).await;
    assert_eq!(deltas(&messages, 0, "/reasoningContent/text").split_whitespace().count(), 2);
    assert!(!deltas(&messages, 0, "/reasoningContent/signature").is_empty());
    assert_eq!(deltas(&messages, 1, "/text").split_whitespace().count(), 4);
    assert_eq!(payload(&messages, "metadata")["usage"]["outputTokens"], 6);
}

#[tokio::test]
async fn a_tool_call_is_named_by_the_start_of_its_block() {
    let messages = events(complete(TOOLSMITH)).await;
    let start = payload(&messages, "contentBlockStart");
    assert_eq!(start["start"]["toolUse"]["name"], "look_up");
    let input = deltas(&messages, 0, "/toolUse/input");
    assert!(serde_json::from_str::<Value>(&input).unwrap().is_object());
    assert_eq!(payload(&messages, "messageStop")["stopReason"], "tool_use");
}

#[tokio::test]
async fn without_the_marker_there_are_no_figures() {
    let messages = events(plan(SWIFT, Ending::Unmarked(Finish::Length))).await;
    assert_eq!(messages.last().unwrap().event(), "messageStop");
    assert_eq!(payload(&messages, "messageStop")["stopReason"], "max_tokens");
}

#[tokio::test]
async fn an_error_is_an_exception() {
    let messages = events(plan(SWIFT, Ending::ErrorFrame)).await;
    let (last, before) = messages.split_last().unwrap();
    assert_eq!(order(before).last(), Some(&"contentBlockDelta"));
    assert_eq!(last.header(":message-type"), Some("exception"));
    assert_eq!(last.header(":exception-type"), Some("modelStreamErrorException"));
    assert_eq!(last.payload["originalStatusCode"], 500);
}

#[tokio::test]
async fn a_cut_leaves_half_a_message() {
    let told = streamed(Dialect::Bedrock, plan(SWIFT, Ending::Cut)).await;
    let (messages, rest) = messages(&told.body);
    assert!(told.broken);
    assert_eq!(messages.len(), 4);
    assert!(!rest.is_empty());
}

#[tokio::test]
async fn a_whole_answer_says_the_same() {
    let told = whole(Dialect::Bedrock, complete(THINKER)).await.json();
    let content = &told["output"]["message"]["content"];
    let messages = events(complete(THINKER)).await;
    assert_eq!(content[0]["reasoningContent"]["reasoningText"]["text"], deltas(&messages, 0, "/reasoningContent/text"));
    assert_eq!(content[1]["text"], deltas(&messages, 1, "/text"));
    assert_eq!(told["usage"], payload(&messages, "metadata")["usage"]);
    let told = whole(Dialect::Bedrock, complete(TOOLSMITH)).await.json();
    assert!(told["output"]["message"]["content"][0]["toolUse"]["input"]["query"].is_string());
    assert_eq!(told["stopReason"], "tool_use");
}

#[tokio::test]
async fn a_refusal_is_named_by_a_header() {
    for (status, kind) in [(429, "ThrottlingException"), (503, "ServiceUnavailableException")] {
        let told = streamed(Dialect::Bedrock, plan(SWIFT, Ending::Refused(status))).await;
        assert_eq!((told.status, told.error_type.as_deref()), (status, Some(kind)));
        assert!(told.json()["message"].is_string());
    }
}

#[tokio::test]
async fn the_path_may_be_encoded() {
    let server = Server::start(|_| complete(SWIFT)).unwrap();
    let body = Dialect::Bedrock.question(SWIFT, "Which way?", true);
    for (path, status) in
        [("/model/swift%2D1/converse", 200), ("/model/a%3Ab/converse", 404), ("/model/swift-1/invoke", 404)]
    {
        let response = http().post(server.url(path)).json(&body).send().await.unwrap();
        assert_eq!(response.status(), status, "{path}");
    }
}
