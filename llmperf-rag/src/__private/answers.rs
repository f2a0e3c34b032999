//! Answers of models, as attributes with `reads` hand them on.

use std::marker::PhantomData;

use futures_core::Stream;
use llmperf_core::{ByItem, Carries, Guard, MeasureStream as _, Measured, Output, Recorder, Work};

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

/// The items of a stream: `(&&items(&stream)).streamed(…)` reads them.
#[derive(Debug)]
pub struct Items<I>(PhantomData<I>);

/// The items of this stream.
pub fn items<S: Stream>(_: &S) -> Items<S::Item> {
    Items(PhantomData)
}

/// By what the items are, whatever names their types have: method lookup tries `Result`s first.
pub mod reading {
    use futures_core::Stream;
    use llmperf_core::{Classify, Guard, MeasureStream as _, Measured, Output, TryWith, With};

    use super::{Asks, Items};

    /// Items that are `Result`s.
    pub trait OfResults<T, E> {
        /// The stream, whose `Ok` items are read by a closure.
        fn streamed<W: Asks, S, By, R>(&self, guard: &mut Guard<W>, stream: S, reads: R) -> Measured<S, TryWith<R, By>>
        where
            S: Stream<Item = Result<T, E>>,
            E: Classify<By>,
            R: FnMut(&T) -> Output<'_>,
        {
            stream.try_measure_with(guard.take_call(), reads)
        }
    }

    impl<T, E> OfResults<T, E> for &Items<Result<T, E>> {}

    /// Items of any other type.
    pub trait OfAny<I> {
        /// The stream, whose items are read by a closure.
        fn streamed<W: Asks, S, R>(&self, guard: &mut Guard<W>, stream: S, reads: R) -> Measured<S, With<R>>
        where
            S: Stream<Item = I>,
            R: FnMut(&I) -> Output<'_>,
        {
            stream.measure_with(guard.take_call(), reads)
        }
    }

    impl<I> OfAny<I> for Items<I> {}
}

/// A stream whose items know what they carry.
pub fn streamed_as_is<W: Asks, S>(guard: &mut Guard<W>, stream: S) -> Measured<S, ByItem>
where
    S: Stream<Item: Carries>,
{
    stream.measure(guard.take_call())
}
