//! The calls that ended, as an observer sees them: for applications that hold no timing of their own.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llmperf::opentelemetry::trace::TraceId;
use llmperf::{FinishedCall, Observer, Side, Timing};

/// Keeps all calls of the instrumentations that it observes. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls(Arc<Mutex<Vec<Call>>>);

/// A call that ended.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) side: Side,
    pub(crate) model: String,
    /// The trace that its span is in.
    pub(crate) trace: TraceId,
    pub(crate) timing: Timing,
}

impl Calls {
    /// All of them, in their order of ending.
    pub(crate) fn all(&self) -> Vec<Call> {
        self.lock().clone()
    }

    /// Those on this side of this trace.
    pub(crate) fn of(&self, trace: TraceId, side: Side) -> Vec<Timing> {
        let calls = self.lock();
        calls.iter().filter(|call| (call.trace, call.side) == (trace, side)).map(|call| call.timing.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Call>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Calls {
    fn finished(&self, call: &FinishedCall<'_>) {
        let (side, model, trace) = (call.side, call.model.to_owned(), call.span.trace_id());
        self.lock().push(Call { side, model, trace, timing: call.timing.clone() });
    }
}
