//! What the attribute macros write into functions. Not for people: it changes without notice.

use std::{future::Future, time::Duration};

use futures_core::Stream;

use crate::{Guard, Verdict, Work};

/// Runs the body of a function as one that runs once, so that it may give away what it took.
pub fn called<T>(body: impl FnOnce() -> T) -> T {
    body()
}

/// Holds a future to what it was written to give, before anybody looks at that.
pub fn output_of<T, F: Future<Output = T>>(future: F) -> F {
    future
}

/// Holds a stream to the items that it was written to give, before anybody looks at them.
pub fn items_of<T, S: Stream<Item = T>>(stream: S) -> S {
    stream
}

/// Keeps the verdict on one item of a stream, if it says that the work has failed.
pub fn judged<W: Work>(guard: &mut Guard<W>, verdict: Verdict) {
    if verdict != Verdict::Complete {
        guard.judge(verdict);
    }
}

/// Takes what nobody looks at, so that no lint asks why.
pub fn noted<T>(_: T) {}

/// A value for a return that never happens: it tells the compiler the type of an async block.
pub fn never<T>() -> T {
    loop {
        std::hint::spin_loop();
    }
}

/// What a function gave, of which the good is looked at: `(&&Good(&value)).good()`.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "written by the attributes")]
pub struct Good<'a, T>(pub &'a T);

/// By what it is in, whatever name the application has for that: method lookup tries the holders first.
pub mod good {
    use super::Good;

    /// A value in a `Result` or an `Option`.
    pub trait Held<'a, T> {
        /// The value; none where there is none.
        fn good(&self) -> Option<&'a T>;
    }

    impl<'a, T, E> Held<'a, T> for &Good<'a, Result<T, E>> {
        fn good(&self) -> Option<&'a T> {
            self.0.as_ref().ok()
        }
    }

    impl<'a, T> Held<'a, T> for &Good<'a, Option<T>> {
        fn good(&self) -> Option<&'a T> {
            self.0.as_ref()
        }
    }

    /// A value of any other type.
    pub trait Bare<'a, T> {
        /// The value.
        fn good(&self) -> Option<&'a T>;
    }

    impl<'a, T> Bare<'a, T> for Good<'a, T> {
        fn good(&self) -> Option<&'a T> {
            Some(self.0)
        }
    }
}

/// Durations, and what holds one.
#[diagnostic::on_unimplemented(message = "a `{Self}` is no `Duration`", label = "a `Duration` is expected")]
pub trait Limit {
    /// The duration, if there is one.
    fn limit(&self) -> Option<Duration>;
}

impl Limit for Duration {
    fn limit(&self) -> Option<Duration> {
        Some(*self)
    }
}

impl<L: Limit> Limit for Option<L> {
    fn limit(&self) -> Option<Duration> {
        self.as_ref().and_then(Limit::limit)
    }
}

impl<L: Limit + ?Sized> Limit for &L {
    fn limit(&self) -> Option<Duration> {
        (**self).limit()
    }
}

/// The limit that an argument says.
pub fn limit(limit: &(impl Limit + ?Sized)) -> Option<Duration> {
    limit.limit()
}

/// What a function gave, of which is asked whether it is a stream: `(&&&&Given(&value)).lasting()`.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "written by the attributes")]
pub struct Given<'a, T>(pub &'a T);

/// It is over when the function has given it.
#[derive(Debug)]
#[non_exhaustive]
pub struct AValue;

/// It goes on when the function is over.
#[derive(Debug)]
#[non_exhaustive]
pub struct AStream;

/// What a function gives, where its type is written as that of a value.
#[diagnostic::on_unimplemented(
    message = "this function gives a stream of a type of its own, which cannot be measured to its end",
    label = "a stream that is measured as a value would be",
    note = "give `impl Stream<Item = …>` or `BoxStream`; say `stream = boxed` if this is an alias of a pinned, boxed \
            stream, `stream = none` if the work is over when it is given"
)]
pub trait Over {}

impl Over for AValue {}

/// Refuses what goes on when the function is over.
pub fn over(_: &impl Over) {}

/// By type, whatever its name is: method lookup tries the streams first, then what holds one.
pub mod lasting {
    use futures_core::Stream;

    use super::{AStream, AValue, Given};

    /// A stream.
    pub trait Itself {
        /// What it is.
        fn lasting(&self) -> AStream {
            AStream
        }
    }

    impl<S: Stream> Itself for &&&Given<'_, S> {}

    /// A stream in a `Result` or an `Option`.
    pub trait Held {
        /// What it is.
        fn lasting(&self) -> AStream {
            AStream
        }
    }

    impl<S: Stream, E> Held for &&Given<'_, Result<S, E>> {}

    impl<S: Stream> Held for &&Given<'_, Option<S>> {}

    /// A stream in two of them.
    pub trait HeldTwice {
        /// What it is.
        fn lasting(&self) -> AStream {
            AStream
        }
    }

    impl<S: Stream, E, F> HeldTwice for &Given<'_, Result<Result<S, E>, F>> {}

    impl<S: Stream, E> HeldTwice for &Given<'_, Result<Option<S>, E>> {}

    impl<S: Stream, E> HeldTwice for &Given<'_, Option<Result<S, E>>> {}

    impl<S: Stream> HeldTwice for &Given<'_, Option<Option<S>>> {}

    /// Anything else.
    pub trait Bare {
        /// What it is.
        fn lasting(&self) -> AValue {
            AValue
        }
    }

    impl<T> Bare for Given<'_, T> {}
}
