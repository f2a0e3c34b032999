//! Energy of one device: a sum of our own that only grows, whatever the device's counter does.
//!
//! The counter is reset when the driver is reloaded, stands still for a while, and tells nonsense at times. So only
//! increases of it that the device can have made are added: at most twice its power limit over the time since the
//! counter last moved. A decrease is a reset, and counting starts again from the new value. Devices without a counter
//! (older than Volta, many vGPUs) have their power integrated instead. The two are never added up: they disagree by
//! tens of percent, so each is a series of its own.

use std::time::Duration;

/// What is assumed of a device that does not tell its power limit: more than any has today.
const ASSUMED_LIMIT_WATTS: f64 = 1_500.0;
/// The largest time between two readings of power that is filled by a straight line.
const LONGEST_GAP: Duration = Duration::from_secs(10);

/// How the energy of a device is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EnergySource {
    /// By the device's own counter.
    Counter,
    /// By integrating the power that it draws: it has no counter.
    IntegratedPower,
}

impl EnergySource {
    /// Its name, as it stands in `llmperf.gpu.energy.source`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::IntegratedPower => "integrated_power",
        }
    }
}

/// What an increase of the energy was: how much, over which time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Advance {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) joules: f64,
    /// The counter was reset or told nonsense since the advance before.
    pub(crate) broken: bool,
}

/// The energy of one device since it was first seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Energy {
    counter: Option<(Duration, u64)>,
    power: Option<(Duration, f64)>,
    counted: Option<u64>,
    integrated: Option<f64>,
    broken: bool,
    resets: u64,
    rejected: u64,
}

impl Energy {
    /// Takes in the device's counter in millijoules, and tells by how much the energy rose.
    pub(crate) fn count(&mut self, now: Duration, counter: u64, limit_watts: Option<f64>) -> Option<Advance> {
        let Some((before, last)) = self.counter else {
            self.counter = Some((now, counter));
            self.counted.get_or_insert(0);
            return None;
        };
        if counter == last || now <= before {
            // It stands still; what it makes up for later was used over all of that time.
            return None;
        }
        self.counter = Some((now, counter));
        if counter < last {
            self.resets += 1;
            self.broken = true;
            return None;
        }
        let rise = counter - last;
        if rise as f64 / 1e3 > largest(now - before, limit_watts) {
            self.rejected += 1;
            self.broken = true;
            return None;
        }
        self.counted = Some(self.counted.unwrap_or(0).saturating_add(rise));
        let broken = std::mem::take(&mut self.broken);
        Some(Advance { from: before, to: now, joules: rise as f64 / 1e3, broken })
    }

    /// Takes in the power of a device that has no counter.
    pub(crate) fn integrate(&mut self, now: Duration, watts: f64) -> Option<Advance> {
        let before = self.power.replace((now, watts));
        self.integrated.get_or_insert(0.0);
        let (then, earlier) = before.filter(|(then, _)| *then < now)?;
        if now - then > LONGEST_GAP {
            self.broken = true;
            return None;
        }
        let joules = (earlier + watts) / 2.0 * (now - then).as_secs_f64();
        self.integrated = Some(self.integrated.unwrap_or(0.0) + joules);
        let broken = std::mem::take(&mut self.broken);
        Some(Advance { from: then, to: now, joules, broken })
    }

    /// Joules by the counter; absent if it never told anything.
    pub(crate) fn counted(&self) -> Option<f64> {
        self.counted.map(|millijoules| millijoules as f64 / 1e3)
    }

    /// Joules by integrating power; absent where that was never needed.
    pub(crate) fn integrated(&self) -> Option<f64> {
        self.integrated
    }

    /// How often the counter went back.
    pub(crate) fn resets(&self) -> u64 {
        self.resets
    }

    /// How many increases were more than the device can use.
    pub(crate) fn rejected(&self) -> u64 {
        self.rejected
    }
}

/// The most that a device can have used in a time, in joules.
pub(crate) fn largest(time: Duration, limit_watts: Option<f64>) -> f64 {
    let limit = limit_watts.filter(|watts| watts.is_finite() && *watts > 0.0).unwrap_or(ASSUMED_LIMIT_WATTS);
    2.0 * limit * time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_decrease_starts_again_from_the_new_value() {
        let mut energy = Energy::default();
        energy.count(SECOND, 1_000_000, Some(300.0));
        energy.count(SECOND * 2, 1_250_000, Some(300.0));
        assert_eq!(energy.count(SECOND * 3, 100, Some(300.0)), None);
        let after = energy.count(SECOND * 4, 200_100, Some(300.0)).unwrap();
        assert!(after.broken, "whoever uses this advance must know that something is missing before it");
        assert_eq!((energy.counted(), energy.resets()), (Some(450.0), 1));
    }

    #[test]
    fn an_impossible_increase_is_rejected_and_counted() {
        let mut energy = Energy::default();
        energy.count(SECOND, 0, Some(300.0));
        assert_eq!(energy.count(SECOND * 2, 600_001, Some(300.0)), None);
        assert_eq!((energy.counted(), energy.rejected()), (Some(0.0), 1));
        assert!(energy.count(SECOND * 3, 900_001, Some(300.0)).is_some());
    }

    #[test]
    fn what_a_stalled_counter_makes_up_for_is_not_lost() {
        let mut energy = Energy::default();
        energy.count(SECOND, 0, Some(300.0));
        (2..7).for_each(|second| assert_eq!(energy.count(SECOND * second, 0, Some(300.0)), None));
        let advance = energy.count(SECOND * 7, 1_500_000, Some(300.0)).unwrap();
        assert_eq!((advance.from, advance.to, advance.joules), (SECOND, SECOND * 7, 1_500.0));
    }

    #[test]
    fn power_is_integrated_only_over_times_that_were_watched() {
        let mut energy = Energy::default();
        assert_eq!(energy.integrated(), None);
        energy.integrate(SECOND, 100.0);
        energy.integrate(SECOND * 2, 200.0);
        assert_eq!(energy.integrated(), Some(150.0));
        assert_eq!(energy.integrate(SECOND * 60, 200.0), None, "an hour nobody looked at is not known");
        energy.integrate(SECOND * 61, 200.0);
        assert_eq!((energy.integrated(), energy.counted()), (Some(350.0), None));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Use(u64),
        Stall,
        Fail,
        Reset(u64),
        Nonsense(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
        let step = prop_oneof![
            4 => (0_u64..800_000).prop_map(Step::Use),
            1 => Just(Step::Stall),
            1 => Just(Step::Fail),
            1 => (0_u64..1_000_000).prop_map(Step::Reset),
            1 => any::<u64>().prop_map(Step::Nonsense),
        ];
        prop::collection::vec((1_u64..3_000, step), 1..200)
    }

    proptest! {
        #[test]
        fn energy_never_decreases_and_never_jumps(steps in steps(), limit in 50.0_f64..800.0) {
            let mut energy = Energy::default();
            let (mut now, mut counter, mut moved) = (0_u64, 5_000_000_u64, None::<u64>);
            let mut before = 0.0;
            for (millis, step) in steps {
                now += millis;
                let at = Duration::from_millis(now);
                let seen = match step {
                    Step::Use(millijoules) => { counter = counter.saturating_add(millijoules); Some(counter) }
                    Step::Stall => Some(counter),
                    Step::Fail => None,
                    Step::Reset(to) => { counter = to; Some(counter) }
                    Step::Nonsense(value) => Some(value),
                };
                let last = energy.counter.map(|(_, last)| last);
                if let Some(seen) = seen {
                    energy.count(at, seen, Some(limit));
                }
                let joules = energy.counted().unwrap_or(0.0);
                prop_assert!(joules >= before, "{before} J became {joules} J");
                let since = Duration::from_millis(now - moved.unwrap_or(now));
                prop_assert!(joules - before <= largest(since, Some(limit)) + 1e-6, "{} J in {since:?}", joules - before);
                if let Some(seen) = seen && last != Some(seen) {
                    moved = Some(now);
                }
                before = joules;
            }
            prop_assert!(before <= largest(Duration::from_millis(now), Some(limit)) + 1e-6);
        }

        #[test]
        fn a_steady_counter_is_added_up_exactly(uses in prop::collection::vec(0_u64..300_000, 1..100)) {
            let mut energy = Energy::default();
            let mut counter = 77;
            energy.count(Duration::ZERO, counter, Some(300.0));
            for (second, used) in uses.iter().enumerate() {
                counter += used;
                energy.count(SECOND * u32::try_from(second + 1).unwrap(), counter, Some(300.0));
            }
            let all: u64 = uses.iter().sum();
            prop_assert_eq!(energy.counted(), Some(all as f64 / 1e3));
        }
    }
}
