//! Rules of runs, steps, tools, workflows and MCP operations, each a test.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod judging;
