//! MCP operations: spans, outcomes, what they share with the tool around them, the trace context.

use std::{collections::BTreeMap, io, time::Duration};

use llmperf_agent::{Work as _, mcp, run, tool};
use llmperf_core::{
    opentelemetry::{
        Context, KeyValue,
        baggage::BaggageExt as _,
        trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState},
    },
    stats::SeriesKind,
    testing::Probe,
};

use crate::{attribute, failing, silent};

type Meta = BTreeMap<String, String>;

fn injected() -> Meta {
    let mut meta = Meta::new();
    mcp::inject(|key, value| drop(meta.insert(key.to_owned(), value)));
    meta
}

#[test]
fn an_operation_is_a_client_span_with_the_attributes_of_the_convention() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let call = mcp::call_tool("book").session("s-1").transport("pipe").protocol_version("2025-11-25");
        let mut call = call.request_id("7").attribute("tenant.id", "acme").start();
        call.status(-32_602);
        call.fail("-32602");
        mcp::operation("prompts/get").prompt("greeting").start().complete();
        mcp::operation("resources/read").resource("file:///menu").start().complete();
        mcp::operation("tools/list").start().complete();
    });
    let tree = "tools/call book !\nprompts/get greeting\nresources/read\ntools/list\n";
    let mut lines: Vec<_> = probe.tree().lines().map(str::to_owned).collect();
    let mut expected: Vec<_> = tree.lines().map(str::to_owned).collect();
    lines.sort();
    expected.sort();
    assert_eq!(lines, expected);
    let spans = probe.spans();
    assert!(spans.iter().all(|span| format!("{:?}", span.span_kind) == "Client"));
    for (key, value) in [
        ("mcp.method.name", "tools/call"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "book"),
        ("mcp.session.id", "s-1"),
        ("network.transport", "pipe"),
        ("mcp.protocol.version", "2025-11-25"),
        ("jsonrpc.request.id", "7"),
        ("rpc.response.status_code", "-32602"),
        ("error.type", "-32602"),
        ("tenant.id", "acme"),
    ] {
        assert_eq!(attribute(&spans[0], key), Some(value), "{key}");
    }
    assert_eq!(attribute(&spans[1], "gen_ai.prompt.name"), Some("greeting"));
    assert_eq!(attribute(&spans[2], "mcp.resource.uri"), Some("file:///menu"));
    assert_eq!(attribute(&spans[3], "gen_ai.operation.name"), None);
    let points = probe.points("mcp.client.operation.duration");
    assert_eq!(points.len(), 4);
    let book = points.iter().find(|point| point.attribute("gen_ai.tool.name") == "book").unwrap();
    let keys: Vec<_> = book.attributes.keys().map(String::as_str).collect();
    let expected = ["error.type", "gen_ai.operation.name", "gen_ai.tool.name", "mcp.method.name", "network.transport"];
    assert_eq!(keys, expected, "no ids");
    assert!(probe.instrumentation().snapshot().get(SeriesKind::Operation, "tools/call", "book").is_some());
}

#[tokio::test]
async fn each_way_an_operation_ends_has_its_outcome() {
    let probe = Probe::new();
    let calls = async {
        let _ = mcp::call_tool("ok").run_judged(async { Ok::<_, io::Error>(false) }, |is_error| *is_error).await;
        let _ = mcp::call_tool("value").run_judged(async { Ok::<_, io::Error>(true) }, |is_error| *is_error).await;
        let _ = mcp::call_tool("err").run_judged(async { failing::<bool>() }, |is_error| *is_error).await;
        let _ = mcp::call_tool("run").run(async { failing::<bool>() }).await;
        silent(mcp::call_tool("dropped").run(std::future::pending::<Result<(), io::Error>>())).await;
        let late = mcp::call_tool("late").deadline(Duration::ZERO);
        silent(late.run(std::future::pending::<Result<(), io::Error>>())).await;
    };
    probe.instrumentation().scope(calls).await;
    let points = probe.points("mcp.client.operation.duration");
    let told: Meta = points
        .iter()
        .map(|point| (point.attribute("gen_ai.tool.name").to_owned(), point.attribute("error.type").to_owned()))
        .collect();
    let expected = [
        ("ok", ""),
        ("value", "tool_error"),
        ("err", "connection_reset"),
        ("run", "connection_reset"),
        ("dropped", ""),
        ("late", "timeout"),
    ];
    assert_eq!(told, expected.map(|(tool, error)| (tool.to_owned(), error.to_owned())).into());
}

#[tokio::test]
async fn right_inside_a_tool_the_first_call_is_told_on_its_span() {
    let probe = Probe::new();
    let book = async {
        let refused = async { Ok::<_, io::Error>(injected()) };
        let meta =
            mcp::call_tool("book").session("s-1").label("tenant", "other").run_judged(refused, |_| false).await?;
        let second = async { Ok::<_, io::Error>(injected()) };
        let other = mcp::call_tool("pay").run_judged(second, |_| true).await?;
        mcp::operation("tools/list").start().complete();
        Ok::<_, io::Error>((meta, other))
    };
    let (meta, other) =
        probe.instrumentation().scope(async { tool("trip").label("tenant", "acme").run(book).await }).await.unwrap();
    assert_eq!(probe.tree(), "execute_tool trip !\n  tools/call pay !\n  tools/list\n");
    let spans = probe.spans();
    let of = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let trip = of("execute_tool trip");
    assert_eq!(attribute(trip, "mcp.method.name"), Some("tools/call"));
    assert_eq!(attribute(trip, "mcp.session.id"), Some("s-1"));
    assert_eq!(attribute(trip, "gen_ai.tool.name"), Some("trip"), "its own name stands");
    assert_eq!(attribute(trip, "tenant"), Some("acme"), "of one key the tool's own value stands");
    assert_eq!(attribute(trip, "gen_ai.operation.name"), Some("execute_tool"));
    assert_eq!(attribute(trip, "error.type"), Some("tool_error"), "the last one reported a failure");
    let parent = |span: &opentelemetry_sdk::trace::SpanData| {
        format!("00-{}-{}-01", span.span_context.trace_id(), span.span_context.span_id())
    };
    assert_eq!(meta["traceparent"], parent(trip));
    assert_eq!(other["traceparent"], parent(of("tools/call pay")));
    assert_eq!(probe.count("mcp.client.operation.duration"), 3.0);
    assert_eq!(probe.count("llmperf.tool.calls"), 1.0);
}

#[tokio::test]
async fn a_tool_whose_last_request_went_well_has_not_failed() {
    let probe = Probe::new();
    let retried = async {
        for attempt in 0..3 {
            let answer = async { Ok::<_, io::Error>(attempt) };
            mcp::call_tool("book").run_judged(answer, |attempt| *attempt < 2).await?;
        }
        Ok::<_, io::Error>(())
    };
    probe.instrumentation().scope(async { tool("trip").run(retried).await }).await.unwrap();
    assert_eq!(probe.points("llmperf.tool.calls")[0].attribute("llmperf.outcome"), "complete");
}

#[test]
fn outside_any_tool_of_the_run_it_is_a_tool_call_of_the_run() {
    let probe = Probe::new();
    let book = || mcp::call_tool("book").start().complete();
    probe.instrumentation().sync_scope(|| {
        let mut outer = run("outer").start();
        outer.in_scope(|| {
            book();
            mcp::operation("tools/list").start().complete();
            tool("trip").in_scope(
                || {
                    (0..3).for_each(|_| book());
                    // The tool around this run is none of its own.
                    run("inner").in_scope(book, |guard, ()| guard.complete());
                },
                |guard, ()| guard.complete(),
            );
        });
        outer.complete();
    });
    let calls = probe.points("gen_ai.invoke_agent.tool_calls");
    let of = |agent: &str| calls.iter().find(|point| point.attribute("gen_ai.agent.name") == agent).unwrap().sum;
    assert_eq!((of("outer"), of("inner")), (2.0, 1.0));
}

#[test]
fn the_trace_context_is_written_as_w3c_has_it() {
    let (trace, span) = (TraceId::from(0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736), SpanId::from(0x00f0_67aa_0ba9_02b7));
    let state = TraceState::from_key_value([("vendor", "1"), ("other", "2")]).unwrap();
    let context = |flags| {
        let span = SpanContext::new(trace, span, flags, true, state.clone());
        Context::new().with_remote_span_context(span)
    };
    let written = |context: &Context| {
        let mut meta = Meta::new();
        mcp::inject_context(context, |key, value| drop(meta.insert(key.to_owned(), value)));
        meta
    };
    let meta = |entries: &[(&str, &str)]| -> Meta {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    };
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
    let sampled = meta(&[("traceparent", &format!("{parent}-01")), ("tracestate", "vendor=1,other=2")]);
    assert_eq!(written(&context(TraceFlags::SAMPLED)), sampled);
    let unsampled = written(&context(TraceFlags::default()));
    assert_eq!(unsampled["traceparent"], format!("{parent}-00"));
    let baggage = Context::new().with_baggage([KeyValue::new("tenant", "Łódź, 50 % off;\"x\"")]);
    let encoded = "tenant=%C5%81%C3%B3d%C5%BA%2C%2050%20%25%20off%3B%22x%22";
    assert_eq!(written(&baggage), meta(&[("baggage", encoded)]));
    assert_eq!(written(&Context::new()), Meta::new());
    assert_eq!(injected(), Meta::new(), "no trace, nothing written");
}
