//! Gemini's two framings as the local server speaks them.

use serde_json::{Value, json};

use super::asking::{complete, plan, streamed, whole};
use super::sse::Events;
use crate::server::{Dialect, Ending, Finish, Plan, SWIFT, THINKER, TOOLSMITH};

async fn frames(plan: Plan) -> Vec<Value> {
    let told = streamed(Dialect::GeminiSse, plan).await;
    assert_eq!((told.status, told.content_type.as_str()), (200, "text/event-stream"));
    let events = Events::of(told.text(), "\r\n");
    assert_eq!((events.comments, events.rest.as_str()), (1, ""));
    assert!(events.events.iter().all(|event| event.name.is_none()));
    events.events.iter().map(super::sse::Event::json).collect()
}

async fn elements(plan: Plan) -> Vec<Value> {
    let told = streamed(Dialect::GeminiArray, plan).await;
    assert_eq!((told.status, told.content_type.as_str()), (200, "application/json; charset=UTF-8"));
    serde_json::from_slice(&told.body).unwrap()
}

fn part(frame: &Value) -> &Value {
    &frame["candidates"][0]["content"]["parts"][0]
}

fn figures(frame: &Value) -> [Option<u64>; 3] {
    ["candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"].map(|name| frame["usageMetadata"][name].as_u64())
}

#[tokio::test]
async fn both_framings_hold_the_same_responses() {
    for model in [SWIFT, THINKER, TOOLSMITH] {
        assert_eq!(frames(complete(model)).await, elements(complete(model)).await);
    }
    let told = streamed(Dialect::GeminiArray, complete(SWIFT)).await;
    assert_eq!(told.text().matches("\n,\r\n{\n").count(), 4, "four separators between five elements");
}

#[tokio::test]
async fn figures_grow_with_the_answer() {
    let frames = frames(complete(SWIFT)).await;
    let grown: Vec<_> = frames.iter().map(figures).collect();
    let at = |answer: Option<u64>, total| [answer, None, Some(total)];
    assert_eq!(grown, [at(None, 40), at(Some(1), 41), at(Some(2), 42), at(Some(4), 44), at(Some(4), 44)]);
    assert!(frames.iter().all(|frame| frame["usageMetadata"]["promptTokenCount"] == 40));
    assert!(frames.iter().all(|frame| frame["usageMetadata"]["cachedContentTokenCount"] == 10));
    assert!(frames.iter().all(|frame| frame["modelVersion"] == SWIFT && frame["responseId"] == "gen_7"));
}

#[tokio::test]
async fn the_last_frame_has_an_empty_text_and_the_reason() {
    let frames = frames(complete(SWIFT)).await;
    let (last, before) = frames.split_last().unwrap();
    assert!(before.iter().all(|frame| frame["candidates"][0].get("finishReason").is_none()));
    assert_eq!((&last["candidates"][0]["finishReason"], &part(last)["text"]), (&json!("STOP"), &json!("")));
    let text: String = frames.iter().map(|frame| part(frame)["text"].as_str().unwrap()).collect();
    assert_eq!(text.split_whitespace().count(), 4);
}

#[tokio::test]
async fn thoughts_count_outside_the_answer() {
    let frames = frames(complete(THINKER)).await;
    let thoughts: Vec<_> = frames.iter().map(part).filter(|part| part["thought"] == true).collect();
    assert_eq!((thoughts.len(), thoughts[0]["text"].as_str().unwrap().split_whitespace().count()), (1, 2));
    assert_eq!(figures(frames.last().unwrap()), [Some(4), Some(2), Some(46)]);
    assert_eq!(figures(&frames[1]), [None, Some(2), Some(42)]);
}

#[tokio::test]
async fn a_tool_call_comes_whole() {
    let frames = frames(complete(TOOLSMITH)).await;
    assert_eq!(frames.len(), 3, "a role, the call, the end");
    let call = &part(&frames[1])["functionCall"];
    assert_eq!((&call["name"], call["args"]["query"].is_string()), (&json!("look_up"), true));
    assert_eq!(frames[2]["candidates"][0]["finishReason"], "STOP");
    assert_eq!(figures(&frames[1]), [Some(5), None, Some(45)]);
}

#[tokio::test]
async fn length_is_a_reason() {
    let elements = elements(plan(SWIFT, Ending::Complete(Finish::Length))).await;
    assert_eq!(elements.last().unwrap()["candidates"][0]["finishReason"], "MAX_TOKENS");
}

#[tokio::test]
async fn without_its_marker_an_array_stays_open() {
    let told = streamed(Dialect::GeminiArray, plan(SWIFT, Ending::Unmarked(Finish::Stop))).await;
    assert!(!told.broken);
    let closed = format!("{}]", told.text());
    assert_eq!(serde_json::from_str::<Vec<Value>>(&closed).unwrap(), elements(complete(SWIFT)).await);
}

#[tokio::test]
async fn an_error_among_events_is_a_bare_object() {
    let told = streamed(Dialect::GeminiSse, plan(SWIFT, Ending::ErrorFrame)).await;
    let events = Events::of(told.text(), "\r\n");
    assert_eq!(events.events.len(), 4);
    assert!(events.rest.starts_with("{\n  \"error\": {\n"), "{}", events.rest);
    let error: Value = serde_json::from_str(&events.rest).unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["status"]), (&json!(503), &json!("UNAVAILABLE")));
}

#[tokio::test]
async fn an_error_in_an_array_is_its_last_element() {
    let elements = elements(plan(SWIFT, Ending::ErrorFrame)).await;
    assert_eq!(elements.len(), 5);
    assert_eq!(elements[4]["error"]["status"], "UNAVAILABLE");
}

#[tokio::test]
async fn a_cut_leaves_half_a_response() {
    let told = streamed(Dialect::GeminiArray, plan(SWIFT, Ending::Cut)).await;
    assert!(told.broken);
    let (whole, half) = told.text().rsplit_once(",\r\n").unwrap();
    assert_eq!(serde_json::from_str::<Vec<Value>>(&format!("{whole}]")).unwrap().len(), 4);
    assert!(half.starts_with('{') && serde_json::from_str::<Value>(half).is_err());
    let told = streamed(Dialect::GeminiSse, plan(SWIFT, Ending::Cut)).await;
    let events = Events::of(told.text(), "\r\n");
    assert!(told.broken && events.events.len() == 4 && events.rest.starts_with("data: {"), "{}", events.rest);
}

#[tokio::test]
async fn a_whole_answer_is_one_response() {
    let told = whole(Dialect::GeminiSse, complete(THINKER)).await.json();
    let parts = told["candidates"][0]["content"]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 2);
    assert_eq!((&parts[0]["thought"], &told["candidates"][0]["finishReason"]), (&json!(true), &json!("STOP")));
    assert_eq!(told["usageMetadata"], frames(complete(THINKER)).await.last().unwrap()["usageMetadata"]);
    let told = whole(Dialect::GeminiArray, complete(TOOLSMITH)).await.json();
    assert_eq!(told["candidates"][0]["content"]["parts"][0]["functionCall"]["name"], "look_up");
}

#[tokio::test]
async fn a_refusal_is_an_array_where_an_array_was_expected() {
    let refused = || plan(SWIFT, Ending::Refused(429));
    let error = streamed(Dialect::GeminiSse, refused()).await.json();
    assert_eq!((&error["error"]["code"], &error["error"]["status"]), (&json!(429), &json!("RESOURCE_EXHAUSTED")));
    assert_eq!(streamed(Dialect::GeminiArray, refused()).await.json(), json!([error]));
    assert_eq!(whole(Dialect::GeminiArray, refused()).await.json(), error);
}
