//! OpenAI Responses as the local server speaks it.

use serde_json::{Value, json};

use super::asking::{complete, finish, plan, streamed, whole};
use super::sse::Events;
use crate::server::{Dialect, Ending, Finish, Plan, SWIFT, THINKER, TOOLSMITH};

async fn events(plan: Plan) -> Events {
    let told = streamed(Dialect::Responses, plan).await;
    assert_eq!((told.status, told.content_type.as_str()), (200, "text/event-stream; charset=utf-8"));
    let events = Events::of(told.text(), "\n");
    for (number, event) in events.events.iter().enumerate() {
        assert_eq!(event.json()["sequence_number"], number);
    }
    assert_eq!(events.comments, 1);
    events
}

fn joined(deltas: &[Value]) -> String {
    deltas.iter().map(|delta| delta["delta"].as_str().unwrap()).collect()
}

const MESSAGE: [&str; 8] = [
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.delta",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
];

#[tokio::test]
async fn text_comes_in_one_item_and_is_told_again_at_its_end() {
    let events = events(complete(SWIFT)).await;
    let order = [&["response.created", "response.in_progress"][..], &MESSAGE, &["response.completed"]].concat();
    assert_eq!(events.types(), order);
    let text = joined(&events.all("response.output_text.delta"));
    assert_eq!(text.split_whitespace().count(), 4);
    assert_eq!(events.all("response.output_text.done")[0]["text"], text);
    assert_eq!(events.all("response.content_part.done")[0]["part"]["text"], text);
    let item = &events.all("response.output_item.done")[0]["item"];
    assert_eq!((&item["status"], &item["content"][0]["text"]), (&json!("completed"), &json!(text)));
    let response = &events.all("response.completed")[0]["response"];
    assert_eq!((&response["status"], &response["output"]), (&json!("completed"), &json!([item])));
    assert_eq!((&response["id"], &response["model"]), (&json!("resp_7"), &json!(SWIFT)));
    assert_eq!(events.all("response.created")[0]["response"]["usage"], Value::Null);
}

#[tokio::test]
async fn the_terminal_event_has_the_planned_figures() {
    let events = events(complete(THINKER)).await;
    let usage = &events.all("response.completed")[0]["response"]["usage"];
    let planned = json!({
        "input_tokens": 40,
        "input_tokens_details": { "cached_tokens": 10 },
        "output_tokens": 6,
        "output_tokens_details": { "reasoning_tokens": 2 },
        "total_tokens": 46,
    });
    assert_eq!(usage, &planned);
}

#[tokio::test]
async fn reasoning_is_an_item_before_the_answer() {
    let events = events(complete(THINKER)).await;
    let reasoning = [
        "response.output_item.added",
        "response.content_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ];
    let order =
        [&["response.created", "response.in_progress"][..], &reasoning, &MESSAGE, &["response.completed"]].concat();
    assert_eq!(events.types(), order);
    let items = events.all("response.output_item.done");
    assert_eq!((&items[0]["item"]["type"], &items[0]["output_index"]), (&json!("reasoning"), &json!(0)));
    assert_eq!((&items[1]["item"]["type"], &items[1]["output_index"]), (&json!("message"), &json!(1)));
    assert_eq!(joined(&events.all("response.reasoning_text.delta")).split_whitespace().count(), 2);
}

#[tokio::test]
async fn a_tool_call_is_named_when_its_item_begins() {
    let events = events(complete(TOOLSMITH)).await;
    let added = &events.all("response.output_item.added")[0]["item"];
    assert_eq!(
        (&added["type"], &added["name"], &added["arguments"]),
        (&json!("function_call"), &json!("look_up"), &json!(""))
    );
    let arguments = joined(&events.all("response.function_call_arguments.delta"));
    serde_json::from_str::<Value>(&arguments).expect("whole arguments");
    assert_eq!(events.all("response.function_call_arguments.delta").len(), 2);
    assert_eq!(events.all("response.function_call_arguments.done")[0]["arguments"], arguments);
    assert_eq!(events.all("response.output_item.done")[0]["item"]["arguments"], arguments);
}

#[tokio::test]
async fn length_ends_it_incomplete() {
    let events = events(plan(SWIFT, Ending::Complete(Finish::Length))).await;
    assert_eq!(events.types().last().unwrap(), "response.incomplete");
    let response = &events.all("response.incomplete")[0]["response"];
    assert_eq!(response["incomplete_details"]["reason"], "max_output_tokens");
    assert_eq!((&response["status"], &response["usage"]["output_tokens"]), (&json!("incomplete"), &json!(4)));
}

#[tokio::test]
async fn without_its_marker_every_item_is_done_but_no_end_is_told() {
    let events = events(plan(SWIFT, Ending::Unmarked(Finish::Stop))).await;
    assert_eq!(events.types().last().unwrap(), "response.output_item.done");
    assert_eq!(events.rest, "");
}

#[tokio::test]
async fn an_error_is_an_event_of_its_own_and_fails_the_response() {
    let events = events(plan(SWIFT, Ending::ErrorFrame)).await;
    assert_eq!(events.types()[events.types().len() - 2..], ["error", "response.failed"]);
    assert_eq!(events.all("error")[0]["code"], "server_error");
    let response = &events.all("response.failed")[0]["response"];
    assert_eq!((&response["status"], &response["error"]["code"]), (&json!("failed"), &json!("server_error")));
}

#[tokio::test]
async fn a_whole_answer_is_the_response_of_the_terminal_event() {
    for model in [SWIFT, THINKER, TOOLSMITH] {
        let events = events(complete(model)).await;
        let told = whole(Dialect::Responses, plan(model, Ending::Complete(finish(model)))).await;
        assert_eq!((told.status, told.content_type.as_str()), (200, "application/json"));
        assert_eq!(told.json(), events.all("response.completed")[0]["response"]);
    }
}

#[tokio::test]
async fn a_refusal_has_openais_shape() {
    let told = streamed(Dialect::Responses, plan(SWIFT, Ending::Refused(429))).await;
    assert_eq!((told.status, &told.json()["error"]["code"]), (429, &json!("rate_limit_exceeded")));
}
