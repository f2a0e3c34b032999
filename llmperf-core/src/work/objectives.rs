//! The events of the objectives that work is judged against.

use std::{borrow::Cow, time::Duration};

use opentelemetry::KeyValue;

use super::Ended;
use crate::{
    Instrumentation, Objective,
    metrics::Metric,
    part::{Attributes, CappedNames, Part, SetKey},
    semconv as name,
};

/// The attribute sets of these events: an objective more, or a second answer, makes more of them than the metrics have that
/// the work is told by.
#[derive(Debug)]
struct Events(Attributes<Event>);

impl Part for Events {
    fn of(_: &Instrumentation) -> Self {
        Self(Attributes::default())
    }
}

/// Which objective was met, or was not, by what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Event {
    slo: Cow<'static, str>,
    met: bool,
    /// Names, capped.
    of: Vec<KeyValue>,
}

impl SetKey for Event {
    fn attributes(&self) -> Vec<KeyValue> {
        let own = [KeyValue::new(name::SLO_NAME, self.slo.clone()), KeyValue::new(name::SLO_MET, self.met)];
        [&*self.of, &own].concat()
    }

    fn capped(&self, _: &CappedNames<'_>) -> Self {
        self.clone()
    }

    fn folded(&self) -> Self {
        let other = |of: &KeyValue| KeyValue::new(of.key.clone(), name::OTHER_NAME);
        Self { of: self.of.iter().map(other).collect(), ..self.clone() }
    }
}

/// Counts an event for each declared SLO of the objective.
pub(super) fn judge(ended: &Ended<'_>, objective: Objective, value: Option<Duration>, attributes: &[KeyValue]) {
    let instrumentation = ended.instrumentation;
    for slo in &instrumentation.settings().slos {
        let Some(met) = slo.judge_work(objective, ended.outcome, value) else { continue };
        let event = Event { slo: slo.name().clone(), met, of: attributes.to_vec() };
        instrumentation.part::<Events>().0.with(instrumentation, &event, |all| {
            instrumentation.instruments().count(Metric::SloEvents as usize, 1, all);
        });
    }
}
