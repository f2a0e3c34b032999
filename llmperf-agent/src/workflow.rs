//! A workflow: several agents, or steps that no agent decides on, towards one end.

use std::time::Duration;

use llmperf_core::{
    part::{Beginning, Custom, Ended, Opening, Text, Title, Work},
    semconv::{self, agent as name},
    stats::SeriesKind,
};
use opentelemetry::trace::SpanKind;

use crate::{
    custom::custom_setters,
    metrics::Metric,
    records::{Key, Recording, error_type, seconds},
    span,
};

/// A workflow. Its span is `invoke_workflow {name}`.
#[derive(Debug)]
#[must_use = "a workflow is measured once a verb arms it: `run`, `run_then`, `in_scope`, `start`"]
pub struct Workflow {
    name: Text,
    conversation: Text,
    custom: Custom,
}

/// The workflow `name`.
///
/// ```
/// use llmperf_agent::{Work as _, workflow};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # async fn research_then_write() -> Result<(), std::io::Error> { Ok(()) }
/// let report = workflow("weekly-report").run(research_then_write()).await;
/// # assert!(report.is_ok());
/// # }
/// ```
pub fn workflow(name: impl Into<Text>) -> Workflow {
    Workflow { name: name.into(), conversation: Text::default(), custom: Custom::default() }
}

impl Workflow {
    /// The conversation that it belongs to; a real id, on the span alone.
    pub fn conversation(self, id: impl Into<Text>) -> Self {
        Self { conversation: id.into(), ..self }
    }

    custom_setters!();
}

impl Work for Workflow {
    fn begin(&mut self, _: &Beginning<'_>) -> Opening {
        let texts = [(name::WORKFLOW_NAME, &self.name), (name::CONVERSATION, &self.conversation)];
        let attributes = span::told(Some("invoke_workflow"), &texts, &self.custom);
        Opening::span(span::named("invoke_workflow", &self.name), SpanKind::Internal, attributes).journaled()
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Workflow, self.name.clone(), Text::default())
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        let names = [(name::WORKFLOW_NAME, self.name.clone()), (semconv::ERROR_TYPE, error_type(ended))];
        let key = Key { names, closed: [], labels: [None, None] };
        let recording = Recording::of(ended);
        recording.with(&recording.records.workflows, &key, |instruments, attributes| {
            seconds(instruments, Metric::InvokeWorkflow, ended.duration, attributes);
        });
    }

    fn deadline(&self) -> Option<Duration> {
        self.custom.deadline()
    }
}
