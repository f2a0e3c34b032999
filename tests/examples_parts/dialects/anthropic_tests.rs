//! Anthropic Messages as the local server speaks them.

use serde_json::{Value, json};

use super::asking::{complete, plan, streamed, whole};
use super::sse::Events;
use crate::server::{Dialect, Ending, Finish, Plan, SWIFT, THINKER, TOOLSMITH};

async fn events(plan: Plan) -> Events {
    let told = streamed(Dialect::Anthropic, plan).await;
    assert_eq!((told.status, told.content_type.as_str()), (200, "text/event-stream; charset=utf-8"));
    assert_eq!(told.request_id.as_deref(), Some("req_7"));
    let events = Events::of(told.text(), "\n");
    assert_eq!((events.comments, events.rest.as_str()), (1, ""));
    events
}

/// What the deltas of one block hold under this name.
fn deltas(events: &Events, block: usize, name: &str) -> String {
    let deltas = events.all("content_block_delta").into_iter().filter(|delta| delta["index"] == block);
    deltas.filter_map(|delta| Some(delta["delta"][name].as_str()?.to_owned())).collect()
}

const DELTA: &str = "content_block_delta";

#[tokio::test]
async fn text_is_one_block_and_a_ping_follows_its_start() {
    let events = events(complete(SWIFT)).await;
    let order = [
        "message_start",
        "content_block_start",
        "ping",
        DELTA,
        DELTA,
        DELTA,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(events.types(), order);
    assert_eq!(deltas(&events, 0, "text").split_whitespace().count(), 4);
    let message = &events.all("message_start")[0]["message"];
    assert_eq!(
        (&message["id"], &message["model"], &message["stop_reason"]),
        (&json!("msg_7"), &json!(SWIFT), &json!(null))
    );
    assert!(events.events.iter().any(|event| event.data.ends_with(' ')), "padding");
}

#[tokio::test]
async fn the_first_figures_are_provisional_and_the_last_are_the_plans() {
    let events = events(complete(THINKER)).await;
    let planned = |output: u32| {
        json!({
            "input_tokens": 30,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 10,
            "output_tokens": output,
        })
    };
    assert_eq!(events.all("message_start")[0]["message"]["usage"], planned(2));
    assert_eq!(events.all("message_delta")[0]["usage"], planned(6));
}

#[tokio::test]
async fn thinking_is_a_block_before_the_answer_and_is_signed() {
    let events = events(complete(THINKER)).await;
    let starts = events.all("content_block_start");
    assert_eq!(starts.iter().map(|start| &start["content_block"]["type"]).collect::<Vec<_>>(), ["thinking", "text"]);
    assert_eq!(deltas(&events, 0, "thinking").split_whitespace().count(), 2);
    assert!(!deltas(&events, 0, "signature").is_empty());
    assert_eq!(deltas(&events, 1, "text").split_whitespace().count(), 4);
    assert_eq!(events.all("content_block_stop").len(), 2);
    assert_eq!(events.all("ping").len(), 1);
}

#[tokio::test]
async fn a_tool_call_begins_with_an_empty_piece() {
    let events = events(complete(TOOLSMITH)).await;
    let block = &events.all("content_block_start")[0]["content_block"];
    assert_eq!((&block["type"], &block["name"], &block["input"]), (&json!("tool_use"), &json!("look_up"), &json!({})));
    let pieces = events.all(DELTA);
    assert_eq!((pieces.len(), &pieces[0]["delta"]["partial_json"]), (3, &json!("")));
    assert!(serde_json::from_str::<Value>(&deltas(&events, 0, "partial_json")).unwrap()["query"].is_string());
    assert_eq!(events.all("message_delta")[0]["delta"]["stop_reason"], "tool_use");
}

#[tokio::test]
async fn without_the_marker_the_reason_has_been_told() {
    let events = events(plan(SWIFT, Ending::Unmarked(Finish::Length))).await;
    assert_eq!(events.types().last().unwrap(), "message_delta");
    assert_eq!(events.all("message_delta")[0]["delta"]["stop_reason"], "max_tokens");
}

#[tokio::test]
async fn an_error_is_an_event_and_the_last() {
    let events = events(plan(SWIFT, Ending::ErrorFrame)).await;
    assert_eq!(events.types()[events.types().len() - 2..], [DELTA, "error"]);
    assert_eq!(events.all("error")[0]["error"]["type"], "overloaded_error");
}

#[tokio::test]
async fn a_cut_leaves_half_a_frame() {
    let told = streamed(Dialect::Anthropic, plan(SWIFT, Ending::Cut)).await;
    let events = Events::of(told.text(), "\n");
    assert!(told.broken && events.rest.starts_with("event: content_block_delta\n"), "{}", events.rest);
    assert_eq!(events.types().last().unwrap(), DELTA);
}

#[tokio::test]
async fn a_whole_answer_says_the_same() {
    for model in [SWIFT, THINKER, TOOLSMITH] {
        let events = events(complete(model)).await;
        let told = whole(Dialect::Anthropic, complete(model)).await.json();
        let end = &events.all("message_delta")[0];
        assert_eq!((&told["usage"], &told["stop_reason"]), (&end["usage"], &end["delta"]["stop_reason"]));
        for (index, block) in told["content"].as_array().unwrap().iter().enumerate() {
            match block["type"].as_str().unwrap() {
                "tool_use" => {
                    let input: Value = serde_json::from_str(&deltas(&events, index, "partial_json")).unwrap();
                    assert_eq!(block["input"], input);
                }
                kind => assert_eq!(block[kind], deltas(&events, index, kind)),
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_has_its_own_types() {
    for (status, kind) in [(429, "rate_limit_error"), (500, "api_error"), (529, "overloaded_error")] {
        let told = streamed(Dialect::Anthropic, plan(SWIFT, Ending::Refused(status))).await;
        let error = told.json();
        assert_eq!((told.status, &error["type"], &error["error"]["type"]), (status, &json!("error"), &json!(kind)));
    }
}
