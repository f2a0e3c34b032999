//! Cohere's chat as the local server speaks it.

use serde_json::{Value, json};

use super::asking::{complete, plan, streamed, whole};
use super::sse::Events;
use crate::server::{Burst, Dialect, Ending, Finish, Kind, Piece, Plan, SWIFT, THINKER, TOOLSMITH};

async fn events(plan: Plan) -> Events {
    let told = streamed(Dialect::Cohere, plan).await;
    assert_eq!((told.status, told.content_type.as_str()), (200, "text/event-stream"));
    let events = Events::of(told.text(), "\n");
    assert_eq!((events.comments, events.rest.as_str()), (1, ""));
    events
}

/// What the deltas of one type hold at this place.
fn joined(events: &Events, kind: &str, pointer: &str) -> String {
    let deltas = events.all(kind);
    deltas.iter().filter_map(|delta| delta["delta"]["message"].pointer(pointer)?.as_str()).collect()
}

fn usage(output: u32, billed: u32) -> Value {
    json!({
        "billed_units": { "input_tokens": 20, "output_tokens": billed },
        "tokens": { "input_tokens": 40, "output_tokens": output },
        "cached_tokens": 10,
    })
}

#[tokio::test]
async fn text_is_numbered_content_and_done_follows_the_end() {
    let events = events(complete(SWIFT)).await;
    let delta = "content-delta";
    let order = ["message-start", "content-start", delta, delta, delta, "content-end", "message-end"];
    assert_eq!(events.types(), order);
    assert_eq!(joined(&events, delta, "/content/text").split_whitespace().count(), 4);
    let end = &events.all("message-end")[0]["delta"];
    assert_eq!((&end["finish_reason"], &end["usage"]), (&json!("COMPLETE"), &usage(4, 2)));
    let last = events.events.last().unwrap();
    assert_eq!((last.data.as_str(), &last.name), ("[DONE]", &None));
}

#[tokio::test]
async fn thinking_is_content_of_its_own_kind() {
    let events = events(complete(THINKER)).await;
    let starts = events.all("content-start");
    let kinds: Vec<_> = starts.iter().map(|start| &start["delta"]["message"]["content"]["type"]).collect();
    assert_eq!(kinds, ["thinking", "text"]);
    assert_eq!(joined(&events, "content-delta", "/content/thinking").split_whitespace().count(), 2);
    assert_eq!((&starts[0]["index"], &starts[1]["index"]), (&json!(0), &json!(1)));
    assert_eq!(events.all("message-end")[0]["delta"]["usage"], usage(6, 3));
}

#[tokio::test]
async fn a_tool_call_is_planned_named_and_given_piece_by_piece() {
    let events = events(complete(TOOLSMITH)).await;
    let delta = "tool-call-delta";
    let order = ["message-start", "tool-plan-delta", "tool-call-start", delta, delta, "tool-call-end", "message-end"];
    assert_eq!(events.types(), order);
    assert!(!joined(&events, "tool-plan-delta", "/tool_plan").is_empty());
    assert_eq!(joined(&events, "tool-call-start", "/tool_calls/function/name"), "look_up");
    let arguments = joined(&events, delta, "/tool_calls/function/arguments");
    assert!(serde_json::from_str::<Value>(&arguments).unwrap()["query"].is_string());
    assert_eq!(events.all("message-end")[0]["delta"]["finish_reason"], "TOOL_CALL");
}

#[tokio::test]
async fn text_before_a_tool_call_is_its_plan() {
    let mut plan = complete(TOOLSMITH);
    let piece = Piece::Output { kind: Kind::Text, tokens: 3 };
    plan.bursts.insert(2, Burst { after: plan.tail, pieces: vec![piece] });
    let planned = events(plan.clone()).await;
    let said = joined(&planned, "tool-plan-delta", "/tool_plan");
    assert_eq!((planned.all("tool-plan-delta").len(), said.split_whitespace().count()), (1, 3));
    assert_eq!(whole(Dialect::Cohere, plan).await.json()["message"]["tool_plan"], said);
}

#[tokio::test]
async fn without_the_marker_no_reason_is_told() {
    let events = events(plan(SWIFT, Ending::Unmarked(Finish::Stop))).await;
    assert_eq!(events.types().last().unwrap(), "content-end");
    assert!(events.events.iter().all(|event| event.data != "[DONE]"));
}

#[tokio::test]
async fn an_error_is_a_reason_of_the_end() {
    let events = events(plan(SWIFT, Ending::ErrorFrame)).await;
    assert_eq!(events.types()[events.types().len() - 2..], ["content-delta", "message-end"]);
    let end = &events.all("message-end")[0]["delta"];
    assert_eq!((&end["finish_reason"], end["error"].is_string()), (&json!("ERROR"), true));
}

#[tokio::test]
async fn length_is_a_reason() {
    let events = events(plan(SWIFT, Ending::Complete(Finish::Length))).await;
    assert_eq!(events.all("message-end")[0]["delta"]["finish_reason"], "MAX_TOKENS");
}

#[tokio::test]
async fn a_whole_answer_says_the_same() {
    let events = events(complete(THINKER)).await;
    let told = whole(Dialect::Cohere, complete(THINKER)).await.json();
    let content = &told["message"]["content"];
    assert_eq!(content[0]["thinking"], joined(&events, "content-delta", "/content/thinking"));
    assert_eq!(content[1]["text"], joined(&events, "content-delta", "/content/text"));
    assert_eq!((&told["finish_reason"], &told["usage"]), (&json!("COMPLETE"), &usage(6, 3)));
    let told = whole(Dialect::Cohere, complete(TOOLSMITH)).await.json();
    assert_eq!(told["message"]["tool_calls"][0]["function"]["name"], "look_up");
    assert!(told["message"]["tool_plan"].is_string());
}

#[tokio::test]
async fn a_refusal_is_a_message() {
    let told = streamed(Dialect::Cohere, plan(SWIFT, Ending::Refused(429))).await;
    assert_eq!((told.status, told.json()), (429, json!({ "message": "Rate limit reached." })));
}
