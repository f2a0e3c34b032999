//! Readers: who says what an item carries. The item itself, a closure, or a decoder.

use std::{fmt, marker::PhantomData};

use opentelemetry::{Key, KeyValue, Value};

use crate::{Carries, Classify, Oddity, Output, Sees, live::Live};

/// Says what the items of a stream carry. For authors of adapters: a decoder that finds several events in one item, and
/// more at the end of the stream. Everybody else gives a closure.
pub trait Reader<Item: ?Sized> {
    /// How much of an ending it can see.
    const SEES: Sees;

    /// One item. Its time is already taken.
    fn read(&mut self, item: &Item, read: &mut Read<'_>);

    /// The stream ended; what was left in a buffer may still be told.
    fn end(&mut self, read: &mut Read<'_>) {
        let _ = read;
    }
}

/// What a [`Reader`] tells of one read. All events of a read share its time.
#[derive(Debug)]
pub struct Read<'a> {
    live: &'a mut Live,
    /// The end of the stream is a read only if something was left to be told at it.
    at_end: bool,
    /// What is told is the answer as a whole: neither chunk nor mark.
    whole: bool,
}

impl<'a> Read<'a> {
    #[inline]
    pub(crate) fn of(live: &'a mut Live) -> Self {
        Self { live, at_end: false, whole: false }
    }

    pub(crate) fn at_end(live: &'a mut Live) -> Self {
        Self { live, at_end: true, whole: false }
    }

    /// One event.
    #[inline]
    pub fn event(&mut self, output: Output<'_>) {
        if self.whole {
            return self.live.part_of_whole(&output);
        }
        if self.at_end && !output.ignored {
            self.at_end = false;
            self.live.read_unasked();
        }
        self.live.event(&output);
    }

    /// A further part of the event that was told last: output of another choice, a second finish reason.
    pub fn also(&mut self, output: Output<'_>) {
        if self.whole {
            return self.live.part_of_whole(&output);
        }
        self.live.event(&output.uncounted());
    }

    /// Says whether the answer turned out to stream. What is told of one that came whole is neither chunk nor mark;
    /// say so in each read that tells of it.
    pub fn streams(&mut self, streams: bool) {
        self.whole = !streams;
        self.live.turned_out(streams);
    }

    /// How much of an ending can be seen, where that shows in the bytes only.
    pub fn sees(&mut self, sees: Sees) {
        self.live.ending.sees(sees);
    }

    /// Adds to the bytes of the answer that have come (`http.response.body.size`), as the transport counts them.
    #[inline]
    pub fn received(&mut self, bytes: u64) {
        let received = &mut self.live.spec.extras().received;
        *received = received.saturating_add(bytes);
    }

    /// Whether anybody wants the words of the output: content capture, a tokenizer of the caller's. Where nobody does,
    /// its size is enough.
    #[must_use]
    pub fn wants_text(&self) -> bool {
        self.live.wants_text()
    }

    /// Adds an attribute to the call's span: a server-side timing, a service tier. Never to metrics.
    pub fn attribute(&mut self, key: impl Into<Key>, value: impl Into<Value>) {
        self.live.attribute(KeyValue::new(key, value));
    }

    /// Whether an attribute of this name was added before: what a provider repeats in each chunk need not be copied again.
    #[must_use]
    pub fn has_attribute(&self, key: &str) -> bool {
        self.live.answer.attributes.iter().any(|attribute| attribute.key.as_str() == key)
    }

    /// Counts what could not be measured.
    pub fn oddity(&mut self, oddity: Oddity, times: u64) {
        if times > 0 {
            self.live.oddity(oddity, times);
        }
    }

    /// Whether the call is decided: what comes now is not measured any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.live.ending.is_latched()
    }
}

/// Items that know what they carry.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ByItem;

impl<Item: Carries> Reader<Item> for ByItem {
    const SEES: Sees = Item::SEES;

    #[inline]
    fn read(&mut self, item: &Item, read: &mut Read<'_>) {
        read.event(item.output());
    }
}

/// A closure over items.
pub struct With<F>(pub(crate) F);

impl<Item, F: FnMut(&Item) -> Output<'_>> Reader<Item> for With<F> {
    const SEES: Sees = Sees::Nothing;

    #[inline]
    fn read(&mut self, item: &Item, read: &mut Read<'_>) {
        read.event((self.0)(item));
    }
}

impl<F> fmt::Debug for With<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("With")
    }
}

/// A closure over the `Ok` items; `Err` items are classified.
pub struct TryWith<F, By> {
    reader: F,
    by: PhantomData<fn() -> By>,
}

impl<F, By> TryWith<F, By> {
    pub(crate) fn new(reader: F) -> Self {
        Self { reader, by: PhantomData }
    }
}

impl<T, E: Classify<By>, By, F: FnMut(&T) -> Output<'_>> Reader<Result<T, E>> for TryWith<F, By> {
    const SEES: Sees = Sees::Nothing;

    #[inline]
    fn read(&mut self, item: &Result<T, E>, read: &mut Read<'_>) {
        match item {
            Ok(item) => read.event((self.reader)(item)),
            Err(error) => read.event(Output::failure(error.failure())),
        }
    }
}

impl<F, By> fmt::Debug for TryWith<F, By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TryWith")
    }
}

/// `Result`s of items that know what they carry, with errors of any sort that can be classified.
pub struct TryByItem<By>(PhantomData<fn() -> By>);

impl<By> TryByItem<By> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T: Carries, E: Classify<By>, By> Reader<Result<T, E>> for TryByItem<By> {
    const SEES: Sees = T::SEES;

    #[inline]
    fn read(&mut self, item: &Result<T, E>, read: &mut Read<'_>) {
        match item {
            Ok(item) => read.event(item.output()),
            Err(error) => read.event(Output::failure(error.failure())),
        }
    }
}

impl<By> fmt::Debug for TryByItem<By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TryByItem")
    }
}
