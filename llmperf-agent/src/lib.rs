#![doc = include_str!("../README.md")]

#[doc(hidden)]
pub mod __private;
mod custom;
pub mod mcp;
pub mod metrics;
mod plan;
mod records;
mod repeats;
mod result;
mod run;
mod running;
mod span;
mod step;
mod tool;
mod workflow;

pub use llmperf_core::{Guard, InCurrentScope, Verdict, Work, opentelemetry};
#[cfg(feature = "macros")]
pub use llmperf_macros::{agent, step, tool, workflow};
pub use plan::{Plan, plan};
pub use result::{AgentOutcome, AgentResult};
pub use run::{Run, run};
pub use running::conclude;
pub use step::{Step, step};
pub use tool::{Tool, ToolFailure, ToolFuture, ToolOutcome, tool};
pub use workflow::{Workflow, workflow};
