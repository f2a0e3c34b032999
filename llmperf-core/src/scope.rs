//! In which pipeline, agent run or step we are: frames in the OpenTelemetry context, from the innermost outwards.
//!
//! The scope follows the trace parent. A `tracing` span that was created before a scope was entered carries the context
//! from before it, so inside that span one is outside the scope. `tokio::spawn` starts outside too, until the future is
//! given [`in_current_scope`](InCurrentScope::in_current_scope).

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use opentelemetry::{
    Context,
    context::{FutureExt as _, WithContext},
};

use crate::{current, observe::Observer};

/// A frame of the scope: whoever opened it observes the calls made inside, until it is closed.
///
/// ```
/// use std::sync::Arc;
/// use llmperf_core::{Observer, Scope, opentelemetry::Context};
///
/// #[derive(Debug)]
/// struct Run;
/// impl Observer for Run {}
///
/// let scope = Scope::open(&Context::current(), Arc::new(Run));
/// let _guard = scope.context().clone().attach();
/// // … calls made here are observed by `Run`
/// scope.close();
/// ```
#[derive(Debug)]
#[must_use = "a scope that is dropped is closed: calls that end after it are late"]
pub struct Scope {
    frame: Arc<Frame>,
    context: Context,
}

#[derive(Debug)]
pub(crate) struct Frame {
    observer: Arc<dyn Observer>,
    outer: Option<Arc<Frame>>,
    closed: AtomicBool,
}

/// The value in the context; apart from [`Frame`] so that contexts share it.
#[derive(Clone, Debug)]
struct Innermost(Arc<Frame>);

impl Scope {
    /// Opens a frame inside whatever scope `parent` is in.
    pub fn open(parent: &Context, observer: Arc<dyn Observer>) -> Self {
        let frame = Arc::new(Frame { observer, outer: innermost(parent), closed: AtomicBool::new(false) });
        let context = parent.with_value(Innermost(Arc::clone(&frame)));
        Self { frame, context }
    }

    /// The context to attach around everything that belongs to the scope.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Closes the frame: a call that ends after this counts as late.
    pub fn close(&self) {
        self.frame.closed.store(true, Ordering::Release);
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.close();
    }
}

/// The innermost frame of a context.
pub(crate) fn innermost(context: &Context) -> Option<Arc<Frame>> {
    context.get::<Innermost>().map(|innermost| Arc::clone(&innermost.0))
}

impl Frame {
    /// This frame and those around it, innermost first.
    pub(crate) fn outwards(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::successors(Some(self), |frame| frame.outer.as_ref())
    }

    pub(crate) fn observer(&self) -> &Arc<dyn Observer> {
        &self.observer
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

/// Carries the current scope (and trace context) into spawned tasks and hand-built streams.
pub trait InCurrentScope: Sized {
    /// Polls this future or stream in the scope that is current now, wherever it is polled.
    ///
    /// ```
    /// # async fn work() {}
    /// use llmperf_core::InCurrentScope as _;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// tokio::spawn(work().in_current_scope()).await.unwrap();
    /// # }
    /// ```
    fn in_current_scope(self) -> WithContext<Self> {
        self.with_context(current::current())
    }
}

impl<T> InCurrentScope for T {}
