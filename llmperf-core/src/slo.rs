//! Service-level objectives: each finished call judged against each, exactly, without bucket error.

use std::{borrow::Cow, time::Duration};

use crate::{
    Outcome,
    clock::nanos_of,
    marks::Figures,
    metrics::{Metric, TABLE},
};

/// The figure that an objective limits: of a call, or of the work around calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Objective {
    /// TTFT.
    TimeToFirstToken,
    /// TPOT.
    TimePerOutputToken,
    /// E2E of a call.
    Duration,
    /// Retrieval latency: search and rerank.
    Retrieval,
    /// From the start of a pipeline to its context being ready.
    RetrievalPath,
    /// The whole of a pipeline.
    Pipeline,
    /// The whole of an agent's run.
    AgentRun,
}

/// A declared objective: a name, a figure, a limit.
///
/// ```
/// use std::time::Duration;
/// use llmperf_core::{Objective, Slo};
///
/// let slo = Slo::new("interactive", Objective::TimeToFirstToken, Duration::from_millis(400));
/// # let _ = (slo, Slo::standard());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Slo {
    name: Cow<'static, str>,
    objective: Objective,
    limit: Duration,
}

impl Slo {
    /// An objective of your own. `name` is the value of `llmperf.slo.name`.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, objective: Objective, limit: Duration) -> Self {
        Self { name: name.into(), objective, limit }
    }

    /// The ready-made set: TTFT 1 s, TPOT 50 ms, E2E 5 s; retrieval 0.5 s, retrieval path 0.8 s, RAG pipeline 5 s.
    #[must_use]
    pub fn standard() -> Vec<Self> {
        vec![
            Self::new("ttft", Objective::TimeToFirstToken, Duration::from_secs(1)),
            Self::new("tpot", Objective::TimePerOutputToken, Duration::from_millis(50)),
            Self::new("e2e", Objective::Duration, Duration::from_secs(5)),
            Self::new("retrieval", Objective::Retrieval, Duration::from_millis(500)),
            Self::new("retrieval_path", Objective::RetrievalPath, Duration::from_millis(800)),
            Self::new("rag", Objective::Pipeline, Duration::from_secs(5)),
        ]
    }

    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    /// The bounds that make this objective exact in histograms too: metric name and seconds.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let of_calls =
            |client: Metric, server: Metric| [client, server].map(|metric| TABLE[metric as usize].name).into();
        let metrics: Vec<&'static str> = match self.objective {
            Objective::TimeToFirstToken => of_calls(Metric::ClientFirstToken, Metric::ServerFirstToken),
            Objective::TimePerOutputToken => of_calls(Metric::ClientPerToken, Metric::ServerPerToken),
            Objective::Duration => of_calls(Metric::ClientDuration, Metric::ServerDuration),
            // In the tables of the parts.
            Objective::Retrieval => vec!["llmperf.rag.retrieval.duration"],
            Objective::RetrievalPath => vec!["llmperf.rag.retrieval_path.duration"],
            Objective::Pipeline => vec!["llmperf.rag.pipeline.duration"],
            Objective::AgentRun => vec!["llmperf.agent.run.duration"],
        };
        let limit = self.limit.as_secs_f64();
        metrics.into_iter().map(move |metric| (metric, limit))
    }

    /// Whether a finished call met this objective; `None`: no event.
    ///
    /// A failed or interrupted call misses all that are said of calls like it: TTFT and TPOT are not said of
    /// one that gives its answer whole. Where the figure is absent in a complete call there is no event. A
    /// cancelled call counts only as a miss of what it had already broken.
    pub(crate) fn judge(&self, outcome: Outcome, whole: bool, figures: &Figures) -> Option<bool> {
        let value = match self.objective {
            Objective::Duration => Some(figures.duration),
            _ if whole => return None,
            Objective::TimeToFirstToken if outcome == Outcome::Cancelled => {
                figures.first_token.or(Some(figures.duration))
            }
            Objective::TimeToFirstToken => figures.first_token,
            Objective::TimePerOutputToken => figures.per_token.map(|nanos| nanos as u64),
            _ => return None,
        };
        self.met(outcome, value)
    }

    /// The same for work that this objective is of. `value` is what it limits, as far as it was seen.
    pub(crate) fn judge_work(&self, objective: Objective, outcome: Outcome, value: Option<Duration>) -> Option<bool> {
        if objective == self.objective { self.met(outcome, value.map(nanos_of)) } else { None }
    }

    fn met(&self, outcome: Outcome, value: Option<u64>) -> Option<bool> {
        let limit = nanos_of(self.limit);
        match outcome {
            Outcome::Error | Outcome::Interrupted => Some(false),
            Outcome::Complete => value.map(|value| value <= limit),
            Outcome::Cancelled => value.filter(|value| *value > limit).map(|_| false),
        }
    }
}
