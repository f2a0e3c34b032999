//! Service-level objectives: each finished call judged against each, exactly, without bucket error.

use std::{borrow::Cow, time::Duration};

use crate::{
    Outcome,
    clock::nanos_of,
    marks::Figures,
    metrics::{Metric, TABLE},
};

/// The figure of a call that an objective limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Objective {
    /// TTFT.
    TimeToFirstToken,
    /// TPOT.
    TimePerOutputToken,
    /// E2E.
    Duration,
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

    /// The ready-made set: TTFT 1 s, TPOT 50 ms, E2E 5 s.
    #[must_use]
    pub fn standard() -> Vec<Self> {
        vec![
            Self::new("ttft", Objective::TimeToFirstToken, Duration::from_secs(1)),
            Self::new("tpot", Objective::TimePerOutputToken, Duration::from_millis(50)),
            Self::new("e2e", Objective::Duration, Duration::from_secs(5)),
        ]
    }

    pub(crate) fn name(&self) -> &Cow<'static, str> {
        &self.name
    }

    /// The bounds that make this objective exact in histograms too: metric name and seconds.
    pub(crate) fn bounds(&self) -> [(&'static str, f64); 2] {
        let (client, server) = match self.objective {
            Objective::TimeToFirstToken => (Metric::ClientFirstToken, Metric::ServerFirstToken),
            Objective::TimePerOutputToken => (Metric::ClientPerToken, Metric::ServerPerToken),
            Objective::Duration => (Metric::ClientDuration, Metric::ServerDuration),
        };
        [client, server].map(|metric| (TABLE[metric as usize].name, self.limit.as_secs_f64()))
    }

    /// Whether a finished call met this objective; `None`: no event.
    ///
    /// A failed or interrupted call misses all that are said of calls like it: TTFT and TPOT are not said of
    /// one that gives its answer whole. Where the figure is absent in a complete call there is no event. A
    /// cancelled call counts only as a miss of what it had already broken.
    pub(crate) fn judge(&self, outcome: Outcome, whole: bool, figures: &Figures) -> Option<bool> {
        if whole && self.objective != Objective::Duration {
            return None;
        }
        let limit = nanos_of(self.limit);
        let value = match self.objective {
            Objective::TimeToFirstToken => figures.first_token,
            Objective::TimePerOutputToken => figures.per_token.map(|nanos| nanos as u64),
            Objective::Duration => Some(figures.duration),
        };
        match outcome {
            Outcome::Error | Outcome::Interrupted => Some(false),
            Outcome::Complete => value.map(|value| value <= limit),
            Outcome::Cancelled => {
                let so_far = match self.objective {
                    Objective::TimePerOutputToken => value,
                    _ => value.or(Some(figures.duration)),
                };
                so_far.filter(|value| *value > limit).map(|_| false)
            }
        }
    }
}
