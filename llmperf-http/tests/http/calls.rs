//! What a request is taken for, and what its span and metrics say.

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use llmperf_core::{Outcome, testing::Probe};
use llmperf_http::{Dialect, Endpoint, Measure, Operation};
use opentelemetry_sdk::trace::SpanData;
use tower::{Service as _, ServiceExt as _};

use crate::{
    bodies::{Step, Steps},
    wire::{CHAT, STREAM, Server, answer, attribute, measure, post, reqwest, tower},
};

fn json(body: &'static str) -> Response<Steps> {
    answer("application/json", Steps::of([body]))
}

/// Sends a request through the layer, reads its answer, gives what the probe kept.
async fn sent(probe: &Probe, measure: Measure, request: Request<Full<Bytes>>) -> Bytes {
    let mut client = tower(measure);
    let response = client.ready().await.unwrap().call(request).await.unwrap();
    let _ = probe;
    response.into_body().collect().await.unwrap().to_bytes()
}

fn said(span: &SpanData, key: &str) -> String {
    attribute(span, key).unwrap_or_default()
}

#[tokio::test]
async fn a_streamed_chat_has_request_answer_and_http_on_its_span() {
    let server = Server::start(|_| {
        let mut response = answer("text/event-stream", Steps::of(STREAM));
        for (name, value) in
            [("x-request-id", "req-1"), ("x-ratelimit-remaining-tokens", "149"), ("set-cookie", "secret")]
        {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    })
    .await;
    for through_reqwest in [false, true] {
        let probe = Probe::new();
        let url = server.url("/v1/chat/completions?key=secret");
        if through_reqwest {
            reqwest(measure(&probe)).post(&url).body(CHAT).send().await.unwrap().bytes().await.unwrap();
        } else {
            sent(&probe, measure(&probe), post(&url, CHAT)).await;
        }
        let span = probe.span();
        assert_eq!((&*span.name, probe.tree().as_str()), ("chat gpt-4o-mini", "chat gpt-4o-mini\n"));
        let size: usize = STREAM.iter().map(|part| part.len()).sum();
        for (key, value) in [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "gpt-4o-mini"),
            ("gen_ai.request.stream", "true"),
            ("gen_ai.request.max_tokens", "9"),
            ("gen_ai.response.model", "m-1"),
            ("gen_ai.usage.output_tokens", "2"),
            ("server.address", "127.0.0.1"),
            ("server.port", &server.address.port().to_string()),
            ("http.request.method", "POST"),
            ("http.request.body.size", &CHAT.len().to_string()),
            ("http.response.status_code", "200"),
            ("http.response.body.size", &size.to_string()),
            ("http.response.header.x-request-id", r#"["req-1"]"#),
            ("http.response.header.x-ratelimit-remaining-tokens", r#"["149"]"#),
            ("llmperf.outcome", "complete"),
            ("llmperf.output_chunks", "2"),
        ] {
            assert_eq!(said(&span, key), value, "{key}");
        }
        assert!(!format!("{span:?}").contains("secret"));
        assert_eq!(probe.count("llmperf.client.time_to_first_token"), 1.0);
        assert_eq!(probe.count("llmperf.client.time_to_head"), 1.0);
        assert_eq!(probe.count("llmperf.internal.events"), 0.0);
    }
}

#[tokio::test]
async fn a_chat_that_comes_whole_has_usage_but_no_marks_of_streams() {
    let server = Server::start(|_| {
        json(
            r#"{"id":"c1","model":"m-1","choices":[{"index":0,"message":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#,
        )
    })
    .await;
    let probe = Probe::new();
    let request = r#"{"model":"gpt-4o-mini","messages":[{"role":"user","content":"Hi"}]}"#;
    sent(&probe, measure(&probe), post(&server.url("/v1/chat/completions"), request)).await;
    let span = probe.span();
    assert_eq!(said(&span, "gen_ai.usage.output_tokens"), "2");
    assert_eq!(said(&span, "gen_ai.response.finish_reasons"), r#"["stop"]"#);
    assert_eq!(attribute(&span, "gen_ai.request.stream"), None);
    assert_eq!(attribute(&span, "llmperf.chunks"), None);
    assert_eq!(said(&span, "llmperf.outcome"), "complete");
    assert_eq!(probe.count("llmperf.client.time_to_first_token"), 0.0);
    assert_eq!(probe.count("llmperf.client.duration"), 1.0);
}

#[tokio::test]
async fn each_kind_of_endpoint_has_its_operation_and_the_usage_of_its_answer() {
    let cases = [
        (
            "/v1/completions",
            r#"{"model":"m","prompt":"Hi"}"#,
            r#"{"choices":[{"text":"x","finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":1}}"#,
            "text_completion m",
        ),
        (
            "/v1/embeddings",
            r#"{"model":"e","input":["Hi"],"dimensions":2}"#,
            r#"{"data":[{"embedding":[0.1,0.2]}],"model":"e-1","usage":{"prompt_tokens":7,"total_tokens":7}}"#,
            "embeddings e",
        ),
        (
            "/api/embed",
            r#"{"model":"e","input":["Hi"]}"#,
            r#"{"model":"e","embeddings":[[0.1]],"prompt_eval_count":7}"#,
            "embeddings e",
        ),
        (
            "/v1/rerank",
            r#"{"model":"r","query":"q","documents":["d"]}"#,
            r#"{"results":[{"index":0,"relevance_score":0.9}],"usage":{"prompt_tokens":7,"total_tokens":7}}"#,
            "rerank r",
        ),
        (
            "/v1/messages",
            r#"{"model":"c","messages":[{"role":"user","content":"Hi"}],"max_tokens":5}"#,
            r#"{"type":"message","id":"x","model":"c-1","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#,
            "chat c",
        ),
        (
            "/v1beta/models/g:generateContent",
            r#"{"contents":[{"parts":[{"text":"Hi"}]}]}"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1}}"#,
            "generate_content g",
        ),
    ];
    let server =
        Server::start(move |asked| json(cases.iter().find(|(path, ..)| asked.uri.path() == *path).unwrap().2)).await;
    for (path, request, answer, name) in cases {
        let probe = Probe::new();
        assert_eq!(sent(&probe, measure(&probe), post(&server.url(path), request)).await, answer);
        let span = probe.span();
        assert_eq!(span.name, name);
        assert_eq!(said(&span, "gen_ai.usage.input_tokens"), "7", "{name}");
        assert_eq!(said(&span, "llmperf.outcome"), "complete", "{name}");
        if name.starts_with("embeddings") {
            assert_eq!(probe.count("gen_ai.client.operation.duration"), 1.0);
            assert_eq!(probe.count("gen_ai.client.inference.duration"), 0.0);
        }
    }
}

#[tokio::test]
async fn what_is_no_call_passes_and_leaves_nothing() {
    let server = Server::start(|_| json("{}")).await;
    let probe = Probe::new();
    let mut client = tower(measure(&probe).ignore("/v1/rerank").ignore("127.0.0.1/v1/embed*"));
    let chat = r#"{"model":"m","messages":[]}"#;
    let get = Request::get(server.url("/v1/chat/completions")).body(Full::default()).unwrap();
    for request in [
        get,
        post(&server.url("/v1/models"), chat),
        post(&server.url("/v1/files"), chat),
        post(&server.url("/v1/rerank"), chat),
        post(&server.url("/v1/embeddings"), chat),
        post(&server.url("/api/chat"), r#"{"room":"lobby","text":"hello"}"#),
        post(&server.url("/api/chat"), "a form=1"),
        post(&server.url("/v1/chat/completions"), ""),
    ] {
        let body = client.ready().await.unwrap().call(request).await.unwrap().into_body();
        assert!(!body.is_measured() && body.timing().is_none());
        assert_eq!(body.collect().await.unwrap().to_bytes(), "{}");
    }
    reqwest(measure(&probe)).get(server.url("/health")).send().await.unwrap();
    reqwest(measure(&probe)).post(server.url("/v1/chat/completions")).send().await.unwrap();
    assert!(probe.spans().is_empty() && probe.metric_names().is_empty());
}

#[tokio::test]
async fn own_endpoints_hosts_and_closures_are_recognised() {
    let server = Server::start(|_| answer("text/event-stream", Steps::of(STREAM))).await;
    let own = Endpoint::new(Operation::Chat, "ours").speaking(Dialect::OpenAiChat);
    let (by_path, by_closure) = (own.clone(), own.of_model("from-header"));
    let host = server.address.to_string();
    let build = |probe: &Probe| {
        let by_closure = by_closure.clone();
        measure(probe)
            .endpoint("/generate", by_path.clone())
            .host(&host, "vllm")
            .detect(move |head| head.headers().contains_key("x-model").then(|| by_closure.clone()))
    };
    for (path, header, name, provider) in [
        ("/generate", false, "chat asked", "vllm"),
        ("/v1/chat/completions", false, "chat asked", "vllm"),
        ("/rpc", true, "chat from-header", "vllm"),
    ] {
        let probe = Probe::new();
        let mut request = post(&server.url(path), r#"{"model":"asked","inputs":"x"}"#);
        if header {
            request.headers_mut().insert("x-model", HeaderValue::from_static("1"));
        }
        sent(&probe, build(&probe), request).await;
        let span = probe.span();
        assert_eq!((&*span.name, said(&span, "gen_ai.provider.name")), (name, provider.to_owned()), "{path}");
        assert_eq!(said(&span, "gen_ai.usage.output_tokens"), "2");
    }
}

#[tokio::test]
async fn a_closure_that_panics_recognises_nothing_and_harms_nobody() {
    let server = Server::start(|_| json("{}")).await;
    let probe = Probe::new();
    let panics = measure(&probe).detect(|_| panic!("on purpose"));
    assert_eq!(sent(&probe, panics.clone(), post(&server.url("/rpc"), "{}")).await, "{}");
    assert_eq!(reqwest(panics).post(server.url("/rpc")).send().await.unwrap().text().await.unwrap(), "{}");
    assert!(probe.spans().is_empty());
    let caught = probe.points("llmperf.internal.events");
    assert_eq!((caught[0].attribute("llmperf.internal.kind"), caught[0].sum), ("caught_panic", 2.0));
}

#[tokio::test]
async fn a_server_that_hangs_up_is_an_error_of_the_clients_own() {
    let hangs_up = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/chat/completions", hangs_up.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = hangs_up.accept().await.unwrap();
            // What came is taken, so that the end is no reset.
            let mut asked = Vec::new();
            while !asked.ends_with(CHAT.as_bytes()) {
                tokio::io::AsyncReadExt::read_buf(&mut stream, &mut asked).await.unwrap();
            }
        }
    });
    let probe = Probe::new();
    reqwest(measure(&probe)).post(&url).body(CHAT).send().await.unwrap_err();
    let span = probe.span();
    assert_eq!(
        (said(&span, "llmperf.outcome"), said(&span, "error.type")),
        ("error".into(), "reqwest::error::Error".into())
    );
}

#[tokio::test]
async fn a_refused_call_is_an_error_by_the_code_of_its_body_else_by_its_status() {
    let server = Server::start(|asked| {
        let (status, body) = match asked.uri.query().unwrap() {
            "code" => (
                429,
                r#"{"error":{"message":"your prompt 'my secret'","type":"requests","code":"rate_limit_exceeded"}}"#,
            ),
            "type" => (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
            "page" => (502, "<html>Bad gateway</html>"),
            _ => (503, ""),
        };
        let mut response = json(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response.headers_mut().insert("retry-after", HeaderValue::from_static("7"));
        response
    })
    .await;
    for (query, error) in
        [("code", "rate_limit_exceeded"), ("type", "overloaded_error"), ("page", "502"), ("none", "503")]
    {
        for read in [true, false] {
            let probe = Probe::new();
            let url = server.url(&format!("/v1/chat/completions?{query}"));
            let response = reqwest(measure(&probe)).post(&url).body(CHAT).send().await.unwrap();
            let status = response.status().as_u16().to_string();
            if read {
                response.bytes().await.unwrap();
            } else {
                drop(response);
            }
            let span = probe.span();
            assert_eq!(said(&span, "llmperf.outcome"), "error");
            assert_eq!(said(&span, "error.type"), if read { error } else { &status }, "{query}");
            assert_eq!(said(&span, "http.response.header.retry-after"), r#"["7"]"#);
            assert!(!format!("{span:?}").contains("secret"));
        }
    }
}

#[tokio::test]
async fn what_is_dropped_before_or_after_its_head_is_cancelled() {
    // It takes connections, and answers none.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/chat/completions", silent.local_addr().unwrap());
    for polled in [false, true] {
        let probe = Probe::new();
        let mut by_tower = Box::pin(tower(measure(&probe)).oneshot(post(&url, CHAT)));
        let mut by_reqwest = Box::pin(reqwest(measure(&probe)).post(&url).body(CHAT).send());
        // Opened by the first poll, or not at all.
        if polled {
            assert!(futures::poll!(&mut by_tower).is_pending() && futures::poll!(&mut by_reqwest).is_pending());
        }
        drop((by_tower, by_reqwest));
        let outcomes: Vec<_> = probe.spans().iter().map(|span| said(span, "llmperf.outcome")).collect();
        assert_eq!(outcomes, if polled { vec!["cancelled"; 2] } else { vec![] });
    }

    let server = Server::start(|_| answer("text/event-stream", Steps::new([Step::Hang]))).await;
    let probe = Probe::new();
    let request = post(&server.url("/v1/chat/completions"), CHAT);
    drop(tower(measure(&probe)).oneshot(request).await.unwrap());
    let span = probe.span();
    assert_eq!(said(&span, "llmperf.outcome"), "cancelled");
    assert!(attribute(&span, "llmperf.time_to_head").is_some());
}

#[tokio::test]
async fn a_time_limit_of_the_client_is_an_error_of_that_name() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/chat/completions", silent.local_addr().unwrap());
    let probe = Probe::new();
    let limit = std::time::Duration::from_millis(1);
    reqwest(measure(&probe)).post(&url).body(CHAT).timeout(limit).send().await.unwrap_err();
    let span = probe.span();
    assert_eq!((said(&span, "llmperf.outcome"), said(&span, "error.type")), ("error".into(), "timeout".into()));
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error_named_after_its_cause() {
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{unused}/v1/chat/completions");
    let probe = Probe::new();
    let mut client = tower(measure(&probe));
    client.ready().await.unwrap().call(post(&url, CHAT)).await.unwrap_err();
    reqwest(measure(&probe)).post(&url).body(CHAT).send().await.unwrap_err();
    for span in probe.spans() {
        assert_eq!(
            (said(&span, "llmperf.outcome"), said(&span, "error.type")),
            ("error".into(), "connection_refused".into())
        );
    }
    assert_eq!(probe.spans().len(), 2);
}

#[tokio::test]
async fn a_coding_that_nobody_knows_blinds_and_is_said_once() {
    let server = Server::start(|_| {
        let mut response = answer("text/event-stream", Steps::of(["one", "two"]));
        response.headers_mut().insert("content-encoding", HeaderValue::from_static("dcb"));
        response
    })
    .await;
    let probe = Probe::new();
    let got = sent(&probe, measure(&probe), post(&server.url("/v1/chat/completions"), CHAT)).await;
    assert_eq!(got, "onetwo");
    assert_eq!(said(&probe.span(), "llmperf.outcome"), Outcome::Complete.as_str());
    let oddities = probe.points("llmperf.internal.events");
    assert_eq!(oddities.len(), 1);
    assert_eq!((oddities[0].attribute("llmperf.internal.kind"), oddities[0].sum), ("decoder_blind", 1.0));
}

#[tokio::test]
async fn a_whole_answer_that_breaks_off_is_interrupted() {
    let server = Server::start(|_| json(r#"{"choices":[{"message":{"content":"Hel"#)).await;
    let probe = Probe::new();
    let request = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;
    sent(&probe, measure(&probe), post(&server.url("/v1/chat/completions"), request)).await;
    assert_eq!(said(&probe.span(), "llmperf.outcome"), "interrupted");
}

#[tokio::test]
async fn errors_that_are_held_in_a_box_are_classified_too() {
    use tower::{Layer as _, service_fn};
    type Boxed = Box<dyn std::error::Error + Send + Sync>;
    let probe = Probe::new();
    let service = service_fn(|_: Request<_>| async {
        Err::<Response<Steps>, Boxed>(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into())
    });
    // How errors are classified is inferred.
    let measure = Measure::new().instrumentation(probe.instrumentation());
    let url = "http://api.openai.com/v1/chat/completions";
    measure.layer(service).oneshot(post(url, CHAT)).await.unwrap_err();
    assert_eq!(said(&probe.span(), "error.type"), "connection_reset");
}

#[tokio::test]
async fn a_request_that_is_coded_is_a_call_whose_model_is_not_known() {
    let server = Server::start(|_| answer("text/event-stream", Steps::of(STREAM))).await;
    let probe = Probe::new();
    let mut request = post(&server.url("/api/chat"), &[0x1F, 0x8B, 8, 0][..]);
    request.headers_mut().insert("content-encoding", HeaderValue::from_static("gzip"));
    sent(&probe, measure(&probe), request).await;
    assert_eq!(probe.span().name, "chat");
}

#[tokio::test]
async fn a_stream_that_was_not_asked_for_is_measured_as_what_it_is() {
    let server = Server::start(|_| answer("text/event-stream", Steps::of(STREAM))).await;
    let probe = Probe::new();
    let request = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;
    sent(&probe, measure(&probe), post(&server.url("/v1/chat/completions"), request)).await;
    let span = probe.span();
    assert_eq!(
        (said(&span, "llmperf.output_chunks"), said(&span, "gen_ai.request.stream")),
        ("2".into(), "true".into())
    );
}
