//! What the attribute macros call beside the public builders. Not for users: it changes without notice.

mod failing;
pub mod judging;
mod value;
mod verdicts;

use std::ops::Deref;

use llmperf_core::part::Guard;

use crate::Run;

pub use failing::Failing;
pub use llmperf_core::{
    __private::{called, items_of, judged, output_of},
    Work,
};
pub use value::{AttributeValue, value};

/// A value to be judged.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "the attributes make it")]
pub struct Judged<'a, T>(pub &'a T);

/// The error in the place of a stream or a future.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "the attributes make it")]
pub struct JudgedError<'a, E>(pub &'a E);

/// An item of a stream.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "the attributes make it")]
pub struct JudgedItem<'a, T>(pub &'a T);

impl<'a, T> Deref for Judged<'a, T> {
    type Target = &'a T;

    fn deref(&self) -> &&'a T {
        &self.0
    }
}

impl<'a, T> Deref for JudgedItem<'a, T> {
    type Target = &'a T;

    fn deref(&self) -> &&'a T {
        &self.0
    }
}

/// Judges a run's answer by a check of the caller's.
pub fn goal<T: ?Sized>(guard: &mut Guard<Run>, answer: &T, reached: impl FnOnce(&T) -> bool) {
    guard.goal(answer, reached);
}
