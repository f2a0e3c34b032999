//! The rules of a call, each a test named after it, on the manual clock.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod adapters;
mod ending;
mod marks;
mod metrics;
mod nesting;
mod peers;
mod properties;
mod script;
mod spans;
