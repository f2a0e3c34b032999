//! In which pipeline, agent run or step we are: frames in the OpenTelemetry context, from the innermost outwards.
//!
//! The scope follows the trace parent. A `tracing` span that was created before a scope was entered carries the context
//! from before it, so inside that span one is outside the scope. `tokio::spawn` starts outside too, until the future is
//! given [`in_current_scope`](InCurrentScope::in_current_scope).

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use opentelemetry::{
    Context,
    context::{FutureExt as _, WithContext},
};

use crate::{
    Instrumentation,
    clock::{Clock, Tick},
    current,
    journal::{Entry, Journal},
    observe::Observer,
    shared::Shared,
};

/// Most frames in one another. Each task that starts the next in its scope would make a chain without end: what lies
/// deeper starts a new one, and all inside it counts as late.
const DEEPEST: usize = 1_024;

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
    /// Tells frames apart, and calls from them; work and calls name that of the frame they are in.
    id: u64,
    observer: Option<Arc<dyn Observer>>,
    /// Where telemetry of what is made inside goes.
    instrumentation: Option<Instrumentation>,
    anchor: Option<Anchor>,
    /// What ended inside, where whoever opened the frame asks where its time went.
    journal: Option<Box<Journal>>,
    outer: Option<Arc<Frame>>,
    /// How many frames are around it.
    depth: usize,
    /// The call around it, live or not; 0 where there is none.
    call: u64,
    closed: AtomicBool,
}

/// One instant on both clocks. All spans inside a frame take their wall-clock times from it, so that none ends after the
/// one around it, whatever is done to the system's clock meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    pub(crate) wall: SystemTime,
    pub(crate) tick: Tick,
}

impl Anchor {
    /// The wall-clock time of a tick that is not before the anchor's.
    pub(crate) fn wall_at(&self, tick: Tick, clock: &Clock) -> SystemTime {
        self.wall + Duration::from_nanos(clock.nanos_between(self.tick, tick))
    }
}

/// What a piece of work puts into its frame.
#[derive(Debug, Default)]
pub(crate) struct Framed {
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) instrumentation: Option<Instrumentation>,
    pub(crate) anchor: Option<Anchor>,
    pub(crate) journal: Option<Box<Journal>>,
}

/// The value in the context; apart from [`Frame`] so that contexts share it.
#[derive(Clone, Debug)]
struct Innermost(Arc<Frame>);

impl Scope {
    /// Opens a frame inside whatever scope `parent` is in.
    pub fn open(parent: &Context, observer: Arc<dyn Observer>) -> Self {
        let framed = Framed { observer: Some(observer), ..Framed::default() };
        let (frame, context) = entered(parent, innermost(parent), framed);
        Self { frame, context }
    }

    /// The context to attach around everything that belongs to the scope.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Closes the frame: a call that ends after this counts as late.
    pub fn close(&self) {
        self.frame.close();
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.close();
    }
}

/// The nearest observer of this type in the scope that a context is in, looking outwards.
#[must_use]
pub fn nearest<T: Observer>(context: &Context) -> Option<Arc<T>> {
    context.get::<Innermost>()?.0.nearest()
}

/// The context with an instrumentation in it. Nobody closes that frame: nothing in it is late.
pub(crate) fn instrumented(parent: &Context, instrumentation: Instrumentation) -> Context {
    let framed = Framed { instrumentation: Some(instrumentation), ..Framed::default() };
    let (_, context) = entered(parent, innermost(parent), framed);
    context
}

/// A frame inside the innermost one of `parent`, and the context with it.
pub(crate) fn entered(parent: &Context, innermost: Option<Arc<Frame>>, framed: Framed) -> (Arc<Frame>, Context) {
    let frame = Arc::new(Frame::new(parent, innermost, framed));
    let context = parent.with_value(Innermost(Arc::clone(&frame)));
    (frame, context)
}

/// The same of the scope that is current now; none in a thread that ends.
#[must_use]
pub fn nearest_here<T: Observer>() -> Option<Arc<T>> {
    current::map_current(nearest)
}

/// The innermost frame of a context.
pub(crate) fn innermost(context: &Context) -> Option<Arc<Frame>> {
    context.get::<Innermost>().map(|innermost| Arc::clone(&innermost.0))
}

/// An id that no frame has, and no call.
pub(crate) fn unique_id() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(1);
    IDS.fetch_add(1, Ordering::Relaxed)
}

/// The nearest observer of this type around what is made in this context; none where that lies too deep.
pub(crate) fn nearest_around<T: Observer>(parent: &Context) -> Option<Arc<T>> {
    innermost(parent).filter(|frame| frame.depth < DEEPEST)?.nearest()
}

impl Drop for Frame {
    /// One after the other: a chain of them, each dropping the next, would use up the stack.
    fn drop(&mut self) {
        let mut outer = self.outer.take();
        while let Some(mut frame) = outer.and_then(Arc::into_inner) {
            outer = frame.outer.take();
        }
    }
}

impl Frame {
    /// A frame inside the innermost one of `parent`.
    fn new(parent: &Context, innermost: Option<Arc<Self>>, framed: Framed) -> Self {
        let Framed { observer, instrumentation, anchor, journal } = framed;
        let (id, call) = (unique_id(), Shared::of(parent).map_or(0, Shared::id));
        let cut_off = innermost.as_ref().filter(|frame| frame.depth >= DEEPEST);
        let is_cut_off = cut_off.is_some();
        let instrumentation = instrumentation.or_else(|| cut_off?.instrumentation().cloned());
        let outer = innermost.filter(|_| !is_cut_off);
        let depth = outer.as_ref().map_or(0, |outer| outer.depth + 1);
        Self { id, observer, instrumentation, anchor, journal, outer, depth, call, closed: AtomicBool::new(is_cut_off) }
    }

    /// A call that ends inside from now on is late.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// The one around it.
    pub(crate) fn outer(&self) -> Option<&Arc<Self>> {
        self.outer.as_ref()
    }

    /// This frame and those around it, innermost first.
    pub(crate) fn outwards(self: &Arc<Self>) -> impl Iterator<Item = &Arc<Self>> {
        std::iter::successors(Some(self), |frame| frame.outer.as_ref())
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The id of the nearest frame that work has opened: those of scopes alone are nobody's part.
    pub(crate) fn id_of_work(self: &Arc<Self>) -> u64 {
        self.outwards().find(|frame| frame.anchor.is_some()).map_or(0, |frame| frame.id)
    }

    /// The id of the call that lives in this context inside the nearest work; 0 where there is none.
    pub(crate) fn call_inside(self: &Arc<Self>, context: &Context) -> u64 {
        let around = self.outwards().find(|frame| frame.anchor.is_some()).map_or(0, |work| work.call);
        Shared::live_in(context).map(Shared::id).filter(|call| *call != around).unwrap_or(0)
    }

    pub(crate) fn observer(&self) -> Option<&Arc<dyn Observer>> {
        self.observer.as_ref()
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.journal.as_deref()
    }

    /// Where telemetry of what is made inside goes; absent if no frame says.
    pub(crate) fn instrumentation(self: &Arc<Self>) -> Option<&Instrumentation> {
        self.outwards().find_map(|frame| frame.instrumentation.as_ref())
    }

    /// The nearest anchor, if it is one on this clock.
    pub(crate) fn anchor(self: &Arc<Self>, clock: &Clock) -> Option<Anchor> {
        let frame = self.outwards().find(|frame| frame.anchor.is_some())?;
        frame.anchor.filter(|_| frame.is_on(clock))
    }

    fn is_on(&self, clock: &Clock) -> bool {
        self.instrumentation.as_ref().is_some_and(|instrumentation| instrumentation.clock().is(clock))
    }

    pub(crate) fn nearest<T: Observer>(self: &Arc<Self>) -> Option<Arc<T>> {
        let is_it = |observer: &&Arc<dyn Observer>| (&***observer as &dyn Any).is::<T>();
        let observer = self.outwards().filter_map(|frame| frame.observer()).find(is_it)?;
        (Arc::clone(observer) as Arc<dyn Any + Send + Sync>).downcast().ok()
    }

    /// Tells the journals of this frame and of those around it what has ended inside, on this clock.
    pub(crate) fn note(self: &Arc<Self>, clock: &Clock, entry: impl FnOnce() -> Entry) {
        let mut journals = self.outwards().filter(|frame| frame.is_on(clock)).filter_map(|frame| frame.journal());
        if let Some(nearest) = journals.next() {
            let entry = entry();
            nearest.note(&entry);
            journals.for_each(|journal| journal.note(&entry));
        }
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
