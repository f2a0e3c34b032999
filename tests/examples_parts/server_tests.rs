//! The server as an HTTP server: routes, errors, whole answers, clients that leave, and the way it stops.

use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::load::{Client, Question, read};
use crate::server::{Consumer, Ending, Finish, MODELS, PLAN_HEADER, Plan, SWIFT, Server, THINKER, TOOLSMITH};
use crate::transcript::Transcript;

const LIMIT: Duration = Duration::from_secs(10);

fn question(model: &str, plan: u64) -> Question {
    Question { model: model.into(), prompt: "Which way?".into(), max_tokens: None, plan: Some(plan) }
}

fn steady(count: usize) -> Plan {
    Plan::steady(Duration::from_millis(1), count)
}

/// A plain HTTP client, for requests that the load would not make.
fn http() -> reqwest::Client {
    // Sets the TLS provider that any reqwest client needs.
    Client::new("http://127.0.0.1", None).unwrap();
    reqwest::Client::builder().tls_certs_only([]).build().unwrap()
}

async fn post(server: &Server, body: String) -> (u16, Value) {
    let response = http().post(format!("{}/chat/completions", server.base_url())).body(body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn lists_its_models_and_knows_no_other_path() {
    let server = Server::start(|_| steady(1)).unwrap();
    let http = http();
    let list: Value = http.get(format!("{}/models", server.base_url())).send().await.unwrap().json().await.unwrap();
    let names: Vec<_> = list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(names, MODELS);
    let elsewhere = http.get(format!("http://{}/v2", server.address())).send().await.unwrap();
    assert_eq!(elsewhere.status(), 404);
    assert_eq!(elsewhere.json::<Value>().await.unwrap()["error"]["code"], "unknown_url");
}

#[tokio::test]
async fn says_what_is_wrong_with_a_request() {
    let server = Server::start(|_| steady(1)).unwrap();
    let messages = json!([{ "role": "user", "content": "hello" }]);
    let (status, error) = post(&server, "{".into()).await;
    assert_eq!((status, &error["error"]["code"]), (400, &json!("invalid_request")));
    let (status, error) = post(&server, json!({ "model": SWIFT, "messages": [] }).to_string()).await;
    assert_eq!((status, &error["error"]["message"]), (400, &json!("messages is empty.")));
    let (status, error) = post(&server, json!({ "model": "none", "messages": messages }).to_string()).await;
    assert_eq!((status, &error["error"]["code"]), (404, &json!("model_not_found")));
    let url = format!("{}/chat/completions", server.base_url());
    let misnamed = http().post(url).header(PLAN_HEADER, "seven").body("{}").send().await.unwrap();
    assert_eq!(misnamed.status(), 400);
}

#[tokio::test]
async fn refuses_before_the_head_with_the_planned_status() {
    let refuse = |status: u64| Plan { ending: Ending::Refused(u16::try_from(status).unwrap()), ..steady(0) };
    let server = Server::start(refuse).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    for (status, code, retry_after) in
        [(429, "rate_limit_exceeded", Some("1")), (500, "internal_error", None), (503, "internal_error", None)]
    {
        let response = client.ask(&question(SWIFT, status)).send().await.unwrap();
        assert_eq!(u64::from(response.status().as_u16()), status);
        assert_eq!(response.headers().get("retry-after").map(|value| value.to_str().unwrap()), retry_after);
        assert_eq!(response.json::<Value>().await.unwrap()["error"]["code"], code);
    }
}

#[tokio::test]
async fn requests_that_name_no_plan_get_them_in_order() {
    let server = Server::start(|index| steady(usize::try_from(index).unwrap() + 1)).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    for tokens in 1..=3 {
        let question = Question { max_tokens: Some(9), plan: None, ..question(SWIFT, 0) };
        let stream = client.ask(&question).send().await.unwrap().bytes().await.unwrap();
        assert_eq!(Transcript::of(&stream).usage.unwrap()["completion_tokens"], tokens);
    }
    let plans: Vec<_> = server.ledger().records().iter().map(|record| record.plan).collect();
    assert_eq!(plans, [0, 1, 2]);
}

#[tokio::test]
async fn a_whole_answer_says_the_same_as_a_streamed_one() {
    let plans = [SWIFT, THINKER, TOOLSMITH].map(whole_plan);
    let answers = plans.clone();
    let server = Server::start(move |index| answers[usize::try_from(index).unwrap()].clone()).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    for (index, plan) in (0..).zip(&plans) {
        let response = client.ask(&question(plan.model, index)).send().await.unwrap();
        let streamed = Transcript::of(&response.bytes().await.unwrap());
        let url = format!("{}/chat/completions", server.base_url());
        let body = json!({ "model": plan.model, "messages": [{ "role": "user", "content": "Which way?" }] });
        let response = http().post(url).header(PLAN_HEADER, index).json(&body).send().await.unwrap();
        let whole: Value = response.json().await.unwrap();
        let choice = &whole["choices"][0];
        let message = &choice["message"];
        assert_eq!(choice["finish_reason"].as_str(), streamed.finish.as_deref());
        assert_eq!(Some(&whole["usage"]), streamed.usage.as_ref());
        assert_eq!(message["content"].as_str().unwrap_or_default(), streamed.text);
        assert_eq!(message["reasoning_content"].as_str().unwrap_or_default(), streamed.reasoning);
        let arguments = message["tool_calls"][0]["function"]["arguments"].as_str().unwrap_or_default();
        assert_eq!(arguments, streamed.arguments);
    }
}

/// A plan of the given model that ends well, without its waits.
fn whole_plan(model: &str) -> Plan {
    let whole = |plan: &Plan| plan.model == model && matches!(plan.ending, Ending::Complete(_));
    let mut plan = (0..).map(|index| Plan::nth(1, index)).find(whole).unwrap();
    plan.bursts.iter_mut().for_each(|burst| burst.after = Duration::ZERO);
    plan
}

#[tokio::test]
async fn usage_comes_only_if_asked_for() {
    let server = Server::start(|_| steady(2)).unwrap();
    let url = format!("{}/chat/completions", server.base_url());
    let body = json!({ "model": SWIFT, "messages": [{ "role": "user", "content": "hello" }], "stream": true });
    let bytes = http().post(url).json(&body).send().await.unwrap().bytes().await.unwrap();
    let transcript = Transcript::of(&bytes);
    assert_eq!((transcript.usage, transcript.done, transcript.finish.as_deref()), (None, true, Some("stop")));
    assert!(!String::from_utf8(bytes.to_vec()).unwrap().contains("usage"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_stops_the_servers_work() {
    let server = Server::start(|_| Plan::steady(Duration::from_millis(5), 10_000)).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    let response = client.ask(&question(SWIFT, 0)).send().await.unwrap();
    let received = read(response.bytes_stream(), Consumer::Leaves { events: 3 }).await;
    assert!(received.broken.is_none());
    let ledger = server.ledger().clone();
    assert!(server.stop(LIMIT), "the server went on for a client that had gone");
    let record = ledger.of(0).unwrap();
    assert!(record.writes.len() < 10_000 && record.released.is_some(), "{} writes", record.writes.len());
}

#[tokio::test]
async fn stopping_waits_no_longer_than_it_may() {
    let server = Server::start(|_| Plan { ending: Ending::Silent, ..steady(1) }).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    let mut body = client.ask(&question(SWIFT, 0)).send().await.unwrap().bytes_stream();
    assert!(body.next().await.unwrap().is_ok());
    assert!(!server.stop(Duration::from_millis(20)), "the stream was still open");
    assert!(body.next().await.unwrap().is_err(), "the server is gone");
}

#[tokio::test]
async fn stopping_lets_responses_end() {
    let server = Server::start(|_| Plan { ending: Ending::Complete(Finish::Length), ..steady(50) }).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    let mut body = client.ask(&question(SWIFT, 0)).send().await.unwrap().bytes_stream();
    let first = body.next().await.unwrap().unwrap();
    let stopping = tokio::task::spawn_blocking(move || server.stop(LIMIT));
    let rest = read(body, Consumer::Prompt).await;
    assert!(rest.broken.is_none());
    let bytes: Vec<u8> =
        std::iter::once(first).chain(rest.reads.into_iter().map(|(_, bytes)| bytes)).flatten().collect();
    let transcript = Transcript::of(&bytes);
    assert_eq!((transcript.tokens(), transcript.finish.as_deref()), (50, Some("length")));
    assert!(stopping.await.unwrap());
}
