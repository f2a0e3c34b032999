//! The clock that a test moves by hand.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::clock::{Clock, Hand};

/// A clock that stands still until it is moved. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<Hand>);

impl ManualClock {
    /// A clock at its origin; its wall-clock time is 2026-01-01 00:00 UTC.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Hand::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600))))
    }

    /// Moves it on.
    pub fn advance(&self, by: Duration) {
        self.0.advance(by);
    }

    /// Sets the wall clock back, as somebody does to a machine's: what measures durations goes on as if nothing had been.
    pub fn set_wall_back(&self, by: Duration) {
        self.0.set_wall_back(by);
    }

    /// How far it has been moved.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.0.nanos())
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock::Manual(Arc::clone(&self.0))
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}
