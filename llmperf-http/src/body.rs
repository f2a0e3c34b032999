//! The body of an answer, measured as it passes.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use llmperf_core::{Recorder, Timing};
use pin_project::pin_project;

use crate::reading::Reading;

/// The body of an answer on its way to the application: frame by frame what the server sent, trailers, size hints, end and
/// errors included. What it says is measured on the side.
///
/// Dropped before the answer was whole, the call ends as *cancelled*. It is `Send`, `Sync` and `Unpin` if the body
/// inside is; that of a request that is no call to a model carries nothing.
#[pin_project]
pub struct MeasuredBody<B> {
    // Before the body: the call ends before what it measured is dropped.
    measuring: Option<Box<Measuring>>,
    #[pin]
    body: B,
}

#[derive(Debug)]
struct Measuring {
    call: Recorder,
    reading: Reading,
}

impl Measuring {
    /// The body has no more to give.
    fn end<D: bytes::Buf, E>(&mut self) {
        self.call.end_by::<Result<Frame<D>, E>>(&mut self.reading);
    }
}

impl<B: Body> MeasuredBody<B> {
    pub(crate) fn new(body: B, call: Recorder, reading: Reading) -> Self {
        let mut measuring = Box::new(Measuring { call, reading });
        if body.is_end_stream() {
            measuring.end::<B::Data, B::Error>();
        }
        Self { measuring: Some(measuring), body }
    }
}

impl<B> MeasuredBody<B> {
    /// A body that is not measured.
    pub(crate) fn untouched(body: B) -> Self {
        Self { measuring: None, body }
    }

    /// Whether this is the answer to a call.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.measuring.is_some()
    }

    /// What has been measured, as of now; final once its outcome is set. `None` for what is no answer to a call.
    #[must_use]
    pub fn timing(&self) -> Option<Timing> {
        self.measuring.as_ref().map(|measuring| measuring.call.timing())
    }

    /// The body inside.
    #[must_use]
    pub fn get_ref(&self) -> &B {
        &self.body
    }

    /// Gives back the body; the call ends here, as if it had been dropped.
    #[must_use]
    pub fn into_inner(self) -> B {
        self.body
    }
}

impl<B: Body> Body for MeasuredBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let Some(measuring) = this.measuring.as_deref_mut() else { return this.body.poll_frame(cx) };
        let Measuring { call, reading } = measuring;
        let polled = call.poll(|| this.body.as_mut().poll_frame(cx), reading);
        // Who knows the end by this does not poll again.
        if matches!(polled, Poll::Ready(Some(Ok(_)))) && this.body.is_end_stream() {
            measuring.end::<B::Data, B::Error>();
        }
        if measuring.call.is_over() {
            measuring.reading.close();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: Default> Default for MeasuredBody<B> {
    fn default() -> Self {
        Self::untouched(B::default())
    }
}

impl<B: fmt::Debug> fmt::Debug for MeasuredBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeasuredBody").field("measured", &self.is_measured()).field("body", &self.body).finish()
    }
}
