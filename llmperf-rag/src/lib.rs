#![doc = include_str!("../README.md")]

#[doc(hidden)]
pub mod __private;
mod assemble;
mod base;
mod cache;
mod document;
mod embedding;
mod found;
mod generation;
mod index;
mod intervals;
mod key;
pub mod metrics;
mod modelled;
mod pipeline;
pub mod quality;
mod query;
mod rerank;
mod retrieval;
mod stage;
mod telemetry;
mod truth;

#[cfg(feature = "macros")]
pub use llmperf_macros::{embedding, generation, pipeline, rerank, retrieval};

pub use assemble::{Assemble, assemble};
pub use cache::Cache;
pub use document::{Document, DocumentId, Retrieved};
pub use embedding::{Embedding, embedding};
pub use generation::{AnswerStream, Generation, generation};
pub use index::{Index, IndexBuild};
pub use pipeline::{Pipeline, first_output, pipeline};
pub use query::{Query, current_query};
pub use rerank::{Rerank, rerank};
pub use retrieval::{Retrieval, retrieval};
pub use stage::{Stage, from_cache};
pub use truth::{GroundTruth, Labelled};

// What a part's user needs of core, so that it can be used alone.
pub use llmperf_core::{
    Guard, InCurrentScope, Instrumentation, Output, Verdict, Work, WorkFuture, WorkStream, opentelemetry,
};
