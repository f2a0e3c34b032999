//! The monotonic clock: raw ticks while a stream runs, nanoseconds once it has ended.
//!
//! Which clock a call uses is chosen at run time, so the `testing` feature adds the manual clock without changing what
//! the other one does. A tick of the real clock is a raw reading of the time-stamp counter where the processor has an
//! invariant one, else of the operating system's monotonic clock; `quanta` decides.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

/// A raw reading of a [`Clock`]. Only differences mean anything, and only through the clock that gave them.
pub(crate) type Tick = u64;

static COUNTER: LazyLock<quanta::Clock> = LazyLock::new(quanta::Clock::new);

/// Where every instant of a call comes from.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// The time-stamp counter.
    Counter,
    /// Nanoseconds that a test moves by hand.
    #[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "only the manual clock of `testing` makes one"))]
    Manual(Arc<Hand>),
}

/// The hand of a manual clock: nanoseconds since it was made, and the wall-clock time at which it was made.
#[derive(Debug)]
pub(crate) struct Hand {
    nanos: AtomicU64,
    origin: Instant,
    epoch: SystemTime,
    /// By how much the wall clock was set back.
    behind: AtomicU64,
}

impl Hand {
    #[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "only the manual clock of `testing` makes one"))]
    pub(crate) fn new(epoch: SystemTime) -> Self {
        Self { nanos: AtomicU64::new(0), origin: Instant::now(), epoch, behind: AtomicU64::new(0) }
    }

    #[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "only the manual clock of `testing` moves it"))]
    pub(crate) fn advance(&self, by: Duration) {
        self.nanos.fetch_add(nanos_of(by), Ordering::AcqRel);
    }

    #[cfg_attr(not(feature = "testing"), allow(dead_code, reason = "only the manual clock of `testing` sets it back"))]
    pub(crate) fn set_wall_back(&self, by: Duration) {
        self.behind.fetch_add(nanos_of(by), Ordering::AcqRel);
    }

    pub(crate) fn nanos(&self) -> u64 {
        self.nanos.load(Ordering::Acquire)
    }

    fn wall(&self) -> SystemTime {
        self.epoch + Duration::from_nanos(self.nanos()) - Duration::from_nanos(self.behind.load(Ordering::Acquire))
    }
}

impl Clock {
    /// The real one; the first to ask for it waits until it is calibrated.
    pub(crate) fn counter() -> Self {
        LazyLock::force(&COUNTER);
        Self::Counter
    }

    /// Whether ticks of both lie on one axis.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Counter, Self::Counter) => true,
            (Self::Manual(one), Self::Manual(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    #[inline]
    pub(crate) fn tick(&self) -> Tick {
        match self {
            Self::Counter => COUNTER.raw(),
            Self::Manual(hand) => hand.nanos(),
        }
    }

    /// Nanoseconds from `from` to `to`; 0 if `to` lies before `from` (two processors' counters may differ by a little).
    pub(crate) fn nanos_between(&self, from: Tick, to: Tick) -> u64 {
        match self {
            Self::Counter => COUNTER.delta_as_nanos(from, to.max(from)),
            Self::Manual(_) => to.saturating_sub(from),
        }
    }

    /// The wall-clock time now, on this clock.
    pub(crate) fn wall(&self) -> SystemTime {
        match self {
            Self::Counter => SystemTime::now(),
            Self::Manual(hand) => hand.wall(),
        }
    }

    /// Nanoseconds on this clock since a fixed origin: the time axis of the sliding windows.
    pub(crate) fn nanos(&self) -> u64 {
        match self {
            Self::Counter => COUNTER.delta_as_nanos(0, COUNTER.raw()),
            Self::Manual(hand) => hand.nanos(),
        }
    }

    /// How far `at` lies in the future, in nanoseconds; 0 if it has passed.
    pub(crate) fn nanos_until(&self, at: Instant) -> u64 {
        match self {
            Self::Counter => nanos_of(at.saturating_duration_since(Instant::now())),
            Self::Manual(hand) => nanos_of(at.saturating_duration_since(hand.origin)).saturating_sub(hand.nanos()),
        }
    }
}

/// A duration in nanoseconds, saturating after 584 years.
pub(crate) fn nanos_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_agrees_with_the_operating_system() {
        let clock = Clock::counter();
        let (os, from) = (Instant::now(), clock.tick());
        while os.elapsed() < Duration::from_millis(5) {}
        let (to, elapsed) = (clock.tick(), nanos_of(os.elapsed()));
        let nanos = clock.nanos_between(from, to);
        assert!(nanos >= 4_900_000, "{nanos} ns of at least 5 ms");
        assert!(nanos <= elapsed + elapsed / 100, "{nanos} ns of {elapsed}");
    }

    #[test]
    fn a_tick_that_lies_before_its_start_is_no_time_at_all() {
        let clock = Clock::counter();
        let now = clock.tick();
        assert_eq!(clock.nanos_between(now, now - 1), 0);
    }

    #[test]
    fn the_manual_clock_stands_still_until_it_is_moved() {
        let hand = Arc::new(Hand::new(SystemTime::UNIX_EPOCH));
        let clock = Clock::Manual(Arc::clone(&hand));
        let from = clock.tick();
        assert_eq!(clock.nanos_between(from, clock.tick()), 0);
        hand.advance(Duration::from_micros(7));
        assert_eq!(clock.nanos_between(from, clock.tick()), 7_000);
        assert_eq!(clock.wall(), SystemTime::UNIX_EPOCH + Duration::from_micros(7));
    }
}
