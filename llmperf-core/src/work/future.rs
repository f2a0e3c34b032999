//! A future that is awaited as work.

use std::{
    fmt,
    future::Future,
    mem,
    pin::Pin,
    task::{Context, Poll},
};

use opentelemetry::Context as Parent;
use pin_project::{pin_project, pinned_drop};

use super::{Guard, Work};
use crate::current;

/// Awaits a future as work. Made by [`Work::run`] and its kin.
///
/// Armed at its first poll; its parent is the context in which it was made.
#[pin_project(PinnedDrop)]
#[must_use = "futures do nothing unless polled; work that is not armed records nothing"]
pub struct WorkFuture<F, W: Work, M> {
    /// Gone once it was ready: what it held belongs to the work.
    #[pin]
    future: Option<F>,
    state: State<W>,
    then: Option<M>,
}

enum State<W: Work> {
    Unarmed(W, Parent),
    Armed(Guard<W>),
    Over,
}

impl<W: Work> State<W> {
    fn arm(&mut self) -> Option<&mut Guard<W>> {
        if let Self::Unarmed(..) = self
            && let Self::Unarmed(work, parent) = mem::replace(self, Self::Over)
        {
            *self = Self::Armed(Guard::start_in(work, &parent));
        }
        match self {
            Self::Armed(guard) => Some(guard),
            _ => None,
        }
    }

    fn take(&mut self) -> Option<Guard<W>> {
        match mem::replace(self, Self::Over) {
            Self::Armed(guard) => Some(guard),
            _ => None,
        }
    }
}

impl<F, W: Work, M> WorkFuture<F, W, M> {
    pub(super) fn new(work: W, future: F, then: M) -> Self {
        Self { future: Some(future), state: State::Unarmed(work, current::current()), then: Some(then) }
    }
}

impl<F, W, M, U> Future for WorkFuture<F, W, M>
where
    F: Future,
    W: Work,
    M: FnOnce(Guard<W>, F::Output) -> U,
{
    type Output = U;

    /// # Panics
    ///
    /// If it is polled after it was ready, as futures may.
    #[allow(clippy::expect_used, reason = "polling a future after it was ready is the caller's bug, not a measurement")]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<U> {
        const AGAIN: &str = "`WorkFuture` polled after it was ready";
        let mut this = self.project();
        let polled = this.state.arm().expect(AGAIN).in_scope(|| {
            let polled = this.future.as_mut().as_pin_mut().expect(AGAIN).poll(cx);
            if polled.is_ready() {
                this.future.set(None);
            }
            polled
        });
        polled.map(|value| this.then.take().expect(AGAIN)(this.state.take().expect(AGAIN), value))
    }
}

#[pinned_drop]
impl<F, W: Work, M> PinnedDrop for WorkFuture<F, W, M> {
    /// What goes on inside ends before the work does.
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        if let State::Armed(guard) = this.state {
            let current = guard.enter_to_drop();
            this.future.set(None);
            drop(current);
            guard.let_go();
        }
    }
}

impl<F, W: Work, M> fmt::Debug for WorkFuture<F, W, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut future = f.debug_struct("WorkFuture");
        match &self.state {
            State::Unarmed(work, _) => future.field("work", work),
            State::Armed(guard) => future.field("work", &guard.work),
            State::Over => &mut future,
        };
        future.finish_non_exhaustive()
    }
}
