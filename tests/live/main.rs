//! What we measure, sent to a real Jaeger and a real Prometheus and read back through their APIs.
//!
//! One binary for all of it: where the servers were not built, it says so in one line.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/assistants/mod.rs"]
mod assistants;
#[path = "../backends/mod.rs"]
mod backends;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/knowledge/mod.rs"]
mod knowledge;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/load/mod.rs"]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/server/mod.rs"]
mod server;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/terminal/mod.rs"]
mod terminal;

mod assistants_in_jaeger;
mod calls;
mod contract;
mod gpus;
mod installed;
mod page;
mod parts;
mod planned;
mod series;
mod smoke;
mod traces;
