//! The parts that the examples share: the local server and the load.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/load/mod.rs"]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/server/mod.rs"]
mod server;

mod arguments_tests;
mod load_tests;
mod plan_tests;
mod server_tests;
mod stream_tests;
mod transcript;
