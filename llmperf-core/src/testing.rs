//! For tests, of ours and yours: a clock moved by hand, telemetry kept in memory, a span tree as text.
//!
//! ```
//! use std::time::Duration;
//! use llmperf_core::{Output, testing::Probe};
//!
//! let probe = Probe::new();
//! let mut call = probe.chat("openai", "gpt-4o-mini").start();
//! probe.clock().advance(Duration::from_millis(300));
//! call.on_chunk(Output::text("hi"));
//! let timing = call.finish();
//!
//! assert_eq!(timing.time_to_first_token, Some(Duration::from_millis(300)));
//! assert_eq!(probe.tree(), "chat gpt-4o-mini\n");
//! assert_eq!(probe.count("llmperf.client.calls"), 1.0);
//! ```

mod clock;
mod points;
mod probe;
mod tree;

pub use clock::ManualClock;
pub use points::Point;
pub use probe::Probe;
pub use tree::render;
