//! Bodies made up in memory: frames, pauses, trailers, failures; they end as they are told to.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

/// What a body does when it is polled.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Data(Bytes),
    Trailers(HeaderMap),
    /// Nothing yet; it wakes its reader.
    Pause,
    /// Nothing, ever.
    Hang,
    Fail,
    Panic,
}

/// A body that does one step after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    steps: VecDeque<Step>,
    /// It says that it has ended with its last frame.
    pub(crate) tells_end: bool,
    /// It says how much is left.
    pub(crate) tells_size: bool,
}

impl Steps {
    pub(crate) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), tells_end: false, tells_size: false }
    }

    pub(crate) fn of(parts: impl IntoIterator<Item = impl Into<Bytes>>) -> Self {
        Self::new(parts.into_iter().map(|part| Step::Data(part.into())))
    }
}

impl Body for Steps {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.steps.pop_front() {
            None => Poll::Ready(None),
            Some(Step::Data(data)) => Poll::Ready(Some(Ok(Frame::data(data)))),
            Some(Step::Trailers(trailers)) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Some(Step::Fail) => Poll::Ready(Some(Err(io::Error::other("broken on purpose")))),
            Some(Step::Panic) => panic!("panics on purpose"),
            Some(Step::Pause) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Hang) => {
                self.steps.push_front(Step::Hang);
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.tells_end && self.steps.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.steps.iter().map(|step| if let Step::Data(data) = step { data.len() as u64 } else { 0 }).sum();
        if self.tells_size { SizeHint::with_exact(left) } else { SizeHint::default() }
    }
}
