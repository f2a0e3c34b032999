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
mod step;
mod tool;
mod workflow;

use std::borrow::Cow;

use llmperf_core::part::Text;

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

/// The name of a span: an operation, and what it is about where that has a name.
fn named(operation: &str, name: &Text) -> Cow<'static, str> {
    let name = name.as_str();
    if name.is_empty() { operation.to_owned().into() } else { format!("{operation} {name}").into() }
}
