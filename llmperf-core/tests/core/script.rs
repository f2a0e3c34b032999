//! A stream that follows a script on the manual clock: what it waits for has passed when it comes back.

use std::{
    collections::VecDeque,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, StreamExt as _, executor::block_on};
use llmperf_core::testing::{ManualClock, Probe};
use opentelemetry_sdk::trace::SpanData;

#[derive(Debug)]
pub(crate) enum Step<T> {
    /// The model is busy for so long: one pending poll.
    Busy(u64),
    /// An item is ready.
    Item(T),
    /// The poll panics.
    Panic,
    /// Nothing ever comes again.
    Hang,
}

#[derive(Debug)]
pub(crate) struct Script<T> {
    clock: ManualClock,
    steps: VecDeque<Step<T>>,
}

pub(crate) fn script<T>(probe: &Probe, steps: impl IntoIterator<Item = Step<T>>) -> Script<T> {
    Script { clock: probe.clock().clone(), steps: steps.into_iter().collect() }
}

/// Items, each after so many milliseconds of the model's work.
pub(crate) fn paced<T>(probe: &Probe, items: impl IntoIterator<Item = (u64, T)>) -> Script<T> {
    script(probe, items.into_iter().flat_map(|(busy, item)| [Step::Busy(busy), Step::Item(item)]))
}

impl<T: Unpin> Stream for Script<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        match self.steps.pop_front() {
            Some(Step::Busy(millis)) => {
                self.clock.advance(Duration::from_millis(millis));
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Step::Item(item)) => Poll::Ready(Some(item)),
            Some(Step::Panic) => panic!("scripted"),
            Some(Step::Hang) => {
                self.steps.push_front(Step::Hang);
                Poll::Pending
            }
            None => Poll::Ready(None),
        }
    }
}

pub(crate) fn drain(stream: &mut (impl Stream + Unpin)) -> usize {
    block_on(async {
        let mut items = 0;
        while stream.next().await.is_some() {
            items += 1;
        }
        items
    })
}

pub(crate) fn take(stream: &mut (impl Stream + Unpin), items: usize) {
    block_on(async {
        for _ in 0..items {
            stream.next().await;
        }
    });
}

pub(crate) fn ms(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

/// The value of an attribute of a span, as text.
pub(crate) fn attribute(span: &SpanData, key: &str) -> Option<String> {
    span.attributes.iter().find(|attribute| attribute.key.as_str() == key).map(|attribute| attribute.value.to_string())
}
