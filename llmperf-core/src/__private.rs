//! What the attribute macros write into functions. Not for people: it changes without notice.

use std::future::Future;

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
