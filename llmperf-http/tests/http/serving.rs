//! The server's side: an axum server whose answers are measured, and a gateway with both sides.

use std::{convert::Infallible, net::SocketAddr};

use axum::{Router, body::Body, extract::State, routing::post as route};
use bytes::Bytes;
use futures::stream;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use llmperf_core::{opentelemetry::trace::SpanKind, testing::Probe};
use llmperf_http::{Endpoint, Measure, Operation};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::{
    bodies::{Step, Steps},
    wire::{CHAT, STREAM, Server, answer, attribute, measure, plain_reqwest, reqwest},
};

/// Serves a router on loopback.
async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Waits until the telemetry of a server, which runs elsewhere, has what is asked for.
async fn until(mut seen: impl FnMut() -> bool) {
    while !seen() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_served_stream_is_a_call_of_the_server_and_the_handler_finds_its_request_whole() {
    let probe = Probe::new();
    let handler = |body: String| async move {
        assert_eq!(body, CHAT);
        let parts = stream::iter(STREAM.map(Ok::<_, Infallible>));
        Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(parts)).unwrap()
    };
    let router = Router::new()
        .route("/v1/chat/completions", route(handler))
        .route("/health", axum::routing::get(|| async { "well" }))
        .layer(measure(&probe).provider("ours").server());
    let address = serve(router).await;
    assert_eq!(
        plain_reqwest().get(format!("http://{address}/health")).send().await.unwrap().text().await.unwrap(),
        "well"
    );
    let url = format!("http://{address}/v1/chat/completions");
    let got = plain_reqwest().post(url).body(CHAT).send().await.unwrap().text().await.unwrap();
    assert_eq!(got, STREAM.concat());
    until(|| !probe.spans().is_empty()).await;
    let span = probe.span();
    assert_eq!((&*span.name, span.span_kind.clone()), ("chat gpt-4o-mini", SpanKind::Server));
    for (key, value) in [
        ("gen_ai.provider.name", "ours"),
        ("gen_ai.usage.output_tokens", "2"),
        ("server.address", "127.0.0.1"),
        ("http.request.body.size", &CHAT.len().to_string()),
        ("llmperf.outcome", "complete"),
    ] {
        assert_eq!(attribute(&span, key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(probe.count("llmperf.server.calls"), 1.0);
    assert_eq!(probe.count("llmperf.server.time_to_first_token"), 1.0);
    assert_eq!(probe.count("llmperf.client.calls"), 0.0);
}

#[tokio::test]
async fn a_client_that_goes_away_has_cancelled_the_call() {
    let probe = Probe::new();
    let handler = || async {
        let parts = stream::once(async { Ok::<_, Infallible>(STREAM[0]) });
        let parts = futures::StreamExt::chain(parts, stream::pending());
        Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(parts)).unwrap()
    };
    let router = Router::new().route("/v1/chat/completions", route(handler)).layer(measure(&probe).server());
    let address = serve(router).await;
    let mut response =
        plain_reqwest().post(format!("http://{address}/v1/chat/completions")).body(CHAT).send().await.unwrap();
    assert_eq!(response.chunk().await.unwrap().unwrap(), STREAM[0]);
    drop(response);
    until(|| !probe.spans().is_empty()).await;
    assert_eq!(attribute(&probe.span(), "llmperf.outcome").as_deref(), Some("cancelled"));
}

#[tokio::test]
async fn a_client_that_goes_away_before_its_request_is_whole_has_made_no_call() {
    let probe = Probe::new();
    let handler = |body: String| async move { body };
    let router = Router::new().route("/v1/chat/completions", route(handler)).layer(measure(&probe).server());
    let address = serve(router).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: here\r\ncontent-length: 500\r\n\r\n{\"model\":";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await.unwrap();
    assert!(probe.spans().iter().all(|span| attribute(span, "llmperf.outcome").as_deref() != Some("complete")));
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[tokio::test]
async fn a_request_above_the_limit_goes_to_the_handler_as_it_comes() {
    for limit in [0, 10] {
        let probe = Probe::new();
        let handler = |body: Bytes| async move { body.len().to_string() };
        let router =
            Router::new().route("/v1/chat/completions", route(handler)).layer(measure(&probe).limit(limit).server());
        let address = serve(router).await;
        let url = format!("http://{address}/v1/chat/completions");
        let got = plain_reqwest().post(url).body(CHAT).send().await.unwrap().text().await.unwrap();
        assert_eq!(got, CHAT.len().to_string());
        until(|| !probe.spans().is_empty()).await;
        assert_eq!(probe.span().name, "chat");
    }
}

#[tokio::test]
async fn an_error_of_the_handler_is_one_of_the_call() {
    let probe = Probe::new();
    let handler = || async { (StatusCode::SERVICE_UNAVAILABLE, r#"{"error":{"code":"no_slot"}}"#) };
    let router = Router::new().route("/v1/embeddings", route(handler)).layer(measure(&probe).server());
    let address = serve(router).await;
    let body = r#"{"model":"e","input":"Hi"}"#;
    plain_reqwest()
        .post(format!("http://{address}/v1/embeddings"))
        .body(body)
        .send()
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap();
    until(|| !probe.spans().is_empty()).await;
    let span = probe.span();
    assert_eq!(span.name, "embeddings e");
    assert_eq!(attribute(&span, "error.type").as_deref(), Some("no_slot"));
}

/// Passes a request on to the server behind.
async fn forward(
    State((client, url)): State<(reqwest_middleware::ClientWithMiddleware, String)>,
    request: Request<Body>,
) -> Response<Body> {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let response = client.post(&url).body(body).send().await.unwrap();
    let response: Response<reqwest::Body> = response.into();
    response.map(Body::new)
}

#[tokio::test]
async fn a_gateway_measures_both_its_sides_in_one_trace() {
    let upstream = Server::start(|_| answer("text/event-stream", Steps::of(STREAM))).await;
    let probe = Probe::new();
    let own = Endpoint::new(Operation::Chat, "ours");
    let to = (reqwest(measure(&probe).inject_trace_context(true)), upstream.url("/v1/chat/completions"));
    let router = Router::new()
        .route("/ask", route(forward))
        .with_state(to)
        .layer(measure(&probe).endpoint("/ask", own).server());
    let address = serve(router).await;
    let got =
        plain_reqwest().post(format!("http://{address}/ask")).body(CHAT).send().await.unwrap().text().await.unwrap();
    assert_eq!(got, STREAM.concat());
    until(|| probe.spans().len() == 2).await;
    assert_eq!(probe.tree(), "chat gpt-4o-mini\n  chat gpt-4o-mini\n");
    let parent = upstream.asked()[0].headers["traceparent"].to_str().unwrap().to_owned();
    assert!(probe.spans().iter().any(|span| parent.contains(&span.span_context.span_id().to_string())));
    assert_eq!((probe.count("llmperf.client.calls"), probe.count("llmperf.server.calls")), (1.0, 1.0));
}

#[tokio::test]
async fn an_http2_server_is_measured_too() {
    use tower::{Layer as _, ServiceExt as _};
    let probe = Probe::new();
    let service = tower::service_fn(|request: Request<llmperf_http::RequestBody<Full<Bytes>>>| async move {
        assert_eq!(request.into_body().collect().await.unwrap().to_bytes(), CHAT);
        let trailers = Step::Trailers(http::HeaderMap::new());
        let steps = STREAM.map(|part| Step::Data(part.into())).into_iter().chain([trailers]);
        Ok::<Response<Steps>, Infallible>(answer("text/event-stream", Steps::new(steps)))
    });
    let measured = Measure::new().instrumentation(probe.instrumentation()).server().layer(service);
    // The authority of HTTP/2 stands in the URI.
    let request = crate::wire::post("https://llm.internal:8443/v1/chat/completions", CHAT);
    let body = measured.oneshot(request).await.unwrap().into_body().collect().await.unwrap();
    assert!(body.trailers().is_some());
    let span = probe.span();
    assert_eq!(attribute(&span, "server.address").as_deref(), Some("llm.internal"));
    assert_eq!(attribute(&span, "server.port").as_deref(), Some("8443"));
}
