//! The one seam through which agents, RAG and GPU see calls start, progress and finish.

use std::{
    any::Any,
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use opentelemetry::trace::SpanContext;

use crate::{Side, Timing, finish::is_inference, scope::Frame};

/// Sees calls: all of an instrumentation ([`InstrumentationBuilder::observer`](crate::InstrumentationBuilder::observer)),
/// or those made inside a scope ([`Scope`](crate::Scope)).
///
/// It is called from the task that polls the call, and from its drop: it must not block. A panic in it is caught and
/// counted. Calls that it makes itself are observed like any other: it has to tell them apart, or it never comes to an end.
pub trait Observer: Any + Send + Sync + fmt::Debug {
    /// A call was armed. What attempts joined to a live call do is not told apart: it is the live call's.
    fn started(&self, call: &StartedCall<'_>) {
        let _ = call;
    }

    /// A call ended.
    fn finished(&self, call: &FinishedCall<'_>) {
        let _ = call;
    }

    /// A call that had [started](Self::started) was none: nothing was asked of the model. It has no end.
    fn withdrawn(&self, call: u64) {
        let _ = call;
    }
}

/// A call that was just armed.
#[derive(Debug)]
#[non_exhaustive]
pub struct StartedCall<'a> {
    /// Identifies the call among those of this process: the same in [`FinishedCall::id`].
    pub id: u64,
    /// Whether the caller or the server of the model is measured.
    pub side: Side,
    /// The operation.
    pub operation: &'a str,
    /// The provider.
    pub provider: &'a str,
    /// The request model.
    pub model: &'a str,
    progress: &'a OnceLock<Progress>,
    frames: Option<&'a Arc<Frame>>,
}

impl<'a> StartedCall<'a> {
    pub(crate) fn new(
        id: u64,
        side: Side,
        [operation, provider, model]: [&'a str; 3],
        progress: &'a OnceLock<Progress>,
        frames: Option<&'a Arc<Frame>>,
    ) -> Self {
        Self { id, side, operation, provider, model, progress, frames }
    }

    /// The nearest observer of this type around the call: whose own it is, where such scopes are nested.
    #[must_use]
    pub fn nearest<T: Observer>(&self) -> Option<Arc<T>> {
        self.frames?.nearest()
    }

    /// Asks for the call's progress. It is kept only if an observer asks.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress.get_or_init(Progress::default).clone()
    }
}

/// How far a live call has come: tokens where items tell their number, else events with output.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Tokens (or output events) so far.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, tokens: u64) {
        self.0.fetch_add(tokens, Ordering::Relaxed);
    }
}

/// A call that ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishedCall<'a> {
    /// Identifies the call among those of this process.
    pub id: u64,
    /// Whether the caller or the server of the model is measured.
    pub side: Side,
    /// The operation.
    pub operation: &'a str,
    /// The provider.
    pub provider: &'a str,
    /// The request model.
    pub model: &'a str,
    /// What was measured.
    pub timing: &'a Timing,
    /// Cost in USD, where a price table has a row for it.
    pub cost: Option<f64>,
    /// The span of the call; invalid where no tracer is installed.
    pub span: &'a SpanContext,
    /// When it ended, as nanoseconds before this notice.
    pub ended_ago: Duration,
    pub(crate) frames: Option<&'a Arc<Frame>>,
}

impl FinishedCall<'_> {
    /// Whether it is an inference, by its operation: not embeddings, rerank, retrieval and the like.
    #[must_use]
    pub fn is_inference(&self) -> bool {
        is_inference(self.operation)
    }

    /// The nearest observer of this type around the call: whose own it is, where such scopes are nested.
    #[must_use]
    pub fn nearest<T: Observer>(&self) -> Option<Arc<T>> {
        self.frames?.nearest()
    }
}
