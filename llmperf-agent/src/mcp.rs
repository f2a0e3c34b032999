//! Requests to servers of the Model Context Protocol, whichever client library sends them.
//!
//! The client library stays the application's: what is asked for is told by hand, the trace context is written into
//! `_meta` by [`inject`], and what came back is judged by a closure.
//!
//! ```
//! use std::collections::HashMap;
//! use llmperf_agent::{Work as _, mcp, tool};
//!
//! struct Answer { is_error: bool }
//!
//! async fn call(meta: HashMap<String, String>) -> Result<Answer, std::io::Error> {
//!     // … the client's own call, with `meta` as the `_meta` of its parameters
//! #   Ok(Answer { is_error: meta.contains_key("no-such-key") })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let answer = mcp::call_tool("book").run_judged(
//!     async {
//!         let mut meta = HashMap::new();
//!         mcp::inject(|key, value| drop(meta.insert(key.to_owned(), value)));
//!         call(meta).await
//!     },
//!     |answer| answer.is_error,
//! );
//! # assert!(answer.await.is_ok());
//! # }
//! ```

mod trace;

use std::{future::Future, sync::Arc, time::Duration};

use llmperf_core::{
    Classify,
    part::{Beginning, Custom, Ended, Guard, Opening, Text, Title, Verdict, Work, WorkFuture},
    semconv::{self, agent as name},
    stats::SeriesKind,
};
use opentelemetry::{
    KeyValue,
    trace::{SpanKind, TraceContextExt as _},
};

use crate::{
    custom::custom_setters,
    metrics::Metric,
    records::{Key, Recording, error_type, seconds},
    running::{Running, Totals},
    span,
    tool::Calling,
};

pub use trace::{inject, inject_context};

/// `error.type` of a tool call that failed as a value.
pub(crate) const TOOL_ERROR: &str = "tool_error";

/// The method of a tool call.
const CALL_TOOL: &str = "tools/call";

/// A request to an MCP server, as its client sees it. Its span is `{method} {tool or prompt}`; right inside a
/// [`tool`](crate::tool()) of ours it has none: the first such request is told on the tool's span, as the convention asks.
#[derive(Debug)]
#[must_use = "an operation is measured once a verb arms it: `run_judged`, `run`, `run_then`, `in_scope`, `start`"]
pub struct Operation {
    method: Text,
    tool: Text,
    prompt: Text,
    transport: Text,
    protocol_version: Text,
    session: Text,
    request_id: Text,
    resource: Text,
    status: Option<i64>,
    custom: Custom,
    /// The tool call around it.
    calling: Option<Arc<Calling>>,
    /// The run whose tool call this is; none if it is a tool's own.
    run: Option<Arc<Running>>,
    /// The context of the tool whose span it is told on.
    told_on: Option<opentelemetry::Context>,
}

/// A request by its method: `tools/list`, `resources/read`, `initialize`.
pub fn operation(method: impl Into<Text>) -> Operation {
    Operation {
        method: method.into(),
        tool: Text::default(),
        prompt: Text::default(),
        transport: Text::default(),
        protocol_version: Text::default(),
        session: Text::default(),
        request_id: Text::default(),
        resource: Text::default(),
        status: None,
        custom: Custom::default(),
        calling: None,
        run: None,
        told_on: None,
    }
}

/// A call of the tool `name` (`tools/call`). Outside any [`tool`](crate::tool()) of ours it counts as a tool call of the run.
pub fn call_tool(name: impl Into<Text>) -> Operation {
    Operation { tool: name.into(), ..operation(CALL_TOOL) }
}

impl Operation {
    /// The prompt that is asked for (`prompts/get`).
    pub fn prompt(self, name: impl Into<Text>) -> Self {
        Self { prompt: name.into(), ..self }
    }

    /// The resource that is read; on the span alone.
    pub fn resource(self, uri: impl Into<Text>) -> Self {
        Self { resource: uri.into(), ..self }
    }

    /// How the server is reached: `pipe` for standard input and output, `tcp` for HTTP.
    pub fn transport(self, transport: impl Into<Text>) -> Self {
        Self { transport: transport.into(), ..self }
    }

    /// The version of the protocol that was negotiated.
    pub fn protocol_version(self, version: impl Into<Text>) -> Self {
        Self { protocol_version: version.into(), ..self }
    }

    /// The session with the server; on the span alone.
    pub fn session(self, id: impl Into<Text>) -> Self {
        Self { session: id.into(), ..self }
    }

    /// The id of the JSON-RPC request; on the span alone.
    pub fn request_id(self, id: impl Into<Text>) -> Self {
        Self { request_id: id.into(), ..self }
    }

    custom_setters!();

    /// The code of a JSON-RPC error that came back; on the span alone.
    pub fn status(&mut self, code: i64) {
        self.status = Some(code);
    }

    /// Awaits the response: `Err` is an error, and so is an `Ok` of which `is_error` is true (`tool_error`).
    #[allow(clippy::type_complexity, reason = "the closure that judges is a part of the type")]
    pub fn run_judged<F, T, E, By, J>(
        self,
        future: F,
        is_error: J,
    ) -> WorkFuture<F, Self, impl FnOnce(Guard<Self>, Result<T, E>) -> Result<T, E>>
    where
        F: Future<Output = Result<T, E>>,
        E: Classify<By>,
        J: FnOnce(&T) -> bool,
    {
        self.run_then(future, |guard, result: Result<T, E>| {
            let verdict = match &result {
                Ok(value) if is_error(value) => Verdict::failed(TOOL_ERROR),
                _ => Verdict::of(&result),
            };
            guard.end(verdict);
            result
        })
    }

    fn is_tool_call(&self) -> bool {
        self.method.as_str() == CALL_TOOL
    }

    fn subject(&self) -> &Text {
        if self.tool.as_str().is_empty() { &self.prompt } else { &self.tool }
    }

    /// What is known at its start; on a span of its own the tool and the operation, too.
    fn told(&self, on_its_own: bool) -> Vec<KeyValue> {
        let none = Text::default();
        let texts = [
            (name::MCP_METHOD, &self.method),
            (name::TOOL_NAME, if on_its_own { &self.tool } else { &none }),
            (name::PROMPT_NAME, &self.prompt),
            (name::NETWORK_TRANSPORT, &self.transport),
            (name::MCP_PROTOCOL_VERSION, &self.protocol_version),
            (name::MCP_SESSION, &self.session),
            (name::JSONRPC_ID, &self.request_id),
            (name::MCP_RESOURCE, &self.resource),
        ];
        let operation = (on_its_own && self.is_tool_call()).then_some("execute_tool");
        span::told(operation, &texts, &self.custom)
    }

    fn status_attribute(&self) -> Option<KeyValue> {
        self.status.map(|code| KeyValue::new(name::RPC_STATUS, code.to_string()))
    }
}

impl Work for Operation {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        let run = beginning.nearest::<Running>();
        // A tool around the run that we are in is not ours.
        self.calling = beginning.nearest::<Calling>().filter(|calling| calling.is_of(run.as_ref()));
        self.run = run.filter(|_| self.calling.is_none() && self.is_tool_call());
        let takes = |calling: &&Arc<Calling>| self.is_tool_call() && calling.take_span(beginning.parent);
        if let Some(calling) = self.calling.as_ref().filter(takes) {
            let told = self.told(false).into_iter().filter(|told| !calling.has(&told.key));
            beginning.parent.span().set_attributes(told);
            self.told_on = Some(beginning.parent.clone());
            return Opening::without_span();
        }
        Opening::span(span::named(self.method.as_str(), self.subject()), SpanKind::Client, self.told(true))
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Operation, self.method.clone(), self.subject().clone())
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        if let Some(calling) = self.calling.as_ref().filter(|_| self.is_tool_call()) {
            calling.report(ended.error_type == Some(TOOL_ERROR));
        }
        if let Some(run) = &self.run {
            run.add(&Totals { tool_calls: 1, ..Totals::default() });
        }
        if let (Some(context), Some(status)) = (&self.told_on, self.status_attribute()) {
            context.span().set_attribute(status);
        }
        let operation = if self.is_tool_call() { Text::from("execute_tool") } else { Text::default() };
        let names = [
            (name::MCP_METHOD, self.method.clone()),
            (semconv::OPERATION, operation),
            (name::TOOL_NAME, self.tool.clone()),
            (name::PROMPT_NAME, self.prompt.clone()),
            (name::NETWORK_TRANSPORT, self.transport.clone()),
            (semconv::ERROR_TYPE, error_type(ended)),
        ];
        let key = Key { names, closed: [], labels: [None, None] };
        let recording = Recording::of(ended);
        recording.with(&recording.records.operations, &key, |instruments, attributes| {
            seconds(instruments, Metric::McpOperation, ended.duration, attributes);
        });
    }

    fn attributes(&self, _: &Ended<'_>) -> Vec<KeyValue> {
        self.status_attribute().into_iter().collect()
    }

    fn deadline(&self) -> Option<Duration> {
        self.custom.deadline()
    }
}
