//! How a run of an agent came out.

use std::fmt;

/// The result of a run: the value of `llmperf.agent.result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AgentResult {
    /// It reached its goal.
    Success,
    /// It came to an end and did not reach its goal.
    Failure,
    /// It said that it cannot.
    GaveUp,
    /// It had used up its steps, or another budget of its own.
    StepLimit,
    /// It waits for somebody: an approval, an input. The run that takes it up again is another one.
    Suspended,
    /// It failed with an error.
    Error,
    /// The caller let go.
    Cancelled,
}

impl AgentResult {
    /// All results.
    pub const ALL: [Self; 7] =
        [Self::Success, Self::Failure, Self::GaveUp, Self::StepLimit, Self::Suspended, Self::Error, Self::Cancelled];

    /// The value of `llmperf.agent.result`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::GaveUp => "gave_up",
            Self::StepLimit => "step_limit",
            Self::Suspended => "suspended",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for AgentResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Values, errors and stream items of an agent that know how its run came out.
///
/// ```
/// use llmperf_agent::{AgentOutcome, AgentResult};
///
/// enum Reply { Answer(String), Stuck }
///
/// impl AgentOutcome for Reply {
///     fn agent_result(&self) -> Option<AgentResult> {
///         matches!(self, Self::Stuck).then_some(AgentResult::GaveUp)
///     }
/// }
/// # let _ = (Reply::Answer(String::new()), Reply::Stuck);
/// ```
pub trait AgentOutcome {
    /// The result that this tells. `None` says nothing: a value is then a success, an error an error, an item one among
    /// others.
    fn agent_result(&self) -> Option<AgentResult>;
}

impl AgentOutcome for AgentResult {
    fn agent_result(&self) -> Option<AgentResult> {
        Some(*self)
    }
}

impl<T: AgentOutcome> AgentOutcome for Option<T> {
    fn agent_result(&self) -> Option<AgentResult> {
        self.as_ref()?.agent_result()
    }
}

impl<T: AgentOutcome, E: AgentOutcome> AgentOutcome for Result<T, E> {
    fn agent_result(&self) -> Option<AgentResult> {
        match self {
            Ok(value) => value.agent_result(),
            Err(error) => error.agent_result().or(Some(AgentResult::Error)),
        }
    }
}

impl<T: AgentOutcome + ?Sized> AgentOutcome for &T {
    fn agent_result(&self) -> Option<AgentResult> {
        (**self).agent_result()
    }
}

impl<T: AgentOutcome + ?Sized> AgentOutcome for Box<T> {
    fn agent_result(&self) -> Option<AgentResult> {
        (**self).agent_result()
    }
}
