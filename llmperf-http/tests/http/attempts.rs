//! Retries are attempts, and a request inside a live call is counted once.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    io,
    sync::atomic::{AtomicU16, Ordering},
};

use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, BodyStream};
use llmperf_core::{Output, Sees, Side, testing::Probe};
use tower::{Service as _, ServiceBuilder, ServiceExt as _, retry};

use crate::{
    bodies::Steps,
    wire::{CHAT, STREAM, Server, answer, attribute, measure, post, reqwest, tower},
};

/// A server that refuses so many requests, then answers.
async fn refusing(times: u16) -> Server {
    let asked = AtomicU16::new(0);
    Server::start(move |_| {
        if asked.fetch_add(1, Ordering::Relaxed) >= times {
            return answer("text/event-stream", Steps::of(STREAM));
        }
        let mut response = answer("application/json", Steps::of([r#"{"error":{"code":"slow_down"}}"#]));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert("retry-after", HeaderValue::from_static("0"));
        response
    })
    .await
}

/// Retries what was refused, once it has read why.
#[derive(Clone)]
struct Refused;

impl<B: Clone, R, E> retry::Policy<Request<B>, Response<R>, E> for Refused {
    type Future = Ready<()>;

    fn retry(&mut self, _: &mut Request<B>, result: &mut Result<Response<R>, E>) -> Option<Ready<()>> {
        let refused = result.as_ref().is_ok_and(|response| response.status() == StatusCode::TOO_MANY_REQUESTS);
        refused.then(|| ready(()))
    }

    fn clone_request(&mut self, request: &Request<B>) -> Option<Request<B>> {
        Some(request.clone())
    }
}

fn events(probe: &Probe) -> Vec<Vec<(String, String)>> {
    let spans = probe.spans();
    let outer = spans.iter().find(|span| !span.events.is_empty()).unwrap();
    let told = |event: &opentelemetry::trace::Event| {
        event.attributes.iter().map(|told| (told.key.to_string(), told.value.to_string())).collect()
    };
    outer.events.iter().map(told).collect()
}

fn counted_once(probe: &Probe, retries: f64) {
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(probe.count("llmperf.client.retries"), retries);
    let tokens: f64 = probe.points("llmperf.client.tokens").iter().map(|point| point.sum).sum();
    assert_eq!(tokens, 5.0);
    assert_eq!(probe.points("llmperf.client.calls")[0].attribute("llmperf.outcome"), "complete");
}

#[tokio::test]
async fn a_layer_around_a_retry_takes_the_requests_of_a_layer_inside_for_its_attempts() {
    let server = refusing(2).await;
    let probe = Probe::new();
    let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build_http();
    let mut service = ServiceBuilder::new()
        .layer(measure(&probe))
        .layer(retry::RetryLayer::new(Refused))
        .layer(measure(&probe))
        .service(client);
    let request = post(&server.url("/v1/chat/completions"), CHAT);
    let body = service.ready().await.unwrap().call(request).await.unwrap().into_body();
    assert_eq!(body.collect().await.unwrap().to_bytes(), STREAM.concat());
    assert_eq!(server.asked().len(), 3);
    counted_once(&probe, 2.0);
    let events = events(&probe);
    let errors: Vec<_> =
        events.iter().map(|told| told.iter().find(|(key, _)| key == "error.type").map(|(_, v)| v.as_str())).collect();
    assert_eq!(errors, [Some("429"), Some("429"), None]);
    assert_eq!(probe.tree(), "chat gpt-4o-mini\n  chat gpt-4o-mini !\n  chat gpt-4o-mini !\n  chat gpt-4o-mini\n");
}

/// A middleware that asks again when it was refused.
struct Again;

#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Again {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut http::Extensions,
        next: reqwest_middleware::Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        loop {
            let response = next.clone().run(request.try_clone().unwrap(), extensions).await?;
            if response.status() != StatusCode::TOO_MANY_REQUESTS {
                return Ok(response);
            }
            response.bytes().await?;
        }
    }
}

#[tokio::test]
async fn a_middleware_around_a_retry_takes_the_requests_of_one_inside_for_its_attempts() {
    let server = refusing(1).await;
    let probe = Probe::new();
    let client = crate::wire::plain_reqwest();
    let client =
        reqwest_middleware::ClientBuilder::new(client).with(measure(&probe)).with(Again).with(measure(&probe)).build();
    let url = server.url("/v1/chat/completions");
    let got = client.post(&url).body(CHAT).send().await.unwrap().bytes().await.unwrap();
    assert_eq!(got, STREAM.concat());
    counted_once(&probe, 1.0);
    assert!(events(&probe)[0].contains(&("error.type".to_owned(), "slow_down".to_owned())));
    assert_eq!(events(&probe).len(), 2);
}

#[tokio::test]
async fn a_call_of_a_client_over_the_measured_layer_is_counted_once_and_filled() {
    let server = refusing(0).await;
    let probe = Probe::new();
    let mut client = tower(measure(&probe));
    let request = client.ready().await.unwrap().call(post(&server.url("/v1/chat/completions"), CHAT));
    drop(request); // made outside of any call: one of its own
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);

    let probe = Probe::new();
    let mut client = tower(measure(&probe));
    let url = server.url("/v1/chat/completions");
    let request = async {
        let response = client.ready().await.unwrap().call(post(&url, CHAT)).await.map_err(io::Error::other)?;
        Ok::<_, io::Error>(BodyStream::new(response.into_body()))
    };
    // A client that shows finish reasons, and neither usage nor model.
    let call = probe.chat("some-client", "its-name").sees(Sees::Finish);
    let mut reply = call
        .open_with(request, |frame| match frame {
            Ok(frame) if frame.data_ref().is_some_and(|data| data.windows(4).any(|word| word == b"stop")) => {
                Output::text("lo").and_finish("stop")
            }
            Ok(_) => Output::text("Hel"),
            Err(_) => Output::error("broken"),
        })
        .await
        .unwrap();
    while futures::StreamExt::next(&mut reply).await.is_some() {}
    let timing = reply.into_timing();
    counted_once(&probe, 0.0);
    assert_eq!((timing.usage.output_tokens(), timing.attempts), (Some(2), Some(1)));
    assert_eq!(probe.tree(), "chat its-name\n  chat gpt-4o-mini\n");
    let spans = probe.spans();
    let outer = spans.iter().find(|span| span.name == "chat its-name").unwrap();
    assert_eq!(attribute(outer, "gen_ai.response.model").as_deref(), Some("m-1"));
}

#[tokio::test]
async fn a_call_whose_client_takes_a_refusal_for_an_answer_fails_all_the_same() {
    let server = refusing(9).await;
    let probe = Probe::new();
    let client = reqwest(measure(&probe));
    let url = server.url("/v1/chat/completions");
    let request =
        async { client.post(&url).body(CHAT).send().await?.text().await.map_err(reqwest_middleware::Error::from) };
    probe.chat("some-client", "its-name").run(request).await.unwrap();
    let calls = probe.points("llmperf.client.calls");
    assert_eq!((calls.len(), calls[0].attribute("error.type")), (1, "429"));
}

#[tokio::test]
async fn an_embedding_inside_a_chat_is_a_call_of_its_own() {
    let server =
        Server::start(|_| answer("application/json", Steps::of([r#"{"data":[],"usage":{"prompt_tokens":4}}"#]))).await;
    let probe = Probe::new();
    let client = reqwest(measure(&probe));
    let url = server.url("/v1/embeddings");
    let request = async {
        let body = r#"{"model":"e","input":"Hi"}"#;
        client.post(&url).body(body).send().await?.text().await.map_err(reqwest_middleware::Error::from)
    };
    probe.chat("some-client", "its-name").run(request).await.unwrap();
    assert_eq!(probe.count("llmperf.client.calls"), 2.0);
}

#[tokio::test]
async fn a_request_inside_a_servers_call_is_the_clients_own() {
    let server = refusing(0).await;
    let probe = Probe::new();
    let mut client = tower(measure(&probe));
    let url = server.url("/v1/chat/completions");
    let request = async {
        let response = client.ready().await.unwrap().call(post(&url, CHAT)).await.unwrap();
        Ok::<_, Infallible>(response.into_body().collect().await.unwrap().to_bytes())
    };
    probe.chat("openai", "gpt-4o-mini").side(Side::Server).run(request).await.unwrap();
    assert_eq!((probe.count("llmperf.client.calls"), probe.count("llmperf.server.calls")), (1.0, 1.0));
}
