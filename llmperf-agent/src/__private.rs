//! What the attribute macros call beside the public builders. Not for users: it changes without notice.

mod failing;
pub mod judging;
mod value;
mod verdicts;

use std::{marker::PhantomData, ops::Deref};

use llmperf_core::part::Guard;

use crate::Run;

pub use failing::Failing;
pub use llmperf_core::{
    __private::{Given, Good, Limit, called, good, items_of, judged, lasting, limit, never, noted, output_of, over},
    Work,
};
pub use value::{AttributeValue, value};

/// What is judged, as one of the marks below. Where references run out, method resolution goes on to [`Rest`] and [`Last`].
#[derive(Debug)]
pub struct Judging<'a, T, As>(Rest<'a, T, As>);

/// The last level but one.
#[derive(Debug)]
pub struct Rest<'a, T, As>(Last<'a, T, As>);

/// The last level.
#[derive(Debug)]
pub struct Last<'a, T, As>(&'a T, PhantomData<As>);

/// Marks a value.
#[derive(Debug)]
#[non_exhaustive]
pub struct AsValue;

/// Marks the error in the place of a stream or a future.
#[derive(Debug)]
#[non_exhaustive]
pub struct AsError;

/// Marks an item of a stream.
#[derive(Debug)]
#[non_exhaustive]
pub struct AsItem;

impl<'a, T, As> Judging<'a, T, As> {
    fn of(judged: &'a T) -> Self {
        Self(Rest(Last(judged, PhantomData)))
    }
}

impl<'a, T, As> Last<'a, T, As> {
    fn judged(&self) -> &'a T {
        self.0
    }
}

impl<'a, T, As> Deref for Judging<'a, T, As> {
    type Target = Rest<'a, T, As>;

    fn deref(&self) -> &Rest<'a, T, As> {
        &self.0
    }
}

impl<'a, T, As> Deref for Rest<'a, T, As> {
    type Target = Last<'a, T, As>;

    fn deref(&self) -> &Last<'a, T, As> {
        &self.0
    }
}

/// A value to be judged.
#[allow(non_snake_case, reason = "it reads as the value that it makes")]
pub fn Judged<T>(value: &T) -> Judging<'_, T, AsValue> {
    Judging::of(value)
}

/// The error in the place of a stream or a future, to be judged.
#[allow(non_snake_case, reason = "it reads as the value that it makes")]
pub fn JudgedError<E>(error: &E) -> Judging<'_, E, AsError> {
    Judging::of(error)
}

/// An item of a stream, to be judged.
#[allow(non_snake_case, reason = "it reads as the value that it makes")]
pub fn JudgedItem<T>(item: &T) -> Judging<'_, T, AsItem> {
    Judging::of(item)
}

/// Judges a run's answer by a check of the caller's.
pub fn goal<T: ?Sized>(guard: &mut Guard<Run>, answer: &T, reached: impl FnOnce(&T) -> bool) {
    guard.goal(answer, reached);
}
