//! Load for a server of the OpenAI kind: a fixed number of calls, so many at a time, each read as its plan says.
//!
//! [`Load::run`] drives any call, [`Client`] makes requests, [`read`] reads a body as a client of the given kind would.
//! [`measured()`] puts llmperf around one call, [`Calls`] keeps those that others measure, and [`Comparison`] holds what was
//! found against what the local server did.

mod arguments;
mod calls;
mod client;
mod comparison;
mod measured;
mod reader;
mod subject;

use std::future::Future;

use tokio::task::{JoinError, JoinSet};

pub(crate) use arguments::{Arguments, Remote, Target, USAGE};
pub(crate) use calls::Calls;
pub(crate) use client::{Client, Question, root_cause};
pub(crate) use comparison::{Comparison, Pair};
pub(crate) use measured::measured;
pub(crate) use reader::{Received, read};
pub(crate) use subject::Subject;

/// A closed loop: as soon as a call ends, the next one starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Number of calls in all.
    pub(crate) calls: u64,
    /// Calls under way at a time; 0 counts as 1.
    pub(crate) concurrency: usize,
}

impl Load {
    /// Runs `call(i)` for every `i` below `calls`, each on a task of its own, and hands each result to `done` in the
    /// order in which the calls end. A call that panics is an error; the others go on.
    pub(crate) async fn run<C, F, T>(self, call: C, mut done: impl FnMut(Result<T, JoinError>))
    where
        C: Fn(u64) -> F,
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let mut waiting = 0..self.calls;
        let mut running: JoinSet<T> = waiting.by_ref().take(self.concurrency.max(1)).map(&call).collect();
        while let Some(ended) = running.join_next().await {
            done(ended);
            if let Some(index) = waiting.next() {
                running.spawn(call(index));
            }
        }
    }
}
