//! The quickstart's load on the real clock: what noise cannot break, and stamps that are neither early nor late.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/load/mod.rs"]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/server/mod.rs"]
mod server;

mod arrivals;
mod calls;
