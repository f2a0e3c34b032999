//! The one monotonic clock that samples and calls are joined on.

#[cfg(any(test, feature = "testing"))]
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use std::time::{Duration, Instant};

/// A clock that starts at zero. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System(Instant),
    #[cfg(any(test, feature = "testing"))]
    Manual(Arc<AtomicU64>),
}

impl Clock {
    /// The operating system's monotonic clock, from now on.
    #[must_use]
    pub fn system() -> Self {
        Self(Source::System(Instant::now()))
    }

    /// A clock that stands still until it is [advanced](Self::advance).
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn manual() -> Self {
        Self(Source::Manual(Arc::default()))
    }

    /// Moves a manual clock on; another one is not moved.
    #[cfg(any(test, feature = "testing"))]
    pub fn advance(&self, by: Duration) {
        if let Source::Manual(nanos) = &self.0 {
            let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
            nanos.fetch_add(by, Ordering::AcqRel);
        }
    }

    /// The time since the clock was made.
    #[must_use]
    pub fn now(&self) -> Duration {
        match &self.0 {
            Source::System(start) => start.elapsed(),
            #[cfg(any(test, feature = "testing"))]
            Source::Manual(nanos) => Duration::from_nanos(nanos.load(Ordering::Acquire)),
        }
    }
}
