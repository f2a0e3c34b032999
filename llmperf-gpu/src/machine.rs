//! The sampler's states. Pure: events and the time come in, what to do next goes out.
//!
//! ```text
//! Unavailable ──► Initialising ──► Running ◄──► Degraded
//!      ▲               │   ▲          │            │
//!      └───────────────┤   └─ Backoff ◄────────────┘      Paused, Stopped: on the application's word
//!                      └────────►
//! ```

use std::{fmt, time::Duration};

use crate::Fault;

/// How long a machine without a driver is left in peace between two looks.
pub(crate) const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// The first wait after access was lost; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// What the sampler is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SamplerState {
    /// There is no driver on this machine, or no library that reaches it. Looked for again once a minute.
    Unavailable,
    /// The driver is being opened.
    #[default]
    Initialising,
    /// All devices answer.
    Running,
    /// Some device does not answer, or has no figures, or the last sample is overdue.
    Degraded,
    /// Access to the driver was lost, or it refuses: tried again after a wait that grows to five minutes.
    Backoff,
    /// The application asked for a pause; the driver is closed.
    Paused,
    /// The sampler has ended.
    Stopped,
}

impl SamplerState {
    /// All states.
    pub const ALL: [Self; 7] = [
        Self::Unavailable,
        Self::Initialising,
        Self::Running,
        Self::Degraded,
        Self::Backoff,
        Self::Paused,
        Self::Stopped,
    ];

    /// Its name, as it stands in `llmperf.gpu.state`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Initialising => "initialising",
            Self::Running => "running",
            Self::Degraded => "degraded",
            Self::Backoff => "backoff",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
        }
    }
}

impl fmt::Display for SamplerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The driver was opened and lists devices.
    Opened,
    /// It could not be opened, or lists none.
    Refused(Fault),
    /// Everything failed: the driver is out of reach.
    AccessLost,
    /// A tick went through; whether some device did not work.
    Sampled {
        bad: bool,
    },
    Paused,
    Resumed,
    Stopped,
}

/// The state, and when to try again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    state: SamplerState,
    refusals: u32,
    again: Duration,
}

impl Machine {
    pub(crate) fn state(&self) -> SamplerState {
        self.state
    }

    /// Whether the driver is closed and should be opened now.
    pub(crate) fn should_open(&self, now: Duration) -> bool {
        match self.state {
            SamplerState::Initialising => true,
            SamplerState::Unavailable | SamplerState::Backoff => now >= self.again,
            _ => false,
        }
    }

    /// When the driver should next be opened; absent while it is open, or must not be.
    pub(crate) fn opens_at(&self) -> Option<Duration> {
        match self.state {
            SamplerState::Initialising => Some(Duration::ZERO),
            SamplerState::Unavailable | SamplerState::Backoff => Some(self.again),
            _ => None,
        }
    }

    /// Moves on; the new state if it is another one.
    pub(crate) fn on(&mut self, now: Duration, happening: Happening) -> Option<SamplerState> {
        let before = self.state;
        self.state = match (before, happening) {
            (SamplerState::Stopped, _) | (_, Happening::Stopped) => SamplerState::Stopped,
            (_, Happening::Paused) => SamplerState::Paused,
            (SamplerState::Paused, Happening::Resumed) => self.fresh(),
            (SamplerState::Paused, _) => SamplerState::Paused,
            (state, Happening::Resumed) => state,
            (_, Happening::Opened) => SamplerState::Running,
            (_, Happening::Refused(fault)) if fault.is_no_driver() => self.look_again(now),
            (_, Happening::Refused(_) | Happening::AccessLost) => self.back_off(now),
            (_, Happening::Sampled { bad }) => {
                self.refusals = 0;
                if bad { SamplerState::Degraded } else { SamplerState::Running }
            }
        };
        (self.state != before).then_some(self.state)
    }

    fn fresh(&mut self) -> SamplerState {
        self.refusals = 0;
        SamplerState::Initialising
    }

    fn look_again(&mut self, now: Duration) -> SamplerState {
        self.again = now.saturating_add(LOOK_AGAIN_AFTER);
        SamplerState::Unavailable
    }

    fn back_off(&mut self, now: Duration) -> SamplerState {
        let wait = FIRST_WAIT.saturating_mul(1 << self.refusals.min(16)).min(LONGEST_WAIT);
        self.refusals = self.refusals.saturating_add(1);
        self.again = now.saturating_add(wait);
        SamplerState::Backoff
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The times at which a driver that always refuses so is tried in the first `seconds`.
    fn tries(fault: Fault, seconds: u64) -> Vec<u64> {
        let mut machine = Machine::default();
        let mut tries = Vec::new();
        for second in 0..seconds {
            let now = SECOND * u32::try_from(second).unwrap();
            if machine.should_open(now) {
                tries.push(second);
                machine.on(now, Happening::Refused(fault));
            }
        }
        tries
    }

    #[test]
    fn without_a_library_it_looks_once_a_minute() {
        assert_eq!(tries(Fault::LibraryNotFound, 200), [0, 60, 120, 180]);
        assert_eq!(tries(Fault::MissingSymbol, 100), [0, 60]);
    }

    #[test]
    fn a_refusal_is_tried_again_after_waits_that_double_up_to_five_minutes() {
        assert_eq!(tries(Fault::VersionMismatch, 1_200), [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1_111]);
    }

    #[test]
    fn waits_start_anew_once_a_sample_went_through_not_once_it_opened() {
        let mut machine = Machine::default();
        for _ in 0..4 {
            machine.on(Duration::ZERO, Happening::Opened);
            machine.on(Duration::ZERO, Happening::AccessLost);
        }
        assert_eq!(
            machine.opens_at(),
            Some(SECOND * 8),
            "a driver that opens and fails at once is not a reason to spin"
        );
        machine.on(Duration::ZERO, Happening::Opened);
        machine.on(Duration::ZERO, Happening::Sampled { bad: false });
        machine.on(Duration::ZERO, Happening::AccessLost);
        assert_eq!(machine.opens_at(), Some(SECOND));
    }

    #[test]
    fn a_pause_holds_until_it_is_lifted_and_the_end_is_the_end() {
        let mut machine = Machine::default();
        assert_eq!(machine.on(SECOND, Happening::Paused), Some(SamplerState::Paused));
        assert_eq!(machine.on(SECOND, Happening::Sampled { bad: false }), None);
        assert!(!machine.should_open(SECOND * 10_000) && machine.opens_at().is_none());
        assert_eq!(machine.on(SECOND, Happening::Resumed), Some(SamplerState::Initialising));
        assert!(machine.should_open(SECOND));
        assert_eq!(machine.on(SECOND, Happening::Stopped), Some(SamplerState::Stopped));
        assert_eq!(machine.on(SECOND, Happening::Resumed), None);
    }

    #[test]
    fn a_bad_device_degrades_and_its_return_heals() {
        let mut machine = Machine::default();
        machine.on(SECOND, Happening::Opened);
        assert_eq!(machine.on(SECOND, Happening::Sampled { bad: true }), Some(SamplerState::Degraded));
        assert_eq!(machine.on(SECOND, Happening::Sampled { bad: false }), Some(SamplerState::Running));
    }
}
