//! The parts that the examples share: the local server, the load, the knowledge base, the assistants and the terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
#[path = "../../examples/assistants/mod.rs"]
mod assistants;
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

mod arguments_tests;
mod assistants_tests;
mod coding_tests;
mod comparison_tests;
mod dialects;
mod fixed_tests;
mod index_tests;
mod knowledge_tests;
mod load_tests;
mod plan_tests;
mod server_tests;
mod stream_tests;
mod terminal_tests;
mod transcript;
