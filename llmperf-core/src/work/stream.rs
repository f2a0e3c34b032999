//! A stream whose end is the end of work.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use futures_core::{FusedStream, Stream};
use pin_project::{pin_project, pinned_drop};

use super::{Guard, Verdict, Work};
use crate::internal::caught;

/// A stream that is, or ends, a piece of work. Made by [`Guard::stream`].
///
/// Its end is complete, unless an item was judged a failure; its drop is cancelled, unless the stream had told that it
/// has no more. Polled after its end it forwards untouched.
#[pin_project(PinnedDrop)]
#[must_use = "streams do nothing unless polled; dropping it ends the work as cancelled"]
pub struct WorkStream<S: Stream, W: Work, R> {
    #[pin]
    stream: Option<S>,
    guard: Option<Guard<W>>,
    reader: R,
}

impl<W: Work> Guard<W> {
    /// Ends the work with this stream. `reader` sees each item: it says when there is [output](Guard::output), and
    /// [judges](Guard::judge) failures.
    pub fn stream<S, R>(self, stream: S, reader: R) -> WorkStream<S, W, R>
    where
        S: Stream,
        R: FnMut(&mut Self, &S::Item),
    {
        WorkStream { stream: Some(stream), guard: Some(self), reader }
    }
}

impl<S, W, R> Stream for WorkStream<S, W, R>
where
    S: Stream,
    W: Work,
    R: FnMut(&mut Guard<W>, &S::Item),
{
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.project();
        // There is one until the drop.
        let Some(stream) = this.stream.as_pin_mut() else { return Poll::Ready(None) };
        let Some(guard) = this.guard else { return stream.poll_next(cx) };
        let polled = guard.polled(|guard| {
            let polled = stream.poll_next(cx);
            if let Poll::Ready(Some(item)) = &polled {
                (this.reader)(guard, item);
            }
            polled
        });
        if let Poll::Ready(None) = polled
            && let Some(guard) = this.guard.take()
        {
            guard.complete();
        }
        polled
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.as_ref().map_or((0, Some(0)), Stream::size_hint)
    }
}

impl<S, W, R> FusedStream for WorkStream<S, W, R>
where
    S: FusedStream,
    W: Work,
    R: FnMut(&mut Guard<W>, &S::Item),
{
    fn is_terminated(&self) -> bool {
        self.stream.as_ref().is_none_or(FusedStream::is_terminated)
    }
}

#[pinned_drop]
impl<S: Stream, W: Work, R> PinnedDrop for WorkStream<S, W, R> {
    /// What goes on inside ends before the work does.
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        if let Some(guard) = this.guard {
            let exhausted = || this.stream.as_ref().as_pin_ref().is_some_and(|stream| stream.size_hint().1 == Some(0));
            // Without us nobody would have asked.
            if caught(exhausted).unwrap_or(false) {
                guard.judge(Verdict::Complete);
            }
            let current = guard.enter_to_drop();
            this.stream.set(None);
            drop(current);
            guard.let_go();
        }
    }
}

impl<S: Stream, W: Work, R> fmt::Debug for WorkStream<S, W, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkStream").field("guard", &self.guard).finish_non_exhaustive()
    }
}
