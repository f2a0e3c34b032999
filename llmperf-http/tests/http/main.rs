//! The layer and the middleware, over real loopback HTTP and over bodies made up in memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::needless_pass_by_value, reason = "tests are read, not called")]

mod attempts;
mod bodies;
mod calls;
mod capture;
mod context;
mod passing;
mod recorded;
#[path = "../../../llmperf-wire/tests/recordings/mod.rs"]
mod recordings;
mod requests;
mod serving;
mod wire;
