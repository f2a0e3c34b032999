//! A tool call while it goes on, as what is made inside sees it.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use llmperf_core::Observer;
use opentelemetry::{
    Context, Key,
    trace::{SpanId, TraceContextExt as _},
};

use crate::running::Running;

/// What an MCP operation inside a tool call needs to know of it.
#[derive(Debug)]
pub(crate) struct Calling {
    run: Option<Arc<Running>>,
    span: OnceLock<SpanId>,
    /// What the user has put on its span.
    keys: Vec<Key>,
    /// An MCP operation is told on the tool's span.
    taken: AtomicBool,
    /// The last MCP operation reported a failure as a value.
    reported: AtomicBool,
}

impl Observer for Calling {}

impl Calling {
    pub(crate) fn new(run: Option<Arc<Running>>, keys: Vec<Key>) -> Self {
        Self { run, span: OnceLock::new(), keys, taken: AtomicBool::new(false), reported: AtomicBool::new(false) }
    }

    /// Its span has begun.
    pub(crate) fn opened(&self, context: &Context) {
        // It opens once.
        let _ = self.span.set(context.span().span_context().span_id());
    }

    /// Whether the tool call belongs to this run, or both to none.
    pub(crate) fn is_of(&self, run: Option<&Arc<Running>>) -> bool {
        self.run.as_ref().map(Arc::as_ptr) == run.map(Arc::as_ptr)
    }

    /// Whether the tool's span is the one right around `parent`, and gives itself to the first that asks.
    pub(crate) fn take_span(&self, parent: &Context) -> bool {
        let own = self.span.get().filter(|own| **own != SpanId::INVALID);
        own.is_some_and(|own| *own == parent.span().span_context().span_id())
            && !self.taken.swap(true, Ordering::AcqRel)
    }

    /// Whether its span has an attribute of the user's under this key: of one key the span would show both.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.keys.contains(key)
    }

    pub(crate) fn report(&self, failed: bool) {
        self.reported.store(failed, Ordering::Release);
    }

    pub(crate) fn reported(&self) -> bool {
        self.reported.load(Ordering::Acquire)
    }
}
