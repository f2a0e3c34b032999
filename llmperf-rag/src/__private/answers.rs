//! Answers of models, as attributes with `reads` hand them on.

use futures_core::Stream;
use llmperf_core::{
    ByItem, Carries, Classify, Guard, MeasureStream as _, Measured, Output, Recorder, TryWith, With, Work,
};

use crate::{Embedding, Generation};

/// Stages that may be measured calls.
pub trait Asks: Work {
    /// The call, for a stream.
    fn take_call(&mut self) -> Recorder;

    /// What a whole answer carried.
    fn tell_answer<'a>(&mut self, answer: impl FnOnce() -> Output<'a>);
}

macro_rules! asks {
    ($($stage:ty),*) => {
        $(impl Asks for $stage {
            fn take_call(&mut self) -> Recorder {
                self.call()
            }

            fn tell_answer<'a>(&mut self, answer: impl FnOnce() -> Output<'a>) {
                self.answered(answer);
            }
        })*
    };
}
asks!(Embedding, Generation);

/// The whole answer, read.
pub fn answered<W: Asks, T: ?Sized>(guard: &mut Guard<W>, answer: &T, reads: impl FnOnce(&T) -> Output<'_>) {
    guard.tell_answer(|| reads(answer));
}

/// A stream whose items are read by a closure.
pub fn streamed<W: Asks, S, R>(guard: &mut Guard<W>, stream: S, reads: R) -> Measured<S, With<R>>
where
    S: Stream,
    R: FnMut(&S::Item) -> Output<'_>,
{
    stream.measure_with(guard.take_call(), reads)
}

/// A stream of `Result`s whose `Ok` items are read by a closure.
pub fn try_streamed<W: Asks, S, T, E, By, R>(guard: &mut Guard<W>, stream: S, reads: R) -> Measured<S, TryWith<R, By>>
where
    S: Stream<Item = Result<T, E>>,
    E: Classify<By>,
    R: FnMut(&T) -> Output<'_>,
{
    stream.try_measure_with(guard.take_call(), reads)
}

/// A stream whose items know what they carry.
pub fn streamed_as_is<W: Asks, S>(guard: &mut Guard<W>, stream: S) -> Measured<S, ByItem>
where
    S: Stream<Item: Carries>,
{
    stream.measure(guard.take_call())
}
