#![doc = include_str!("../README.md")]

#[cfg(any(feature = "otlp-grpc", feature = "otlp-http", feature = "prometheus", feature = "stdout"))]
pub mod export;

// The public surface of the parts, on one screen.
#[cfg(feature = "testing")]
pub use llmperf_core::testing;
pub use llmperf_core::{
    // what an item carries
    ByHeld,
    ByItem,
    ByType,
    // a call, and the verbs that arm it
    Call,
    CallHandle,
    // what the application decides
    Capture,
    Carries,
    Classify,
    Failure,
    // what was measured
    FinishKind,
    FinishReason,
    // where we are, and who looks on
    FinishedCall,
    GenAiNames,
    InCurrentScope,
    Instrumentation,
    InstrumentationBuilder,
    Kind,
    // streams and iterators
    MeasureIterator,
    MeasureStream,
    Measured,
    MeasuredIter,
    Model,
    Objective,
    Observer,
    Oddity,
    Open,
    OpenFn,
    Outcome,
    Output,
    Price,
    Prices,
    Progress,
    Read,
    Reader,
    Recorder,
    Run,
    Scope,
    Sees,
    Side,
    Slo,
    StartedCall,
    Timing,
    TokenSource,
    TryByItem,
    TryWith,
    Usage,
    With,
    chat,
    current_call,
    is_enabled,
    metrics,
    model,
    // the API that all telemetry goes through
    opentelemetry,
    set_enabled,
    stats,
};
#[cfg(feature = "wire")]
pub use llmperf_wire as wire;
#[cfg(feature = "wire")]
pub use llmperf_wire::{Dialect, MeasureWire, OpenWire};
