//! The planning of an agent: what it thinks before it acts.

use std::time::Duration;

use llmperf_core::{
    part::{Beginning, Custom, Ended, Opening, Text, Title, Work},
    semconv::agent as name,
    stats::SeriesKind,
};
use opentelemetry::trace::SpanKind;

use crate::{custom::custom_setters, span};

/// The planning of an agent. Its span is `plan {agent}`; the call that plans is its child. It has no metric of its own, but a
/// place in the local statistics.
#[derive(Debug)]
#[must_use = "a plan is measured once a verb arms it: `run`, `run_then`, `in_scope`, `start`"]
pub struct Plan {
    agent: Text,
    custom: Custom,
}

/// The planning of the agent of that name.
///
/// ```
/// use llmperf_agent::{Work as _, plan};
///
/// let tasks = plan("travel-desk").in_scope(|| vec!["flights", "hotel"], |guard, tasks| { guard.complete(); tasks });
/// # assert_eq!(tasks.len(), 2);
/// ```
pub fn plan(agent: impl Into<Text>) -> Plan {
    Plan { agent: agent.into(), custom: Custom::default() }
}

impl Plan {
    custom_setters!();
}

impl Work for Plan {
    fn begin(&mut self, _: &Beginning<'_>) -> Opening {
        let attributes = span::told(Some("plan"), &[(name::AGENT_NAME, &self.agent)], &self.custom);
        Opening::span(span::named("plan", &self.agent), SpanKind::Internal, attributes)
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Plan, self.agent.clone(), Text::default())
    }

    fn ended(&mut self, _: &mut Ended<'_>) {}

    fn deadline(&self) -> Option<Duration> {
        self.custom.deadline()
    }
}
