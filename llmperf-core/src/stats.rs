//! Local statistics: what every handle measured, over sliding windows and since it was made, without any back end.
//!
//! A call's figures go to HDR histograms (two significant digits: at most 1 % of error) of their [`SeriesKind`], name
//! and detail, once, when the call ends; chunk gaps come earlier, in batches. A [`Snapshot`] is plain data: it prints as
//! a table, serialises, and merges with those of other processes without loss, because it carries its histograms.
//!
//! How time is cut: a series records into one dense *slice* of ten seconds. When it is over, or a snapshot asks, the
//! slice is swapped for an empty one under the recording lock, and packed and added to each [`Window`] outside of it.
//! Windows hold packed slices of their own width only, so memory is bounded and an old slice leaves whole. A window's
//! newest slice is still filling: the last minute covers 50 to 60 seconds, and rates divide by what is covered.
//!
//! Nothing here reads a clock: every instant is nanoseconds on one monotonic axis that the caller gives.

mod breakdown;
mod closed;
mod composition;
mod diagnose;
mod figure;
mod outcomes;
mod packed;
mod registry;
mod series;
mod slice;
mod slow;
mod snapshot;
mod summary;
mod table;
mod title;
mod window;

#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use breakdown::{Breakdown, RunPart};
pub use composition::{Composition, PartTotals};
pub use diagnose::{Change, Diagnose, Diagnosis, Growth, PartGrowth, PartShare, Repetition, RootDiagnosis};
pub use figure::Figure;
pub use outcomes::Outcomes;
pub(crate) use registry::Registry;
pub(crate) use series::Series;
pub use series::SeriesKind;
pub use slow::SlowCall;
pub use snapshot::{SeriesSnapshot, Snapshot, WindowSnapshot};
pub use summary::Summary;
pub use table::Table;
pub use title::Title;
pub use window::Window;

/// Locks; what a thread that panicked left behind is whole enough to count on.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the global instrumentation has measured.
///
/// ```
/// let mut call = llmperf_core::chat("openai", "gpt-4o-mini").start();
/// call.on_chunk(llmperf_core::Output::text("hi"));
/// let _ = call.finish();
/// println!("{}", llmperf_core::stats::snapshot());
/// ```
#[must_use]
pub fn snapshot() -> Snapshot {
    crate::Instrumentation::global().snapshot()
}
