#![doc = include_str!("../README.md")]

#[cfg(any(feature = "otlp-grpc", feature = "otlp-http", feature = "prometheus", feature = "stdout"))]
pub mod export;

// The public surface of the parts, on one screen.

// A call, and what its verbs give.
pub use llmperf_core::{Call, CallHandle, Model, Open, OpenFn, Recorder, Run, Side, chat, current_call, model};

// Streams and iterators.
pub use llmperf_core::{MeasureIterator, MeasureStream, Measured, MeasuredIter};

// What an item carries, and who says so.
pub use llmperf_core::{ByHeld, ByItem, ByType, Carries, Classify, Failure, Kind, Output, Sees, Usage};
pub use llmperf_core::{Read, Reader, TryByItem, TryWith, With};

// What was measured.
pub use llmperf_core::{FinishKind, FinishReason, Oddity, Outcome, Timing, TokenSource, metrics, stats};

// What the application decides.
pub use llmperf_core::{Capture, GenAiNames, Instrumentation, InstrumentationBuilder, is_enabled, set_enabled};
pub use llmperf_core::{Objective, Price, Prices, Slo};

// Work that is no call: its verbs, and what they give.
pub use llmperf_core::{Guard, Verdict, Work, WorkFuture, WorkStream, part};

// Where we are, and who looks on.
pub use llmperf_core::{FinishedCall, InCurrentScope, Observer, Progress, Scope, StartedCall};

// The names that leave the process, and the API that they leave by.
pub use llmperf_core::{opentelemetry, semconv};

#[cfg(feature = "testing")]
pub use llmperf_core::testing;

#[cfg(feature = "agent")]
pub use llmperf_agent as agent;
#[cfg(feature = "rag")]
pub use llmperf_rag as rag;

// The attributes. Those of the parts say `llmperf_rag` where these say `llmperf::rag`.
#[cfg(all(feature = "agent", feature = "macros"))]
#[doc(inline)]
pub use llmperf_macros::{
    __facade_agent as agent, __facade_step as step, __facade_tool as tool, __facade_workflow as workflow,
};
#[cfg(all(feature = "rag", feature = "macros"))]
#[doc(inline)]
pub use llmperf_macros::{
    __facade_embedding as embedding, __facade_generation as generation, __facade_pipeline as pipeline,
    __facade_rerank as rerank, __facade_retrieval as retrieval,
};

#[cfg(feature = "gpu")]
pub use llmperf_gpu as gpu;
#[cfg(feature = "http")]
pub use llmperf_http as http;

#[cfg(feature = "_clients")]
pub use llmperf_clients as clients;

#[cfg(feature = "wire")]
pub use llmperf_wire as wire;
#[cfg(feature = "wire")]
pub use llmperf_wire::{Dialect, MeasureWire, OpenWire};
