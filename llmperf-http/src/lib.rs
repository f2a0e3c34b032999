//! The LLM calls that pass through an HTTP client or server, measured.
#![doc = include_str!("../README.md")]

mod ahead;
mod body;
mod client;
mod coding;
mod head;
mod measure;
mod opened;
mod prompt;
mod reading;
#[cfg(feature = "reqwest")]
mod reqwest;
mod server;
mod settings;
mod trace;

pub use ahead::RequestBody;
pub use body::MeasuredBody;
pub use client::{MeasuredClient, ResponseFuture};
pub use head::RequestHead;
pub use llmperf_wire::{Dialect, Endpoint, Operation};
pub use measure::Measure;
pub use server::{MeasureServer, MeasuredServer, ServerFuture};
