//! The rules of a call, each a test named after it, on the manual clock.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::needless_pass_by_value, clippy::type_complexity, reason = "tests are read, not called")]

mod adapters;
mod contract;
mod ending;
mod marks;
mod metrics;
mod nesting;
mod peers;
mod properties;
mod reentrancy;
mod script;
mod spans;
mod transports;
mod withdrawn;
