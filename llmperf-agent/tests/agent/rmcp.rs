//! The real MCP library, client and server in one process over a pipe: what the server finds in `_meta`, and what its answers
//! come to.

use std::{collections::HashMap, sync::Arc};

use llmperf_agent::{Work as _, mcp, run, tool};
use llmperf_core::{
    opentelemetry::{
        Context,
        propagation::TextMapPropagator as _,
        trace::{SpanKind, TraceContextExt as _, Tracer as _, TracerProvider as _},
    },
    testing::Probe,
};
use opentelemetry_sdk::{propagation::TraceContextPropagator, trace::SdkTracerProvider};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, RequestMetaObject,
        RequestParamsMeta as _, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use tokio::sync::Semaphore;

use crate::attribute;

/// A server that makes a span of its own for each call, as a child of what `_meta` names.
#[derive(Clone)]
struct Desk {
    tracers: SdkTracerProvider,
    /// Lets a call go on that waits.
    gate: Arc<Semaphore>,
}

impl ServerHandler for Desk {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::default();
        config.capabilities = ServerCapabilities::builder().enable_tools().build();
        config
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let texts = context.meta.iter().filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
        let carrier: HashMap<String, String> = texts.collect();
        // The SDK's own reader, not ours.
        let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &carrier);
        let tracer = self.tracers.tracer("server");
        let name = format!("serve {}", request.name);
        let span = tracer.span_builder(name).with_kind(SpanKind::Server).start_with_context(&tracer, &parent);
        let cx = Context::new().with_span(span);
        let answer = match &*request.name {
            "refuse" => Ok(CallToolResult::error(vec![ContentBlock::text("no seats left")]).into()),
            "break" => Err(ErrorData::invalid_params("unknown city", None)),
            "wait" => {
                let _permit = self.gate.acquire().await;
                Ok(CallToolResult::success(vec![]).into())
            }
            _ => Ok(CallToolResult::success(vec![ContentBlock::text("booked")]).into()),
        };
        cx.span().end();
        answer
    }
}

/// The parameters of a call, with the trace context of where it is made.
fn params(tool: &'static str) -> CallToolRequestParams {
    let mut params = CallToolRequestParams::new(tool);
    let mut meta = RequestMetaObject::new();
    mcp::inject(|key, value| drop(meta.insert(key.to_owned(), value.into())));
    if !meta.is_empty() {
        params.set_meta(meta);
    }
    params
}

#[tokio::test]
async fn a_server_s_span_is_a_child_of_the_call_or_of_the_tool_around_it() {
    let probe = Probe::new();
    let desk = Desk { tracers: probe.tracer_provider().clone(), gate: Arc::new(Semaphore::new(0)) };
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (client, server) = tokio::join!(().serve(near), desk.serve(far));
    let (client, server) = (client.unwrap(), server.unwrap());
    let call = async |name: &'static str| {
        let answer = async { client.call_tool(params(name)).await };
        let operation = mcp::call_tool(name).transport("pipe");
        operation.run_judged(answer, |answer| answer.is_error == Some(true)).await
    };
    let trip = async {
        call("book").await.unwrap();
        call("refuse").await.unwrap();
        assert!(call("break").await.is_err());
        tool("trip").run(call("refuse")).await.unwrap();
        let waiting = call("wait");
        let mut waiting = Box::pin(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(waiting);
        Ok::<_, std::io::Error>(())
    };
    probe.instrumentation().scope(async { run("desk").run(trip).await }).await.unwrap();
    client.cancel().await.unwrap();
    server.waiting().await.unwrap();
    let tree = probe.tree();
    for branch in [
        "\n  tools/call book\n    serve book\n",
        "\n  tools/call refuse !\n    serve refuse\n",
        "\n  tools/call break !\n    serve break\n",
        "\n  execute_tool trip !\n    serve refuse\n",
        "\n  tools/call wait\n",
    ] {
        assert!(tree.contains(branch), "{branch} is not in\n{tree}");
    }
    assert!(tree.starts_with("invoke_agent desk\n") && !tree.contains("orphan"), "{tree}");
    let spans = probe.spans();
    let of = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    assert_eq!(attribute(of("tools/call refuse"), "error.type"), Some("tool_error"));
    assert_eq!(attribute(of("execute_tool trip"), "error.type"), Some("tool_error"));
    assert_eq!(attribute(of("tools/call wait"), "llmperf.outcome"), Some("cancelled"));
    let error = attribute(of("tools/call break"), "error.type").unwrap();
    assert!(error.ends_with("ServiceError"), "{error}");
    assert_eq!(probe.count("mcp.client.operation.duration"), 5.0);
    assert_eq!(probe.points("gen_ai.invoke_agent.tool_calls")[0].sum, 5.0);
}
