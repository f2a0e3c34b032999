//! The windows, and the ring of packed slices that each of them keeps.

use std::{collections::VecDeque, time::Duration};

use serde::{Deserialize, Serialize};

use super::closed::Closed;

/// The width of a series' slices in nanoseconds: ten seconds. Slices are numbered from the origin of the axis.
const SLICE: u64 = 10_000_000_000;

/// The number of the slice into which an instant, in nanoseconds, falls.
pub(super) fn slice_at(now: u64) -> u64 {
    now / SLICE
}

/// A stretch of time that ends now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Window {
    /// The last minute, in slices of 10 seconds.
    OneMinute,
    /// The last five minutes, in slices of a minute.
    FiveMinutes,
    /// The last hour, in slices of five minutes.
    OneHour,
    /// Everything since the handle was made.
    SinceStart,
}

impl Window {
    /// All windows, the shortest first.
    pub const ALL: [Self; 4] = [Self::OneMinute, Self::FiveMinutes, Self::OneHour, Self::SinceStart];

    /// The width of the window's slices, in slices of a series, and how many of them make the window.
    fn shape(self) -> (u64, u64) {
        match self {
            Self::OneMinute => (1, 6),
            Self::FiveMinutes => (6, 5),
            Self::OneHour => (30, 12),
            Self::SinceStart => (u64::MAX, 1),
        }
    }

    /// The number of the window's oldest slice when `slice` is the series' newest.
    fn oldest(self, slice: u64) -> u64 {
        let (width, slices) = self.shape();
        (slice / width + 1).saturating_sub(slices)
    }

    /// How much of the window lies between `started` and `now`.
    pub(super) fn covered(self, started: u64, now: u64) -> Duration {
        let (width, _) = self.shape();
        let from = self.oldest(slice_at(now)).saturating_mul(width).saturating_mul(SLICE);
        Duration::from_nanos(now.saturating_sub(from.max(started)))
    }
}

/// The packed slices of one window of one series, oldest first.
#[derive(Debug)]
pub(super) struct Ring {
    window: Window,
    slices: VecDeque<(u64, Closed)>,
}

impl Ring {
    pub(super) fn new(window: Window) -> Self {
        Self { window, slices: VecDeque::new() }
    }

    /// Adds what the series' slice `slice` held; slices come in order, the same one perhaps in several parts.
    pub(super) fn add(&mut self, slice: u64, closed: &Closed) {
        let (width, _) = self.window.shape();
        let index = slice / width;
        match self.slices.back_mut() {
            Some((newest, kept)) if *newest == index => kept.merge(closed),
            _ => {
                self.expire(slice);
                self.slices.push_back((index, closed.clone()));
            }
        }
    }

    /// Lets go of what the window has left behind when `slice` is the newest.
    pub(super) fn expire(&mut self, slice: u64) {
        let oldest = self.window.oldest(slice);
        while self.slices.front().is_some_and(|(index, _)| *index < oldest) {
            self.slices.pop_front();
        }
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// Everything in the window; absent if that is nothing.
    pub(super) fn total(&self) -> Option<Closed> {
        let mut slices = self.slices.iter().map(|(_, closed)| closed);
        let mut total = slices.next()?.clone();
        slices.for_each(|closed| total.merge(closed));
        Some(total)
    }
}
