//! The body of a request, read ahead and played back as it was: frames, hints, end and errors.

use std::{
    any::Any,
    borrow::Cow,
    collections::VecDeque,
    fmt,
    io::IoSlice,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Buf;
use http_body::{Body, Frame, SizeHint};
use pin_project::pin_project;

/// Most frames that are read ahead.
const MOST_FRAMES: usize = 1024;
/// Most parts of a buffer in pieces that are looked at.
const MOST_PARTS: usize = 64;

/// The body of a request on its way through a measured service: the same frames, hints, end and errors.
#[pin_project]
pub struct RequestBody<B: Body> {
    #[pin]
    body: Inner<B>,
}

#[pin_project(project = InnerAt)]
enum Inner<B: Body> {
    Untouched(#[pin] B),
    Ahead(Box<Ahead<B>>),
}

/// What a body says of its size, and whether it has ended.
type Said = (SizeHint, bool);

/// What a body gave when it was polled.
type Polled<B> = Result<Frame<<B as Body>::Data>, <B as Body>::Error>;

/// A body, and what was read of it.
pub(crate) struct Ahead<B: Body> {
    /// Each with what the body said of itself behind it.
    frames: VecDeque<(Polled<B>, Said)>,
    bytes: usize,
    ended: bool,
    /// What the body panicked with behind those frames. Locked to be `Sync`; there is one owner.
    panicked: Option<Mutex<Box<dyn Any + Send>>>,
    /// What the body said of itself behind the frame that was handed out last.
    said: Said,
    body: Pin<Box<B>>,
}

impl<B: Body> RequestBody<B> {
    pub(crate) fn untouched(body: B) -> Self {
        Self { body: Inner::Untouched(body) }
    }

    pub(crate) fn ahead(ahead: Box<Ahead<B>>) -> Self {
        Self { body: Inner::Ahead(ahead) }
    }
}

impl<B: Body> Ahead<B> {
    pub(crate) fn new(body: B) -> Self {
        let said = (body.size_hint(), body.is_end_stream());
        Self { frames: VecDeque::new(), bytes: 0, ended: said.1, panicked: None, said, body: Box::pin(body) }
    }

    /// Reads what is at hand now, up to the limit. A waker that wakes nobody does: whoever sends the body polls it next.
    pub(crate) fn read_now(&mut self, limit: usize) {
        let _at_hand = self.poll_read(&mut Context::from_waker(Waker::noop()), limit);
    }

    /// Reads on; ready when the body is whole, failed, or too large to be read.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, limit: usize) -> Poll<()> {
        if limit == 0 || self.said.0.lower() > limit as u64 {
            return Poll::Ready(());
        }
        while !self.ended && self.bytes <= limit && self.frames.len() < MOST_FRAMES {
            // Whoever sends the body would have met its panic, not whoever asks for the request to be sent.
            let polled = match catch_unwind(AssertUnwindSafe(|| self.body.as_mut().poll_frame(cx))) {
                Ok(polled) => polled,
                Err(panic) => {
                    self.panicked = Some(Mutex::new(panic));
                    break;
                }
            };
            match polled {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => self.ended = true,
                Poll::Ready(Some(frame)) => {
                    let size = frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Buf::remaining);
                    let failed = frame.is_err();
                    self.bytes = self.bytes.saturating_add(size);
                    let said = (self.body.size_hint(), self.body.is_end_stream());
                    self.ended = said.1;
                    self.frames.push_back((frame, said));
                    if failed {
                        break;
                    }
                }
            }
        }
        Poll::Ready(())
    }

    /// The body, if it was read whole within the limit.
    pub(crate) fn whole(&self, limit: usize) -> Option<Cow<'_, [u8]>> {
        if !self.ended || self.bytes > limit {
            return None;
        }
        let mut data = Vec::with_capacity(self.frames.len());
        for (frame, _) in &self.frames {
            data.extend(frame.as_ref().ok()?.data_ref());
        }
        match data.as_slice() {
            [data] if data.chunk().len() == data.remaining() => Some(Cow::Borrowed(data.chunk())),
            data => {
                let mut whole = Vec::with_capacity(self.bytes);
                let seen = data.iter().all(|data| each_part(*data, |part| whole.extend_from_slice(part)));
                seen.then_some(Cow::Owned(whole))
            }
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Polled<B>>> {
        if let Some((frame, said)) = self.frames.pop_front() {
            self.said = said;
            return Poll::Ready(Some(frame));
        }
        if let Some(panic) = self.panicked.take() {
            resume_unwind(panic.into_inner().unwrap_or_else(PoisonError::into_inner));
        }
        if self.ended { Poll::Ready(None) } else { self.body.as_mut().poll_frame(cx) }
    }

    fn is_end_stream(&self) -> bool {
        if self.is_known() { self.said.1 } else { self.body.is_end_stream() }
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_known() { self.said.0 } else { self.body.size_hint() }
    }

    /// Whether what comes next was read.
    fn is_known(&self) -> bool {
        self.ended || !self.frames.is_empty()
    }
}

/// Shows the bytes of a buffer without taking them; false if it is in more parts than are looked at.
pub(crate) fn each_part(data: &impl Buf, mut part: impl FnMut(&[u8])) -> bool {
    let (first, size) = (data.chunk(), data.remaining());
    if first.len() == size {
        part(first);
        return true;
    }
    let mut parts: [IoSlice<'_>; MOST_PARTS] = std::array::from_fn(|_| IoSlice::new(&[]));
    let count = data.chunks_vectored(&mut parts);
    let parts = parts.get(..count).unwrap_or_default();
    if parts.iter().map(|part| part.len()).sum::<usize>() != size {
        return false;
    }
    parts.iter().for_each(|slice| part(slice));
    true
}

impl<B: Body> Body for RequestBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match self.project().body.project() {
            InnerAt::Untouched(body) => body.poll_frame(cx),
            InnerAt::Ahead(ahead) => ahead.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Inner::Untouched(body) => body.is_end_stream(),
            Inner::Ahead(ahead) => ahead.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Inner::Untouched(body) => body.size_hint(),
            Inner::Ahead(ahead) => ahead.size_hint(),
        }
    }
}

/// For retries inside: where the body can be sent again, so can what was read of it.
impl<B: Body<Data: Clone, Error: Clone> + Clone> Clone for RequestBody<B> {
    fn clone(&self) -> Self {
        let body = match &self.body {
            Inner::Untouched(body) => Inner::Untouched(body.clone()),
            Inner::Ahead(ahead) => Inner::Ahead(Box::new(Ahead {
                frames: ahead.frames.iter().map(|(polled, said)| (cloned(polled), *said)).collect(),
                bytes: ahead.bytes,
                ended: ahead.ended,
                panicked: None, // a panic is met once; the copy of the body may meet its own
                said: ahead.said,
                body: Box::pin(B::clone(&ahead.body)),
            })),
        };
        Self { body }
    }
}

fn cloned<D: Clone, E: Clone>(polled: &Result<Frame<D>, E>) -> Result<Frame<D>, E> {
    let frame = polled.as_ref().map_err(E::clone)?;
    let trailers = || frame.trailers_ref().cloned().unwrap_or_default();
    Ok(frame.data_ref().map_or_else(|| Frame::trailers(trailers()), |data| Frame::data(data.clone())))
}

impl<B: Body> fmt::Debug for RequestBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestBody").field("size", &self.size_hint()).finish_non_exhaustive()
    }
}

impl<B: Body> fmt::Debug for Ahead<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").field("bytes", &self.bytes).field("ended", &self.ended).finish_non_exhaustive()
    }
}
