//! The stream adapter: [`Measured`], and [`MeasureStream`] that makes it.
//!
//! Items pass through unchanged, at once, in order. When each mark is taken:
//! - an item's time is the return of the inner `poll_next` with it, before it is read;
//! - the call is recorded at its latch: within the poll that found the marker, the error or the end, else in the drop;
//! - what comes after the latch passes through unmeasured.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::{FusedStream, Stream};
use pin_project::pin_project;

use crate::{
    Carries, Classify, Output, Recorder, Sees, Timing,
    live::Live,
    reader::{ByItem, Read, Reader, TryByItem, TryWith, With},
};

/// Measures streams. Import it to have the methods on every [`Stream`].
pub trait MeasureStream: Stream + Sized + sealed::Sealed {
    /// Measures items that know what they carry: text, and types that implement [`Carries`].
    ///
    /// The call is armed now if it was not before.
    fn measure(self, call: impl Into<Recorder>) -> Measured<Self, ByItem>
    where
        Self::Item: Carries,
    {
        Measured::new(self, call, ByItem)
    }

    /// Measures items of any type; the closure says what one carries. Write it inline, or as a `fn`: a closure that was bound
    /// to a name first has one lifetime only.
    ///
    /// A closure shows nothing of an ending until [`Call::sees`](crate::Call::sees) says otherwise: a stream that just ends is
    /// then complete.
    ///
    /// ```
    /// use futures::{StreamExt as _, stream};
    /// use llmperf_core::{MeasureStream as _, Output, Sees, chat};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// enum Event { Delta(&'static str), Finish(&'static str) }
    ///
    /// let events = stream::iter([Event::Delta("hi"), Event::Finish("stop")]);
    /// let mut reply = events.measure_with(chat("vllm", "llama-3").sees(Sees::Finish), |event| match event {
    ///     Event::Delta(text) => Output::text(text),
    ///     Event::Finish(reason) => Output::finish(reason),
    /// });
    /// while reply.next().await.is_some() {}
    /// assert_eq!(reply.timing().outcome, Some(llmperf_core::Outcome::Complete));
    /// # }
    /// ```
    fn measure_with<F>(self, call: impl Into<Recorder>, reader: F) -> Measured<Self, With<F>>
    where
        F: FnMut(&Self::Item) -> Output<'_>,
    {
        Measured::new(self, call, With(reader))
    }

    /// As [`measure`](Self::measure) for `Result` items whose error is no [`std::error::Error`] itself but holds one:
    /// `Box<dyn Error + Send + Sync>`, `anyhow::Error`.
    fn try_measure<T, E, By>(self, call: impl Into<Recorder>) -> Measured<Self, TryByItem<By>>
    where
        Self: Stream<Item = Result<T, E>>,
        T: Carries,
        E: Classify<By>,
    {
        Measured::new(self, call, TryByItem::new())
    }

    /// As [`measure_with`](Self::measure_with) for `Result` items: the closure sees the `Ok` ones, an `Err` is
    /// recorded by us, as an interruption if its source chain holds an I/O error of the transport.
    ///
    /// ```
    /// use futures::{StreamExt as _, stream};
    /// use llmperf_core::{MeasureStream as _, Output, chat};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let items = [Ok("hi"), Err(std::io::Error::from(std::io::ErrorKind::InvalidData))];
    /// let mut reply = stream::iter(items).try_measure_with(chat("vllm", "llama-3"), |text| Output::text(text));
    /// while reply.next().await.is_some() {}
    /// assert_eq!(reply.timing().error_type.as_deref(), Some("std::io::error::Error"));
    /// # }
    /// ```
    fn try_measure_with<T, E, By, F>(self, call: impl Into<Recorder>, reader: F) -> Measured<Self, TryWith<F, By>>
    where
        Self: Stream<Item = Result<T, E>>,
        E: Classify<By>,
        F: FnMut(&T) -> Output<'_>,
    {
        Measured::new(self, call, TryWith::new(reader))
    }
}

impl<S: Stream> MeasureStream for S {}

mod sealed {
    pub trait Sealed {}
    impl<S: futures_core::Stream> Sealed for S {}
}

/// A measured stream. It is `Send`, `Sync`, `Unpin` and `FusedStream` if the stream inside is.
///
/// Dropped before the answer was whole, the call ends as *cancelled* (as an error `timeout` if a declared deadline had
/// passed).
#[pin_project]
#[must_use = "streams do nothing unless polled; dropping this one ends its call as cancelled"]
pub struct Measured<S, R> {
    // Before the stream: the call ends before what it measured is dropped.
    live: Option<Box<Live>>,
    #[pin]
    stream: S,
    reader: R,
}

impl<S, R> Measured<S, R> {
    /// Measures `stream` with a reader of your own. For authors of adapters.
    pub fn new(stream: S, call: impl Into<Recorder>, reader: R) -> Self
    where
        S: Stream,
        R: Reader<S::Item>,
    {
        let mut live = call.into().into_live();
        if let Some(live) = &mut live {
            live.spec.streamed = true;
            live.default_sees(R::SEES);
        }
        Self { live, stream, reader }
    }

    /// What has been measured, as of now; final once its outcome is set. All absent while measuring is switched off.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.live.as_ref().map_or_else(Timing::nothing, |live| live.timing())
    }

    /// Lets go of the stream and gives what was measured: final. A call that had not ended ends here, as by a drop.
    #[must_use]
    pub fn into_timing(mut self) -> Timing {
        match &mut self.live {
            Some(live) => {
                live.dropped();
                live.timing()
            }
            None => Timing::nothing(),
        }
    }

    /// How much of an ending the reader sees, where a closure knows better than its default.
    pub fn sees(mut self, sees: Sees) -> Self {
        if let Some(live) = &mut self.live {
            live.set_sees(sees);
        }
        self
    }

    /// The application's own verdict: the call has failed, now. `error_type` is a code, never a message.
    pub fn fail(&mut self, error_type: &str) {
        if let Some(live) = &mut self.live {
            live.failed(crate::Failure::new(error_type));
        }
    }

    /// As [`fail`](Self::fail), for a pinned stream.
    pub fn fail_pinned(self: Pin<&mut Self>, error_type: &str) {
        if let Some(live) = self.project().live {
            live.failed(crate::Failure::new(error_type));
        }
    }

    /// The stream inside.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// The stream inside. Items taken from it directly are not measured.
    #[must_use]
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Gives back the stream; the call ends here, as if it had been dropped.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: Stream, R: Reader<S::Item>> Stream for Measured<S, R> {
    type Item = S::Item;

    #[inline]
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.project();
        let stream = this.stream;
        poll_call(this.live.as_deref_mut(), || stream.poll_next(cx), this.reader)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}

impl<S: FusedStream, R: Reader<S::Item>> FusedStream for Measured<S, R> {
    fn is_terminated(&self) -> bool {
        self.stream.is_terminated()
    }
}

impl<S: fmt::Debug, R> fmt::Debug for Measured<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measured").field("stream", &self.stream).field("timing", &self.timing()).finish_non_exhaustive()
    }
}

/// One poll of a source of items that a call measures: its time, what the item carries, its end.
#[inline]
pub(crate) fn poll_call<T>(
    live: Option<&mut Live>,
    source: impl FnOnce() -> Poll<Option<T>>,
    reader: &mut impl Reader<T>,
) -> Poll<Option<T>> {
    let Some(live) = live else { return source() };
    if live.ending.is_latched() {
        // No longer measured; what the source does is still the call's, and no root of its own.
        let _current = live.enter();
        return source();
    }
    let mut poll = LivePoll::begin(live);
    let polled = {
        let _current = poll.live().enter();
        source()
    };
    let live = poll.live();
    match &polled {
        Poll::Pending => live.pending(),
        Poll::Ready(Some(item)) => {
            live.read();
            reader.read(item, &mut Read::of(live));
        }
        Poll::Ready(None) => {
            reader.end(&mut Read::at_end(live));
            live.end();
        }
    }
    poll.survived();
    polled
}

/// One poll of a live call: if it unwinds, the call has failed with `panic`.
pub(crate) struct LivePoll<'a> {
    live: &'a mut Live,
    survived: bool,
}

impl<'a> LivePoll<'a> {
    #[inline]
    pub(crate) fn begin(live: &'a mut Live) -> Self {
        live.polled();
        Self { live, survived: false }
    }

    #[inline]
    pub(crate) fn live(&mut self) -> &mut Live {
        self.live
    }

    #[inline]
    pub(crate) fn survived(mut self) {
        self.survived = true;
    }
}

impl Drop for LivePoll<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.survived {
            self.live.panicked();
        }
    }
}
