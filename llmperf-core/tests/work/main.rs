//! Work that is no call: its verbs, outcomes, spans, scopes, statistics and diagnosis, with sorts of work of the test's own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::needless_pass_by_value, reason = "tests are read, not called")]

mod closing;
mod concurrency;
mod custom;
mod diagnosis;
mod growth;
mod hostile;
mod job;
mod logs;
mod memory;
mod outcomes;
mod panics;
mod scopes;
mod spans;
