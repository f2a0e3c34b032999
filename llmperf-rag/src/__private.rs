//! What the attributes of llmperf-macros write: not for people, and outside of what versions promise.

mod answers;
mod failing;
pub mod judging;
mod values;

pub use answers::{Asks, answered, streamed, streamed_as_is, try_streamed};
pub use failing::{ByDyn, ByHeld, ByKind, Fails};
pub use judging::{Judged, JudgedError, JudgedItem};
pub use llmperf_core::{
    __private::{called, items_of, judged, never, noted, output_of},
    Work,
};
pub use values::{AttributeValue, Count, count, value};
