//! What the attributes of llmperf-macros write: not for people, and outside of what versions promise.

mod answers;
mod failing;
pub mod judging;
mod values;

pub use answers::{Asks, Items, answered, items, reading, streamed_as_is};
pub use failing::{ByDyn, ByHeld, ByKind, Fails};
pub use judging::{Judged, JudgedError, JudgedItem};
pub use llmperf_core::{
    __private::{Given, Good, Limit, called, good, items_of, judged, lasting, limit, never, noted, output_of, over},
    Work,
};
pub use values::{AttributeValue, Count, count, value};
