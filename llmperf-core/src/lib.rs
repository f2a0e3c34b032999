//! The core of llmperf: calls, streams, marks, outcomes, instruments, local statistics.
//!
//! Libraries depend on this crate, applications on `llmperf`, which re-exports it.

#[doc(hidden)]
pub mod __private;
mod answer;
mod armed;
mod call;
mod capture;
mod clock;
mod current;
mod event;
mod failure;
mod finish;
mod instrumentation;
mod instruments;
mod internal;
mod iter;
mod journal;
mod kept;
mod labels;
mod live;
mod marks;
mod measured;
pub mod metrics;
mod observe;
mod open;
mod outcome;
mod output;
pub mod part;
mod price;
mod reader;
mod recorder;
mod run;
mod scope;
pub mod semconv;
mod shared;
mod slo;
mod span;
mod spec;
pub mod stats;
#[cfg(feature = "testing")]
pub mod testing;
mod text;
mod timing;
mod usage;
mod work;

pub use opentelemetry;

pub use call::{Call, Model, chat, model};
pub use capture::Capture;
pub use failure::{ByHeld, ByType, Classify, Failure};
pub use instrumentation::{Instrumentation, InstrumentationBuilder, is_enabled, set_enabled};
pub use instruments::{Instruments, Meters};
pub use internal::Oddity;
pub use iter::{MeasureIterator, MeasuredIter};
pub use labels::Side;
pub use measured::{MeasureStream, Measured};
pub use observe::{FinishedCall, Observer, Progress, StartedCall};
pub use open::{Open, OpenFn};
pub use outcome::{Outcome, Sees};
pub use output::{Carries, Kind, Output};
pub use price::{Price, Prices};
pub use reader::{ByItem, Read, Reader, TryByItem, TryWith, With};
pub use recorder::Recorder;
pub use run::Run;
pub use scope::{InCurrentScope, Scope};
pub use semconv::GenAiNames;
pub use shared::{CallHandle, current_call};
pub use slo::{Objective, Slo};
pub use timing::{FinishKind, FinishReason, Timing};
pub use usage::{TokenSource, Usage};
pub use work::{Guard, Verdict, Work, WorkFuture, WorkStream};
