//! The iterator adapter, built on the recorder.

use std::{fmt, iter::FusedIterator};

use crate::{Carries, Output, Recorder, Sees, Timing, live::Live, measured::LivePoll};

/// Measures blocking iterators over tokens or events. Import it to have the methods on every [`Iterator`].
pub trait MeasureIterator: Iterator + Sized + sealed::Sealed {
    /// Measures items that know what they carry.
    ///
    /// ```
    /// use llmperf_core::{MeasureIterator as _, chat};
    ///
    /// let mut tokens = ["a", "b"].into_iter().measure_iter(chat("candle", "phi-4"));
    /// assert_eq!(tokens.by_ref().count(), 2);
    /// assert_eq!(tokens.timing().outputs, 2);
    /// ```
    fn measure_iter(self, call: impl Into<Recorder>) -> MeasuredIter<Self, fn(&Self::Item) -> Output<'_>>
    where
        Self::Item: Carries,
    {
        MeasuredIter::new(self, call, Self::Item::output, Self::Item::SEES)
    }

    /// Measures items of any type; the closure says what one carries.
    fn measure_iter_with<F>(self, call: impl Into<Recorder>, reader: F) -> MeasuredIter<Self, F>
    where
        F: FnMut(&Self::Item) -> Output<'_>,
    {
        MeasuredIter::new(self, call, reader, Sees::Nothing)
    }
}

impl<I: Iterator> MeasureIterator for I {}

mod sealed {
    pub trait Sealed {}
    impl<I: Iterator> Sealed for I {}
}

/// A measured iterator. An item's time is the return of the inner `next` with it. A blocking `next` does not tell
/// whether its item was ready before, so there is no consumer wait: a slow consumer's time lies in the gaps.
#[must_use = "iterators are lazy; dropping this one ends its call as cancelled"]
pub struct MeasuredIter<I, F> {
    // Before the iterator: the call ends before what it measured is dropped.
    call: Recorder,
    items: I,
    reader: F,
}

impl<I, F> MeasuredIter<I, F> {
    fn new(items: I, call: impl Into<Recorder>, reader: F, sees: Sees) -> Self {
        let mut call = call.into();
        call.tell(|live| {
            live.spec.streamed = true;
            live.default_sees(sees);
        });
        Self { call, items, reader }
    }

    /// How much of an ending the reader sees.
    pub fn sees(mut self, sees: Sees) -> Self {
        self.call.tell(|live| live.set_sees(sees));
        self
    }

    /// What has been measured, as of now.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.call.timing()
    }
}

impl<I: Iterator, F: FnMut(&I::Item) -> Output<'_>> Iterator for MeasuredIter<I, F> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let items = &mut self.items;
        let item = self.call.in_scope(|| items.next());
        match &item {
            Some(item) => {
                let reader = &mut self.reader;
                self.call.tell(|live| {
                    let mut poll = LivePoll::begin(live);
                    poll.live().read_unasked();
                    poll.live().event(&reader(item));
                    poll.survived();
                });
            }
            None => self.call.tell(Live::end),
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: FusedIterator, F: FnMut(&I::Item) -> Output<'_>> FusedIterator for MeasuredIter<I, F> {}

impl<I: fmt::Debug, F> fmt::Debug for MeasuredIter<I, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeasuredIter").field("items", &self.items).field("call", &self.call).finish_non_exhaustive()
    }
}
