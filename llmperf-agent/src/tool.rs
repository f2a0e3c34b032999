//! A call of a tool.

mod calling;
mod failure;

use std::{future::Future, hash::Hash, sync::Arc, time::Duration};

use llmperf_core::{
    Classify,
    part::{Beginning, Custom, Ended, Guard, Opening, Text, Title, Verdict, Work, WorkFuture},
    semconv::{self, agent as name},
    stats::SeriesKind,
};
use opentelemetry::{Context, trace::SpanKind};

use crate::{
    custom::custom_setters,
    metrics::Metric,
    records::{Key, Recording, error_type, seconds},
    repeats::{self, hash_of},
    running::{Running, Totals},
    span,
};

pub(crate) use calling::Calling;
pub use failure::{ToolFailure, ToolOutcome};

/// A call of a tool, inside a run or outside any. Its span is `execute_tool {name}`.
///
/// Neither arguments nor results are recorded.
#[derive(Debug)]
#[must_use = "a tool call is measured once a verb arms it: `run`, `run_then`, `in_scope`, `start`"]
pub struct Tool {
    name: Text,
    kind: Text,
    call_id: Text,
    description: Text,
    arguments: Option<u64>,
    custom: Custom,
    run: Option<Arc<Running>>,
    calling: Option<Arc<Calling>>,
}

/// A future that is awaited as a call of a tool.
pub type ToolFuture<F, T> = WorkFuture<F, Tool, fn(Guard<Tool>, T) -> T>;

/// A call of the tool `name`.
///
/// ```
/// use llmperf_agent::{Work as _, tool};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # async fn weather(city: &str) -> Result<String, std::io::Error> { Ok(city.to_owned()) }
/// let report = tool("weather").arguments(&"Lisbon").run(weather("Lisbon")).await;
/// # assert!(report.is_ok());
/// # }
/// ```
pub fn tool(name: impl Into<Text>) -> Tool {
    Tool {
        name: name.into(),
        kind: Text::default(),
        call_id: Text::default(),
        description: Text::default(),
        arguments: None,
        custom: Custom::default(),
        run: None,
        calling: None,
    }
}

impl Tool {
    /// Its type, as the convention has it: `function`, `extension`, `datastore`.
    pub fn kind(self, kind: impl Into<Text>) -> Self {
        Self { kind: kind.into(), ..self }
    }

    /// The id that the model gave this call; on the span alone.
    pub fn call_id(self, id: impl Into<Text>) -> Self {
        Self { call_id: id.into(), ..self }
    }

    /// What the tool is for; on the span alone.
    pub fn description(self, description: impl Into<Text>) -> Self {
        Self { description: description.into(), ..self }
    }

    /// What it is called with, so that a loop shows: the third call of a run with the same is one. A hash is kept, until the
    /// run ends; nothing else, and it leaves the process nowhere.
    pub fn arguments<A: Hash + ?Sized>(self, arguments: &A) -> Self {
        Self { arguments: Some(hash_of(arguments)), ..self }
    }

    custom_setters!();

    /// Awaits a future as this call. `Err` is a failure of the [kind](ToolFailure::of) that its chain tells, or its type's
    /// name (`Elapsed`); for values and errors that know there is [`run_judged`](Self::run_judged).
    pub fn run<F, T, E, By>(self, future: F) -> ToolFuture<F, Result<T, E>>
    where
        F: Future<Output = Result<T, E>>,
        E: Classify<By>,
    {
        self.run_then(future, |guard, result: Result<T, E>| {
            let verdict = match &result {
                Ok(_) => guard.unjudged(),
                Err(error) => ToolFailure::named(error.error(), &error.failure().error_type()).into(),
            };
            guard.end(verdict);
            result
        })
    }

    /// Awaits a future as this call, whose value says whether it failed: a [`ToolOutcome`], or a `Result` of two.
    pub fn run_judged<F>(self, future: F) -> ToolFuture<F, F::Output>
    where
        F: Future,
        F::Output: ToolOutcome,
    {
        self.run_then(future, |guard, value: F::Output| {
            guard.end(value.tool_failure().map_or(Verdict::Complete, Verdict::from));
            value
        })
    }

    /// The verdict where its own value says nothing: it failed if the last MCP operation inside reported that it did.
    pub(crate) fn unjudged(&self) -> Verdict {
        let reported = self.calling.as_ref().is_some_and(|calling| calling.reported());
        if reported { Verdict::failed(crate::mcp::TOOL_ERROR) } else { Verdict::Complete }
    }

    fn agent(&self) -> Text {
        self.run.as_ref().map_or_else(Text::default, |run| run.name.clone())
    }

    fn note_repetition(&self, ended: &Ended<'_>, recording: &Recording<'_>) {
        let (Some(run), Some(arguments)) = (&self.run, self.arguments) else { return };
        let times = run.repeated(&self.name, arguments);
        if times < repeats::FROM {
            return;
        }
        let key = Key {
            names: [(name::AGENT_NAME, self.agent()), (name::TOOL_NAME, self.name.clone())],
            closed: [],
            labels: self.custom.labels().clone(),
        };
        recording.with(&recording.records.repeated, &key, |instruments, attributes| {
            instruments.count(Metric::Repeated as usize, 1, attributes);
        });
        if run.is_first_loop() {
            let ids = Some(ended.span).filter(|span| span.is_valid());
            tracing::warn!(
                target: "llmperf",
                trace_id = ids.map(|span| tracing::field::display(span.trace_id())),
                span_id = ids.map(|span| tracing::field::display(span.span_id())),
                agent = run.name.as_str(),
                tool = self.name.as_str(),
                times,
                "an agent calls a tool with the same arguments again and again"
            );
        }
    }
}

impl Work for Tool {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        self.run = beginning.nearest();
        let calling = Arc::new(Calling::new(self.run.clone(), self.custom.on_span().map(|own| own.key).collect()));
        self.calling = Some(Arc::clone(&calling));
        let none = Text::default();
        let (agent, conversation) = self.run.as_ref().map_or((&none, &none), |run| (&run.name, &run.conversation));
        let texts = [
            (name::TOOL_NAME, &self.name),
            (name::TOOL_TYPE, &self.kind),
            (name::AGENT_NAME, agent),
            (name::CONVERSATION, conversation),
            (name::TOOL_CALL_ID, &self.call_id),
            (name::TOOL_DESCRIPTION, &self.description),
        ];
        let attributes = span::told(Some("execute_tool"), &texts, &self.custom);
        Opening::span(span::named("execute_tool", &self.name), SpanKind::Internal, attributes).observed_by(calling)
    }

    fn opened(&mut self, context: &Context) -> Option<Context> {
        self.calling.as_ref()?.opened(context);
        None
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Tool, self.name.clone(), Text::default())
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        if let Some(run) = &self.run {
            run.add(&Totals { tool_calls: 1, ..Totals::default() });
        }
        let recording = Recording::of(ended);
        let (tool, error) = ((name::TOOL_NAME, self.name.clone()), (semconv::ERROR_TYPE, error_type(ended)));
        let key = Key {
            names: [tool.clone(), error.clone()],
            closed: [(semconv::OUTCOME, ended.outcome.as_str())],
            labels: self.custom.labels().clone(),
        };
        recording.with(&recording.records.tools, &key, |instruments, attributes| {
            seconds(instruments, Metric::ToolDuration, ended.duration, attributes);
            instruments.count(Metric::ToolCalls as usize, 1, attributes);
        });
        let names = [tool, (name::TOOL_TYPE, self.kind.clone()), (name::AGENT_NAME, self.agent()), error];
        let key = Key { names, closed: [], labels: [None, None] };
        recording.with(&recording.records.execute_tool, &key, |instruments, attributes| {
            seconds(instruments, Metric::ExecuteTool, ended.duration, attributes);
        });
        self.note_repetition(ended, &recording);
    }

    fn deadline(&self) -> Option<Duration> {
        self.custom.deadline()
    }
}
