//! The push-style recorder: an armed call that is told what happens, for callbacks, receivers and iterators.

use std::{borrow::Cow, task::Poll};

use opentelemetry::{Context, Key, KeyValue, Value};

use crate::{
    Failure, Output, Read, Reader, Sees, Timing, Usage, current,
    live::Live,
    measured::{LivePoll, poll_call},
};

/// An armed call. Hand it to a stream ([`measure`](crate::MeasureStream::measure)), or push into it what a callback
/// API gives.
///
/// Dropped before it was [finished](Self::finish), the call ends as *cancelled*; dropped by a panic, as an error
/// `panic`. There is no consumer wait: nobody can hold up a callback.
///
/// ```
/// use llmperf_core::{Outcome, Output, chat};
///
/// let mut call = chat("llama.cpp", "qwen3").start();
/// for token in ["in", " process"] {
///     call.on_chunk(Output::text(token));
/// }
/// let timing = call.finish();
/// assert_eq!((timing.outcome, timing.outputs), (Some(Outcome::Complete), 2));
/// ```
///
/// The default is a recorder of nothing: what it is handed to passes through unmeasured.
#[derive(Debug, Default)]
#[must_use = "dropping an armed call ends it as cancelled"]
pub struct Recorder(Option<Box<Live>>);

impl Recorder {
    pub(crate) fn new(live: Option<Box<Live>>) -> Self {
        Self(live)
    }

    /// Hands the call on to an adapter; armed by now.
    pub(crate) fn into_live(mut self) -> Option<Box<Live>> {
        let mut live = self.0.take();
        if let Some(live) = &mut live {
            live.arm();
        }
        live
    }

    /// The response head has come.
    pub fn on_head(&mut self) {
        self.tell(Live::head);
    }

    /// The HTTP status of the last attempt; 400 and above end the call as an error of that number.
    pub fn on_status(&mut self, status: u16) {
        self.tell(|live| {
            live.head();
            if status >= 400 {
                live.failed(Failure::new(&status.to_string()));
            }
        });
    }

    /// The response head has come with this HTTP status, and its body is still read: 400 and above fail the call at its end, by
    /// the code that the body names, else by that number.
    pub fn on_head_with(&mut self, status: u16) {
        self.tell(|live| live.answered_with(status));
    }

    /// A chunk has come, now. Each call of this is a read of its own.
    pub fn on_chunk(&mut self, output: Output<'_>) {
        self.tell(|live| {
            live.spec.streamed = true;
            live.read_unasked();
            live.event(&output);
        });
    }

    /// The whole answer of a call that does not stream: neither chunk nor mark. The call ends as complete, unless the answer
    /// says that it failed.
    pub fn on_answer(&mut self, answer: Output<'_>) {
        self.tell(|live| {
            live.spec.whole = true;
            live.whole(&answer);
        });
    }

    /// A usage snapshot: it replaces what was known, per figure.
    pub fn on_usage(&mut self, usage: Usage) {
        self.tell(|live| live.usage(usage));
    }

    /// Adds an attribute to the call's span; never to metrics.
    pub fn attribute(&mut self, key: impl Into<Key>, value: impl Into<Value>) {
        let attribute = KeyValue::new(key, value);
        self.tell(|live| live.attribute(attribute));
    }

    /// The call has failed. `error_type` is a code or a type, never a message.
    pub fn fail(&mut self, error_type: &str) {
        self.failure(Failure::new(error_type));
    }

    /// The call has failed, in a way that was classified.
    pub fn failure(&mut self, failure: Failure<'_>) {
        self.tell(|live| live.failed(failure));
    }

    /// The answer is whole: the call ends as complete, unless it has ended before.
    pub fn finish(mut self) -> Timing {
        self.tell(Live::complete);
        self.timing()
    }

    /// The source has no more: whether the answer is whole is decided by what was seen of it.
    pub fn end(mut self) -> Timing {
        self.tell(Live::end);
        self.timing()
    }

    /// Nothing was asked of the model: the answer came from a cache. Of the call nothing is recorded but its span, under
    /// this name: no metric, no statistics, no log event. Say how it ended all the same.
    pub fn withdraw(&mut self, name: impl Into<Cow<'static, str>>) {
        self.tell(|live| live.withdraw(name.into()));
    }

    /// How much of an ending its source shows, unless [`Call::sees`](crate::Call::sees) has said it.
    pub fn sees(&mut self, sees: Sees) {
        self.tell(|live| live.default_sees(sees));
    }

    /// One poll of what the call measures, for a source that is no [`Stream`](futures_core::Stream): all that
    /// [`Measured`](crate::Measured) does in a poll. For authors of adapters.
    ///
    /// ```
    /// use std::task::Poll;
    /// use llmperf_core::{ByItem, Outcome, chat};
    ///
    /// let mut words = ["in", "process"].into_iter();
    /// let mut call = chat("llama.cpp", "qwen3").start();
    /// while let Poll::Ready(Some(word)) = call.poll(|| Poll::Ready(words.next()), &mut ByItem::default()) {
    ///     print!("{word} ");
    /// }
    /// assert_eq!(call.timing().outcome, Some(Outcome::Complete));
    /// ```
    #[inline]
    pub fn poll<T>(
        &mut self,
        source: impl FnOnce() -> Poll<Option<T>>,
        reader: &mut impl Reader<T>,
    ) -> Poll<Option<T>> {
        poll_call(self.0.as_deref_mut(), source, reader)
    }

    /// As [`end`](Self::end), for a source that says beside its last item that it has no more: nobody need poll it again.
    pub fn end_by<T: ?Sized>(&mut self, reader: &mut impl Reader<T>) {
        self.tell(|live| {
            reader.end(&mut Read::at_end(live));
            live.end();
        });
    }

    /// Whether nothing is measured (any more): the call has ended, or measuring is switched off.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.as_ref().is_none_or(|live| live.ending.is_latched())
    }

    /// Runs `f` inside the call: spans made there are its children, also once the call has ended. A panic in it ends
    /// the call and propagates.
    pub fn in_scope<T>(&mut self, f: impl FnOnce() -> T) -> T {
        let Some(live) = self.0.as_deref_mut() else { return f() };
        let _current = current::attach(live.context());
        if live.ending.is_latched() {
            return f();
        }
        let poll = LivePoll::begin(live);
        let value = f();
        poll.survived();
        value
    }

    /// The call's context, to parent what it sets off elsewhere.
    #[must_use]
    pub fn context(&self) -> Context {
        self.0.as_ref().map_or_else(Context::new, |live| live.context().clone())
    }

    /// What has been measured, as of now.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.0.as_ref().map_or_else(Timing::nothing, |live| live.timing())
    }

    pub(crate) fn tell(&mut self, what: impl FnOnce(&mut Live)) {
        if let Some(live) = self.0.as_deref_mut().filter(|live| !live.ending.is_latched()) {
            what(live);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.tell(Live::panicked);
        }
    }
}
