//! Rules of runs, steps, tools, workflows and MCP operations, each a test.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod contract;
mod diagnosis;
mod judging;
mod operations;
mod peers;
mod rmcp;
mod runs;
mod tools;
mod work;

use std::{
    future::Future,
    io,
    panic::{AssertUnwindSafe, resume_unwind},
};

use futures::FutureExt as _;
use opentelemetry_sdk::trace::SpanData;

/// The value of an attribute of a span, as text.
fn attribute<'a>(span: &'a SpanData, key: &str) -> Option<&'a str> {
    let mut found = span.attributes.iter().filter(|attribute| attribute.key.as_str() == key);
    let value = found.next().map(|attribute| attribute.value.to_string());
    assert!(found.next().is_none(), "{key} stands twice");
    // Tests are few and short.
    value.map(|value| &*value.leak())
}

/// An error that names its transport.
fn failing<T>() -> Result<T, io::Error> {
    Err(io::ErrorKind::ConnectionReset.into())
}

/// A panic that prints nothing.
fn scripted_panic<T>() -> T {
    resume_unwind(Box::new("scripted"))
}

/// Awaits a future that may panic.
async fn settled(future: impl Future) {
    let _ = AssertUnwindSafe(future).catch_unwind().await;
}

/// Polls a future once, then drops it.
async fn silent(future: impl Future) {
    let mut future = Box::pin(future);
    assert!(futures::poll!(&mut future).is_pending());
}
