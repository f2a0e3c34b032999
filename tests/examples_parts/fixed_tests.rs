//! Models, embeddings and rankings: small, and figures that a client can count itself.

use serde_json::{Value, json};

use crate::dialects::asking::{complete, http, plan};
use crate::server::{Ending, PLAN_HEADER, SWIFT, Server};

async fn post(path: &str, body: Value) -> (u16, Value) {
    let server = Server::start(|_| complete(SWIFT)).unwrap();
    let response = http().post(server.url(path)).json(&body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn openai_embeds_each_text() {
    let (status, told) = post("/v1/embeddings", json!({ "model": "embed-1", "input": ["one two", "three"] })).await;
    assert_eq!((status, &told["model"]), (200, &json!("embed-1")));
    assert_eq!(told["usage"], json!({ "prompt_tokens": 3, "total_tokens": 3 }));
    let data = told["data"].as_array().unwrap();
    assert_eq!(data.iter().map(|one| &one["index"]).collect::<Vec<_>>(), [0, 1]);
    assert!(data.iter().all(|one| one["embedding"][0].is_number()));
    let (_, one) = post("/v1/embeddings", json!({ "model": "embed-1", "input": "one" })).await;
    assert_eq!((one["data"].as_array().unwrap().len(), &one["usage"]["prompt_tokens"]), (1, &json!(1)));
}

#[tokio::test]
async fn cohere_and_ollama_embed_in_their_own_words() {
    let (_, cohere) = post("/v2/embed", json!({ "model": "embed-1", "texts": ["one two", "three"] })).await;
    assert_eq!(cohere["embeddings"]["float"].as_array().unwrap().len(), 2);
    assert_eq!(cohere["meta"]["billed_units"]["input_tokens"], 3);
    let (_, ollama) = post("/api/embed", json!({ "model": "embed-1", "input": ["one two", "three"] })).await;
    assert_eq!(ollama["embeddings"].as_array().unwrap().len(), 2);
    assert_eq!((&ollama["prompt_eval_count"], ollama["total_duration"].is_u64()), (&json!(3), true));
}

#[tokio::test]
async fn rankings_are_as_long_as_asked_for() {
    let ask = json!({ "model": "rank-1", "query": "which way", "documents": ["up", "down here", "left"], "top_n": 2 });
    let (_, ranked) = post("/v1/rerank", ask.clone()).await;
    let results = ranked["results"].as_array().unwrap();
    assert_eq!((results.len(), &results[0]["document"]["text"]), (2, &json!("up")));
    assert!(results[0]["relevance_score"].as_f64() > results[1]["relevance_score"].as_f64());
    assert_eq!(ranked["usage"]["total_tokens"], 6);
    let (_, ranked) = post("/v2/rerank", ask).await;
    assert_eq!(
        (ranked["results"].as_array().unwrap().len(), &ranked["meta"]["billed_units"]),
        (2, &json!({ "search_units": 1 }))
    );
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let (status, error) = post("/v1/embeddings", json!({ "input": "one" })).await;
    assert_eq!((status, &error["error"]["message"]), (400, &json!("model is missing.")));
    let (status, error) = post("/v2/rerank", json!({ "model": "rank-1", "query": "which" })).await;
    assert_eq!((status, &error["message"]), (400, &json!("documents is missing.")));
}

#[tokio::test]
async fn only_a_named_plan_refuses_and_none_is_used_up() {
    let server = Server::start(|_| plan(SWIFT, Ending::Refused(503))).unwrap();
    let ask = || http().post(server.url("/api/embed")).json(&json!({ "model": "embed-1", "input": "one" }));
    assert_eq!(ask().send().await.unwrap().status(), 200);
    let refused = ask().header(PLAN_HEADER, 9).send().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.json::<Value>().await.unwrap()["error"].is_string());
    let plans: Vec<_> = server.ledger().records().iter().map(|record| record.plan).collect();
    assert_eq!(plans, [9]);
}
