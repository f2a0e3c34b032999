//! Requests that are awaited before they stream.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::Stream;
use pin_project::pin_project;

use crate::{
    Classify, Recorder,
    live::Live,
    measured::{LivePoll, Measured},
    reader::Reader,
};

/// Awaits the request of a call and gives its measured stream. Made by [`Call::open`](crate::Call::open) and its kin.
///
/// The call is armed at the first poll. Ready with `Ok`, the response head is marked; with `Err`, the call ends as an
/// error; dropped in between, as cancelled.
#[pin_project]
#[must_use = "futures do nothing unless polled; a call that is not armed records nothing"]
pub struct Open<F, R, By> {
    live: Option<Box<Live>>,
    #[pin]
    request: F,
    reader: Option<R>,
    by: PhantomData<fn() -> By>,
}

impl<F, R, By> Open<F, R, By> {
    pub(crate) fn new(live: Option<Box<Live>>, request: F, reader: R) -> Self {
        Self { live, request, reader: Some(reader), by: PhantomData }
    }
}

impl<F, S, E, R, By> Future for Open<F, R, By>
where
    F: Future<Output = Result<S, E>>,
    S: Stream,
    R: Reader<S::Item>,
    E: Classify<By>,
{
    type Output = Result<Measured<S, R>, E>;

    /// # Panics
    ///
    /// If it is polled after it was ready, as futures may.
    #[allow(clippy::expect_used, reason = "polling a future after it was ready is the caller's bug, not a measurement")]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Some(live) = this.live {
            live.spec.streamed = true;
        }
        let polled = poll_request(this.live.as_deref_mut(), this.request, cx, |live, _| live.head());
        polled.map_ok(|stream| {
            let reader = this.reader.take().expect("`Open` polled after it was ready");
            Measured::new(stream, Recorder::new(this.live.take()), reader)
        })
    }
}

/// Polls a request inside its call: arms the call, gives an `Ok` to `answered`, ends the call with an `Err`.
pub(crate) fn poll_request<F, T, E, By>(
    live: Option<&mut Live>,
    request: Pin<&mut F>,
    cx: &mut Context<'_>,
    answered: impl FnOnce(&mut Live, &T),
) -> Poll<Result<T, E>>
where
    F: Future<Output = Result<T, E>>,
    E: Classify<By>,
{
    let Some(live) = live.filter(|live| !live.ending.is_latched()) else { return request.poll(cx) };
    live.arm();
    let mut poll = LivePoll::begin(live);
    let polled = {
        let _current = poll.live().enter();
        request.poll(cx)
    };
    match &polled {
        Poll::Pending => {}
        Poll::Ready(Ok(answer)) => answered(poll.live(), answer),
        Poll::Ready(Err(error)) => poll.live().failed(error.failure()),
    }
    poll.survived();
    polled
}

impl<F, R, By> fmt::Debug for Open<F, R, By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("call", &self.live).finish_non_exhaustive()
    }
}

/// A request that is built at its first poll, inside the call. Made by [`Call::open_fn`](crate::Call::open_fn).
#[pin_project]
#[must_use = "futures do nothing unless polled"]
pub struct OpenFn<B, F> {
    #[pin]
    stage: Stage<B, F>,
}

#[pin_project(project = StageAt)]
enum Stage<B, F> {
    Unbuilt(Option<B>),
    Built(#[pin] F),
}

impl<B, F> OpenFn<B, F> {
    pub(crate) fn new(build: B) -> Self {
        Self { stage: Stage::Unbuilt(Some(build)) }
    }
}

impl<B: FnOnce() -> F, F: Future> Future for OpenFn<B, F> {
    type Output = F::Output;

    /// # Panics
    ///
    /// If it is polled after `build` has panicked, as futures do: nobody would ever wake it.
    #[allow(clippy::expect_used, reason = "polling a future after it panicked is the caller's bug, not a measurement")]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        if let StageAt::Unbuilt(build) = stage.as_mut().project() {
            let build = build.take().expect("`OpenFn` polled after its request could not be built");
            stage.set(Stage::Built(build()));
        }
        match stage.project() {
            StageAt::Built(request) => request.poll(cx),
            StageAt::Unbuilt(_) => Poll::Pending, // it was built just now
        }
    }
}

impl<B, F> fmt::Debug for OpenFn<B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenFn")
    }
}
