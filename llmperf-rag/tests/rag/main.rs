//! The rules of stages and pipelines, each a test.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod bench;
mod cache;
mod calls;
mod concurrency;
mod documents;
mod ends;
mod events;
mod growth;
mod judging;
mod peers;
mod pipelines;
mod stages;
