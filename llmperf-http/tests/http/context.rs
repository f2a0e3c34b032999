//! Trace context on its way out and in, and spans that nest.

use http::{Request, Response};
use llmperf_core::{
    opentelemetry::{
        Context,
        trace::{FutureExt as _, Span as _, SpanKind, TraceContextExt as _, Tracer as _, TracerProvider as _},
    },
    testing::Probe,
};
use tower::{Layer as _, ServiceExt as _, service_fn};

use crate::{
    bodies::Steps,
    wire::{CHAT, STREAM, Server, answer, measure, post, reqwest, tower},
};

#[tokio::test]
async fn trace_context_goes_out_only_when_asked_and_names_the_span_of_the_call() {
    let server = Server::start(|_| answer("text/event-stream", Steps::of(STREAM))).await;
    for inject in [false, true] {
        let probe = Probe::new();
        let measure = measure(&probe).inject_trace_context(inject);
        let url = server.url("/v1/chat/completions");
        reqwest(measure.clone()).post(&url).body(CHAT).send().await.unwrap().bytes().await.unwrap();
        tower(measure).oneshot(post(&url, CHAT)).await.unwrap();
        let asked = server.asked();
        for (asked, span) in asked.iter().rev().take(2).rev().zip(probe.spans()) {
            let parent = asked.headers.get("traceparent").map(|parent| parent.to_str().unwrap());
            let context = &span.span_context;
            let expected = format!("00-{}-{}-01", context.trace_id(), context.span_id());
            assert_eq!(parent, inject.then_some(&*expected));
            assert!(!asked.headers.contains_key("tracestate"));
        }
    }
}

#[tokio::test]
async fn the_call_is_a_child_of_the_span_around_it_and_what_its_service_does_its_child() {
    let probe = Probe::new();
    let tracer = probe.tracer_provider().tracer("app");
    let service = service_fn(|_: Request<_>| {
        tracer.start("connect").end();
        async {
            tracer.start("send").end();
            Ok::<Response<Steps>, std::io::Error>(answer("text/event-stream", Steps::of(STREAM)))
        }
    });
    let around = Context::new().with_span(tracer.start("request"));
    let request = post("http://api.openai.com/v1/chat/completions", CHAT);
    let sent = measure(&probe).layer(service).oneshot(request).with_context(around.clone());
    drop(sent.await.unwrap());
    around.span().end();
    assert_eq!(probe.tree(), "request\n  chat gpt-4o-mini\n    connect\n    send\n");
}

#[tokio::test]
async fn a_server_takes_its_parent_from_the_request_unless_told_otherwise_or_within_a_span() {
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (extract, within, remote) in [(true, false, true), (false, false, false), (true, true, false)] {
        let probe = Probe::new();
        let service = service_fn(|_: Request<_>| async {
            Ok::<Response<Steps>, std::io::Error>(answer("text/event-stream", Steps::of(STREAM)))
        });
        let mut request = post("/v1/chat/completions", CHAT);
        request.headers_mut().insert("traceparent", parent.parse().unwrap());
        let around = if within {
            Context::new().with_span(probe.tracer_provider().tracer("app").start("request"))
        } else {
            Context::new()
        };
        let served = measure(&probe).extract_trace_context(extract).server().layer(service).oneshot(request);
        drop(served.with_context(around.clone()).await.unwrap());
        let span = probe.spans().into_iter().find(|span| span.name == "chat gpt-4o-mini").unwrap();
        assert_eq!(span.span_kind, SpanKind::Server);
        assert_eq!(span.parent_span_id.to_string() == "00f067aa0ba902b7", remote);
        assert_eq!(span.parent_span_is_remote, remote);
        if within {
            assert_eq!(span.parent_span_id, around.span().span_context().span_id());
        }
    }
}
