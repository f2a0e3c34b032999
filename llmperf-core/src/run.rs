//! Calls that do not stream.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project::pin_project;

use crate::{Classify, Output, live::Live, open::poll_request};

/// Measures a future that gives the whole answer. Made by [`Call::run`](crate::Call::run) and
/// [`Call::run_with`](crate::Call::run_with).
#[pin_project]
#[must_use = "futures do nothing unless polled; a call that is not armed records nothing"]
pub struct Run<F, R, By> {
    live: Option<Box<Live>>,
    #[pin]
    request: F,
    reader: Option<R>,
    by: PhantomData<fn() -> By>,
}

impl<F, R, By> Run<F, R, By> {
    pub(crate) fn new(mut live: Option<Box<Live>>, request: F, reader: R) -> Self {
        if let Some(live) = &mut live {
            live.spec.whole = true;
        }
        Self { live, request, reader: Some(reader), by: PhantomData }
    }
}

impl<F, T, E, R, By> Future for Run<F, R, By>
where
    F: Future<Output = Result<T, E>>,
    R: FnOnce(&T) -> Output<'_>,
    E: Classify<By>,
{
    type Output = Result<T, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let reader = this.reader;
        poll_request(this.live.as_deref_mut(), this.request, cx, |live, answer| {
            if let Some(reader) = reader.take() {
                live.whole(&reader(answer));
            }
        })
    }
}

impl<F, R, By> fmt::Debug for Run<F, R, By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("call", &self.live).finish_non_exhaustive()
    }
}
