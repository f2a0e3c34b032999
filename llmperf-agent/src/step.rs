//! A step of an agent's run, where the application marks its steps.

use std::{sync::Arc, time::Duration};

use llmperf_core::{
    part::{Beginning, Custom, Ended, Opening, Text, Title, Work},
    semconv::{self, agent as name},
    stats::SeriesKind,
};
use opentelemetry::trace::SpanKind;

use crate::{
    custom::custom_setters,
    metrics::Metric,
    records::{Key, Recording, seconds},
    running::{Running, Totals},
    span,
};

/// A step of a run: what is made inside is a child of its span, `step {name}`.
#[derive(Debug)]
#[must_use = "a step is measured once a verb arms it: `run`, `run_then`, `in_scope`, `start`"]
pub struct Step {
    name: Text,
    custom: Custom,
    run: Option<Arc<Running>>,
}

/// A step of the run that we are in. In a run with marked steps they are its steps; in one without, each inference call
/// is one.
///
/// ```
/// use llmperf_agent::{Work as _, run, step};
///
/// let mut agent = run("travel-desk").start();
/// for round in ["search", "compare"] {
///     agent.in_scope(|| step(round).in_scope(|| { /* a model call, its tools */ }, |guard, ()| guard.complete()));
/// }
/// agent.complete();
/// ```
pub fn step(name: impl Into<Text>) -> Step {
    Step { name: name.into(), custom: Custom::default(), run: None }
}

impl Step {
    custom_setters!();

    fn agent(&self) -> Text {
        self.run.as_ref().map_or_else(Text::default, |run| run.name.clone())
    }
}

impl Work for Step {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        self.run = beginning.nearest();
        let texts = [(name::STEP, &self.name), (name::AGENT_NAME, &self.agent())];
        let attributes = span::told(None, &texts, &self.custom);
        Opening::span(span::named("step", &self.name), SpanKind::Internal, attributes)
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Step, self.agent(), self.name.clone())
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        if let Some(run) = &self.run {
            run.add(&Totals { marked_steps: 1, ..Totals::default() });
        }
        let key = Key {
            names: [(name::AGENT_NAME, self.agent()), (name::STEP, self.name.clone())],
            closed: [(semconv::OUTCOME, ended.outcome.as_str())],
            labels: self.custom.labels().clone(),
        };
        let recording = Recording::of(ended);
        recording.with(&recording.records.steps, &key, |instruments, attributes| {
            seconds(instruments, Metric::StepDuration, ended.duration, attributes);
        });
    }

    fn deadline(&self) -> Option<Duration> {
        self.custom.deadline()
    }
}
