//! A tool call while it goes on, as what is made inside sees it.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use llmperf_core::Observer;
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt as _},
};

use crate::running::Running;

/// What an MCP operation inside a tool call needs to know of it.
#[derive(Debug)]
pub(crate) struct Calling {
    run: Option<Arc<Running>>,
    span: OnceLock<SpanContext>,
    /// An MCP operation is told on the tool's span.
    taken: AtomicBool,
    /// The last MCP operation reported a failure as a value.
    reported: AtomicBool,
}

impl Observer for Calling {}

impl Calling {
    pub(crate) fn new(run: Option<Arc<Running>>) -> Self {
        Self { run, span: OnceLock::new(), taken: AtomicBool::new(false), reported: AtomicBool::new(false) }
    }

    /// Its span has begun.
    pub(crate) fn opened(&self, context: &Context) {
        // It opens once.
        let _ = self.span.set(context.span().span_context().clone());
    }

    /// Whether the tool call belongs to this run, or both to none.
    pub(crate) fn is_of(&self, run: Option<&Arc<Running>>) -> bool {
        self.run.as_ref().map(Arc::as_ptr) == run.map(Arc::as_ptr)
    }

    /// Whether the tool's span is the one right around `parent`, and gives itself to the first that asks.
    pub(crate) fn take_span(&self, parent: &Context) -> bool {
        let of = |context: &SpanContext| context.span_id();
        let own = self.span.get().map(of).filter(|id| *id != SpanId::INVALID);
        own.is_some_and(|own| own == of(parent.span().span_context())) && !self.taken.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn report(&self, failed: bool) {
        self.reported.store(failed, Ordering::Release);
    }

    pub(crate) fn reported(&self) -> bool {
        self.reported.load(Ordering::Acquire)
    }
}
