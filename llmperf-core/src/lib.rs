//! Skeleton.

mod clock;
mod failure;
mod marks;
mod outcome;
mod output;
mod timing;
mod usage;

pub use failure::{ByHeld, ByType, Classify, Failure};
pub use outcome::{Outcome, Sees};
pub use output::{Carries, Kind, Output};
pub use timing::{FinishKind, FinishReason, Timing};
pub use usage::{TokenSource, Usage};
