//! Ollama's two endpoints as the local server speaks them.

use std::time::Duration;

use serde_json::{Value, json};

use super::asking::{complete, http, plan, streamed, whole};
use crate::server::{Dialect, Ending, Finish, Plan, SWIFT, Server, THINKER, TOOLSMITH};

async fn lines(dialect: Dialect, plan: Plan) -> Vec<Value> {
    let told = streamed(dialect, plan).await;
    assert_eq!((told.status, told.content_type.as_str()), (200, "application/x-ndjson"));
    assert!(told.text().ends_with('\n'));
    told.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn texts<'a>(lines: &'a [Value], pointer: &str) -> Vec<&'a str> {
    lines.iter().filter_map(|line| line.pointer(pointer)?.as_str()).filter(|text| !text.is_empty()).collect()
}

fn done(line: &Value) -> bool {
    line["done"] == true
}

#[tokio::test]
async fn each_line_has_a_piece_and_the_last_one_the_figures() {
    let mut plan = complete(SWIFT);
    plan.bursts[2].after = Duration::from_millis(4);
    plan.bursts[3].after = Duration::from_millis(3);
    let lines = lines(Dialect::OllamaChat, plan).await;
    assert_eq!(lines.len(), 5, "a role, three pieces, the end");
    assert_eq!(texts(&lines, "/message/content").concat().split_whitespace().count(), 4);
    assert!(lines.iter().all(|line| line["model"] == SWIFT && line["message"]["role"] == "assistant"));
    assert!(lines[..4].iter().all(|line| !done(line) && line.get("eval_count").is_none()));
    let last = &lines[4];
    assert_eq!((done(last), &last["done_reason"], &last["message"]["content"]), (true, &json!("stop"), &json!("")));
    assert_eq!((&last["prompt_eval_count"], &last["eval_count"]), (&json!(40), &json!(4)));
    let times = ["load_duration", "prompt_eval_duration", "eval_duration", "total_duration"];
    assert_eq!(times.map(|name| last[name].as_u64().unwrap() / 1_000_000), [2, 4, 3, 10]);
}

#[tokio::test]
async fn a_time_of_nothing_is_told_as_a_nanosecond_since_zeros_are_left_out() {
    let lines = lines(Dialect::OllamaChat, Plan { queue: Duration::ZERO, ..complete(SWIFT) }).await;
    assert_eq!(lines.last().unwrap()["load_duration"], 1);
}

#[tokio::test]
async fn generate_holds_its_text_beside_the_rest() {
    let lines = lines(Dialect::OllamaGenerate, complete(THINKER)).await;
    assert_eq!(texts(&lines, "/thinking").concat().split_whitespace().count(), 2);
    assert_eq!(texts(&lines, "/response").concat().split_whitespace().count(), 4);
    let last = lines.last().unwrap();
    assert_eq!((done(last), &last["response"], &last["eval_count"]), (true, &json!(""), &json!(6)));
    assert!(last["context"].is_array());
}

#[tokio::test]
async fn thinking_comes_beside_empty_content() {
    let lines = lines(Dialect::OllamaChat, complete(THINKER)).await;
    let thinking: Vec<_> = lines.iter().filter(|line| line["message"].get("thinking").is_some()).collect();
    assert_eq!(thinking.len(), 1);
    assert_eq!(thinking[0]["message"]["content"], "");
}

#[tokio::test]
async fn a_tool_call_comes_whole_in_one_line() {
    for (dialect, place) in [(Dialect::OllamaChat, "/message/tool_calls"), (Dialect::OllamaGenerate, "/tool_calls")] {
        let told = streamed(dialect, complete(TOOLSMITH)).await;
        let lines: Vec<Value> = told.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let calls: Vec<_> = lines.iter().filter_map(|line| line.pointer(place)).collect();
        assert_eq!((lines.len(), calls.len()), (3, 1), "a role, the call, the end");
        let function = &calls[0][0]["function"];
        assert_eq!((&function["name"], function["arguments"].is_object()), (&json!("look_up"), true));
        assert_eq!(lines[2]["done_reason"], "stop");
        let tokens: Vec<_> = told.record.writes.iter().map(|write| write.content.tokens).collect();
        assert_eq!(tokens, [0, 5, 0], "the tokens of a call leave with it");
    }
}

#[tokio::test]
async fn without_the_marker_the_last_line_is_missing() {
    let lines = lines(Dialect::OllamaChat, plan(SWIFT, Ending::Unmarked(Finish::Stop))).await;
    assert_eq!(lines.len(), 4);
    assert!(!lines.iter().any(done));
}

#[tokio::test]
async fn an_error_is_a_line_and_the_last() {
    let lines = lines(Dialect::OllamaGenerate, plan(SWIFT, Ending::ErrorFrame)).await;
    assert!(lines.last().unwrap()["error"].is_string());
    assert!(!lines.iter().any(done));
}

#[tokio::test]
async fn a_cut_leaves_half_a_line() {
    let told = streamed(Dialect::OllamaChat, plan(SWIFT, Ending::Cut)).await;
    assert!(told.broken);
    let (whole, half) = told.text().rsplit_once('\n').unwrap();
    assert_eq!(whole.lines().count(), 4);
    assert!(half.starts_with('{') && serde_json::from_str::<Value>(half).is_err(), "{half}");
}

#[tokio::test]
async fn length_is_a_reason() {
    let lines = lines(Dialect::OllamaChat, plan(SWIFT, Ending::Complete(Finish::Length))).await;
    assert_eq!(lines.last().unwrap()["done_reason"], "length");
}

#[tokio::test]
async fn a_whole_answer_is_one_object_with_the_same_figures() {
    let chat = whole(Dialect::OllamaChat, complete(THINKER)).await.json();
    assert_eq!(chat["message"]["content"].as_str().unwrap().split_whitespace().count(), 4);
    assert_eq!(chat["message"]["thinking"].as_str().unwrap().split_whitespace().count(), 2);
    assert_eq!((done(&chat), &chat["prompt_eval_count"], &chat["eval_count"]), (true, &json!(40), &json!(6)));
    let generate = whole(Dialect::OllamaGenerate, complete(SWIFT)).await.json();
    assert_eq!(generate["response"].as_str().unwrap().split_whitespace().count(), 4);
    let call = whole(Dialect::OllamaChat, complete(TOOLSMITH)).await.json();
    assert!(call["message"]["tool_calls"][0]["function"]["arguments"]["query"].is_string());
}

#[tokio::test]
async fn it_streams_unless_told_otherwise() {
    let server = Server::start(|_| complete(SWIFT)).unwrap();
    let ask = |body: Value| http().post(server.url("/api/chat")).json(&body).send();
    let messages = json!([{ "role": "user", "content": "hello" }]);
    let silent = ask(json!({ "model": SWIFT, "messages": messages })).await.unwrap();
    assert_eq!(silent.headers()["content-type"], "application/x-ndjson");
    let whole = ask(json!({ "model": SWIFT, "messages": messages, "stream": false })).await.unwrap();
    assert_eq!(whole.headers()["content-type"], "application/json");
}

#[tokio::test]
async fn a_refusal_is_an_error_as_text() {
    let told = streamed(Dialect::OllamaChat, plan(SWIFT, Ending::Refused(503))).await;
    assert_eq!((told.status, told.json()["error"].is_string()), (503, true));
}
