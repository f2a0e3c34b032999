//! Armed work: a guard that its adapters and its caller drive.

use std::{
    borrow::Cow,
    fmt,
    ops::{Deref, DerefMut},
    sync::{Arc, atomic::Ordering},
    thread,
    time::SystemTime,
};

use opentelemetry::{
    Context, ContextGuard,
    global::BoxedSpan,
    trace::{Span as _, SpanBuilder, TraceContextExt as _, Tracer as _},
};

use super::{Beginning, Opening, Verdict, Work, finish};
use crate::{
    Failure, Instrumentation,
    clock::{Tick, nanos_of},
    current,
    instrumentation::is_enabled,
    internal::caught,
    journal::Journal,
    outcome::{PANIC, TIMEOUT},
    scope::{self, Anchor, Frame, Framed},
    shared::Shared,
    span,
    stats::SeriesKind,
};

/// Work that is going on. It gives what is asked of the work itself by `Deref`.
///
/// Dropped before it was told how the work ended, the work is cancelled, or an error `timeout` if its deadline had
/// passed; dropped by a panic, an error `panic`.
#[must_use = "dropping a guard ends the work as cancelled"]
pub struct Guard<W: Work> {
    pub(super) work: W,
    /// `None` where nothing is measured: switched off, or over.
    pub(super) alive: Option<Alive>,
}

/// What work has while it goes on.
#[derive(Debug)]
pub(super) struct Alive {
    pub(super) instrumentation: Instrumentation,
    /// Its own, with its span and its frame.
    pub(super) context: Context,
    /// Absent where nobody could find it.
    pub(super) frame: Option<Arc<Frame>>,
    /// The id of the call around it, inside the work around it; 0 where there is none.
    pub(super) call: u64,
    pub(super) spanned: bool,
    attached: bool,
    pub(super) begun: SystemTime,
    pub(super) start: Tick,
    pub(super) first_output: Option<Tick>,
    /// The first verdict stands.
    pub(super) verdict: Option<Verdict>,
    /// It began while its thread was unwinding already, in a destructor: that panic is none of its own.
    unwinding: bool,
}

impl<W: Work> Guard<W> {
    pub(super) fn start(work: W) -> Self {
        Self::start_in(work, &current::current())
    }

    pub(super) fn start_in(mut work: W, parent: &Context) -> Self {
        let alive = is_enabled().then(|| Alive::begin(&mut work, parent));
        Self { work, alive }
    }

    /// The context of the work, to parent what it sets off elsewhere; the current one where nothing is measured.
    #[must_use]
    pub fn context(&self) -> Context {
        self.alive.as_ref().map_or_else(current::current, |alive| alive.context.clone())
    }

    /// Runs code inside the work: spans made there are its children. A panic in it is an error and goes on.
    pub fn in_scope<T>(&mut self, code: impl FnOnce() -> T) -> T {
        self.polled(|_| code())
    }

    /// The work gives its first output now, if it has not yet.
    pub fn output(&mut self) {
        if let Some(alive) = self.alive.as_mut().filter(|alive| alive.first_output.is_none()) {
            alive.first_output = Some(alive.instrumentation.clock().tick());
        }
    }

    /// How it will have ended, whatever comes: the first such verdict stands. The work goes on.
    pub fn judge(&mut self, verdict: Verdict) {
        if let Some(alive) = &mut self.alive {
            alive.verdict.get_or_insert(verdict);
        }
    }

    /// The work did what it should, and has ended.
    pub fn complete(self) {
        self.end(Verdict::Complete);
    }

    /// The work failed, with this `error.type`: a code or a type, never a message.
    pub fn fail(self, error_type: &str) {
        self.end(Verdict::failed(error_type));
    }

    /// The work failed, in a way that was classified.
    pub fn failure(self, failure: Failure<'_>) {
        self.end(failure.into());
    }

    /// The work has ended like this, unless it was [judged](Self::judge) before.
    pub fn end(mut self, verdict: Verdict) {
        self.finish(verdict);
    }

    /// Whether anything is measured: not where measuring was switched off.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.alive.is_some()
    }

    /// Runs one poll inside the work; a panic in it is how the work ended, once all that it holds is let go.
    pub(super) fn polled<T>(&mut self, poll: impl FnOnce(&mut Self) -> T) -> T {
        let _current = self.enter();
        let mut survivor = Survivor { guard: self, survived: false };
        let value = poll(survivor.guard);
        survivor.survived = true;
        value
    }

    pub(super) fn enter(&self) -> Option<ContextGuard> {
        let alive = self.alive.as_ref().filter(|alive| alive.attached)?;
        current::attach(&alive.context)
    }

    fn finish(&mut self, verdict: Verdict) {
        if let Some(mut alive) = self.alive.take() {
            finish::finish(&mut self.work, &mut alive, verdict);
        }
    }

    /// Let go by whoever awaited it, be it because he panicked: not by a panic of its own.
    pub(super) fn let_go(&mut self) {
        self.dropped(false);
    }

    /// Enters it where a panic would be one too many: in a destructor, whose caller may have lent the current context.
    pub(super) fn enter_to_drop(&self) -> Option<ContextGuard> {
        caught(|| self.enter()).flatten()
    }

    fn dropped(&mut self, by_panic: bool) {
        let Some(alive) = &self.alive else { return };
        let verdict = if by_panic && !alive.unwinding {
            Verdict::Failed(PANIC.into())
        } else {
            let said = alive.instrumentation.guarded(|| self.work.if_dropped()).flatten();
            let timeout = || alive.has_passed(&self.work).then(|| Verdict::Failed(TIMEOUT.into()));
            said.or_else(timeout).unwrap_or(Verdict::Cancelled)
        };
        self.finish(verdict);
    }
}

impl Alive {
    fn begin<W: Work>(work: &mut W, parent: &Context) -> Self {
        let frames = scope::innermost(parent);
        let given = frames.as_ref().and_then(Frame::instrumentation);
        let instrumentation = given.cloned().unwrap_or_else(Instrumentation::global);
        let call = frames.as_ref().map_or(0, |frames| frames.call_inside(parent));
        let apart = || instrumentation.guarded(|| is_apart(work.title().kind)).unwrap_or(false);
        let hidden = Shared::live_in(parent).filter(|_| apart()).map(|call| call.hidden(parent));
        let parent = hidden.as_ref().unwrap_or(parent);
        let clock = instrumentation.clock();
        let (start, outer) = (clock.tick(), frames.as_ref().and_then(|frame| frame.anchor(clock)));
        let begun = outer.map_or_else(|| clock.wall(), |anchor| anchor.wall_at(start, clock));
        let began = std::time::Duration::from_nanos(clock.nanos_between(0, start));
        let beginning = Beginning { instrumentation: &instrumentation, parent, began };
        let opening = instrumentation.guarded(|| work.begin(&beginning)).unwrap_or_default();
        let Opening { span, observer, journals } = opening;
        let spanned = span.map(|spanned| {
            let builder = SpanBuilder::from_name(spanned.name).with_kind(spanned.kind).with_start_time(begun);
            let builder = builder.with_attributes(spanned.attributes);
            // Samplers and processors are not ours.
            let build = || instrumentation.with_tracer(|tracer| tracer.build_with_context(builder, parent));
            let made = instrumentation.guarded(build);
            made.map_or_else(|| span::absent(parent), |span| inside(parent, span))
        });
        let is_spanned = spanned.is_some();
        let context = spanned.unwrap_or_else(|| parent.clone());
        let valid = context.span().span_context().is_valid();
        let framed = frames.is_some() || valid || observer.is_some() || journals || hidden.is_some();
        let (frame, context) = if framed {
            let anchor = Some(Anchor { wall: begun, tick: start });
            let (instrumentation, journal) = (Some(instrumentation.clone()), journals.then(Box::<Journal>::default));
            let framed = Framed { observer, instrumentation, anchor, journal };
            let (frame, context) = scope::entered(&context, frames, framed);
            (Some(frame), context)
        } else {
            (None, context)
        };
        instrumentation.live().fetch_add(1, Ordering::AcqRel);
        let inner = instrumentation.guarded(|| work.opened(&context)).flatten();
        Self {
            spanned: is_spanned && valid,
            attached: framed || inner.is_some(),
            context: inner.unwrap_or(context),
            frame,
            call,
            begun,
            start,
            first_output: None,
            verdict: None,
            unwinding: thread::panicking(),
            instrumentation,
        }
    }

    /// The frames around it.
    pub(super) fn frames(&self) -> Option<&Arc<Frame>> {
        self.frame.as_ref()?.outer()
    }

    fn has_passed<W: Work>(&self, work: &W) -> bool {
        let clock = self.instrumentation.clock();
        let deadline = self.instrumentation.guarded(|| work.deadline()).flatten();
        deadline.is_some_and(|limit| clock.nanos_between(self.start, clock.tick()) >= nanos_of(limit))
    }
}

/// The context inside a span: the one around it where neither is one, as without a tracer.
fn inside(parent: &Context, span: BoxedSpan) -> Context {
    let is_none = !span.span_context().is_valid() && !parent.span().span_context().is_valid();
    if is_none { parent.clone() } else { parent.with_span(span) }
}

/// Work of which a call that lives around it knows nothing: a tool that a model's stream runs asks models of its own. What
/// it asks is no attempt at that call. Stages, steps and plans are nearer: what they send may be the call itself, and a
/// mark around it must not make two calls of one.
fn is_apart(kind: SeriesKind) -> bool {
    use SeriesKind::{Agent, Pipeline, Tool, Workflow};
    matches!(kind, Pipeline | Agent | Tool | Workflow)
}

/// Judges the work if the code between its making and its survival panics. The work ends with its guard: what goes on
/// inside is let go before, and ends within it.
struct Survivor<'a, W: Work> {
    guard: &'a mut Guard<W>,
    survived: bool,
}

impl<W: Work> Drop for Survivor<'_, W> {
    fn drop(&mut self) {
        if !self.survived {
            self.guard.judge(Verdict::Failed(Cow::Borrowed(PANIC)));
        }
    }
}

impl<W: Work> Drop for Guard<W> {
    fn drop(&mut self) {
        self.dropped(thread::panicking());
    }
}

impl<W: Work> Deref for Guard<W> {
    type Target = W;

    fn deref(&self) -> &W {
        &self.work
    }
}

impl<W: Work> DerefMut for Guard<W> {
    fn deref_mut(&mut self) -> &mut W {
        &mut self.work
    }
}

impl<W: Work> fmt::Debug for Guard<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("work", &self.work).field("measured", &self.is_measured()).finish()
    }
}
