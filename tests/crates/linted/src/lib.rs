//! Generated code under every lint that a user may have on: that this compiles, with `cargo clippy` too, is the test.

use core::{
    error::Error,
    fmt::{Display, Formatter, Result as Formatted},
    future::ready,
    time::Duration,
};
use std::{process::exit, sync::Arc};

use async_trait::async_trait;
use futures::{
    Stream, StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use llmperf::{Output, agent, embedding, generation, pipeline, rerank, retrieval, step, tool, workflow};

/// An error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

impl Display for Refused {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Formatted {
        formatter.write_str("refused")
    }
}

impl Error for Refused {}

/// Plain, by value.
#[step]
#[must_use]
pub fn doubled(number: u32) -> u32 {
    number.wrapping_mul(2)
}

/// Plain, nothing given.
#[step]
pub fn noted(words: &mut Vec<String>, word: &str) {
    words.push(word.to_owned());
}

/// Plain, borrowed.
///
/// # Errors
///
/// If there is none.
#[tool(name = "first", kind = "function", arguments = (words, index))]
pub fn looked_up(words: &[String], index: usize) -> Result<&str, Refused> {
    let word = words.get(index).ok_or(Refused)?;
    Ok(word)
}

/// Asynchronous, with all that it can be told.
///
/// # Errors
///
/// If nothing is asked.
#[retrieval(
    store = "memory",
    top_k = limit,
    k = 4,
    query = query,
    relevant = &["one"],
    deadline = Duration::from_secs(1),
    attributes("query.length" = query.len(), "fixed" = 1, "kind" = "hybrid"),
    labels("tenant" = tenant)
)]
pub async fn search(query: &str, limit: usize, tenant: &str) -> Result<Vec<(String, f32)>, Refused> {
    ready(()).await;
    if query.is_empty() {
        return Err(Refused);
    }
    Ok(vec![(tenant.to_owned(), 0.5); limit])
}

/// Plain, with a mutable argument.
#[rerank(model = "cross", candidates = found)]
#[must_use]
pub fn reordered(mut found: Vec<(String, f32)>) -> Vec<(String, f32)> {
    found.reverse();
    found
}

/// A measured call, whole.
///
/// # Errors
///
/// Never.
#[embedding(provider = "local", model = "hash", reads = |_| Output::usage(1, 0))]
pub async fn embedded(text: &str) -> Result<Vec<f32>, Refused> {
    ready(Ok(text.bytes().map(f32::from).collect())).await
}

/// A measured call, streamed.
///
/// # Errors
///
/// If there are no words.
#[generation(provider = "local", model = "echo", reads = |word: &String| Output::text(word))]
pub async fn generated(words: Vec<String>) -> Result<impl Stream<Item = Result<String, Refused>>, Refused> {
    ready(()).await;
    if words.is_empty() {
        return Err(Refused);
    }
    Ok(stream::iter(words).map(Ok))
}

/// Streamed, boxed.
#[pipeline(query = question, first_output = |word: &String| !word.is_empty())]
#[must_use]
pub fn answered(question: &str) -> BoxStream<'static, String> {
    stream::iter(vec![question.to_owned()]).boxed()
}

/// A future, in an option.
#[workflow(conversation = id)]
#[must_use]
pub fn later(id: u32) -> Option<impl Future<Output = u32> + Send> {
    (id > 0).then_some(async move { id })
}

/// A boxed future.
#[step]
#[must_use]
pub fn boxed(id: u32) -> BoxFuture<'static, u32> {
    Box::pin(async move { id })
}

/// Never comes back.
#[step]
pub fn never(id: i32) -> ! {
    exit(id)
}

/// Is not safe to call.
///
/// # Safety
///
/// The pointer points to a number.
#[tool]
#[must_use]
pub unsafe fn read(pointer: *const u32) -> u32 {
    // SAFETY: as promised.
    unsafe { *pointer }
}

/// An agent.
#[derive(Clone, Debug, Default)]
pub struct Desk {
    words: Vec<String>,
}

impl Desk {
    /// A run of it.
    ///
    /// # Errors
    ///
    /// If it knows nothing.
    #[agent(name = "desk", task = "simple", goal = |answer: &String| !answer.is_empty())]
    pub async fn run(self: Arc<Self>, index: usize) -> Result<String, Refused> {
        ready(()).await;
        looked_up(&self.words, index).map(str::to_owned)
    }

    /// Its words, to change.
    #[step]
    pub fn words(&mut self) -> &mut Vec<String> {
        &mut self.words
    }
}

/// What `async_trait` writes anew.
#[async_trait]
pub trait Answers {
    /// An answer.
    async fn answer(&self, question: &str) -> Result<String, Refused>;
}

#[async_trait]
impl Answers for Desk {
    #[tool(arguments = question)]
    async fn answer(&self, question: &str) -> Result<String, Refused> {
        if question.is_empty() {
            return Err(Refused);
        }
        Ok(question.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linted_runs() {
        assert_eq!(doubled(2), 4);
        let number = 7;
        // SAFETY: it points to one.
        assert_eq!(unsafe { read(&raw const number) }, 7);
    }
}
