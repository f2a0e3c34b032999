//! The recent past of one device: a ring of energies and levels on the sampler's clock, searched by time.

use std::{collections::VecDeque, time::Duration};

use crate::{DeviceSample, energy::Advance};

/// Most entries of either kind: ten minutes at ten a second.
const MOST: usize = 6_000;

/// What one device did lately.
#[derive(Clone, Debug)]
pub(crate) struct History {
    /// Joules up to a time, at each time at which they rose.
    energy: VecDeque<(Duration, f64)>,
    levels: VecDeque<Level>,
    keep: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    at: Duration,
    utilization: Option<f64>,
    memory: Option<u64>,
    watts: Option<f64>,
}

/// What one or several devices did in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GpuWindow {
    /// The energy in joules, interpolated between samples; absent if it is not known for all of the time.
    pub joules: Option<f64>,
    /// The mean of the utilisation, as a fraction; absent without a sample in the window.
    pub utilization: Option<f64>,
    /// The most memory in use, in bytes; absent without a sample in the window.
    pub memory: Option<u64>,
    /// The mean power draw in watts, by the samples; absent without one in the window.
    pub watts: Option<f64>,
    /// Samples in the window.
    pub samples: usize,
    /// Devices that it is about.
    pub devices: usize,
}

impl History {
    /// A history that goes back so far.
    pub(crate) fn new(keep: Duration) -> Self {
        Self { energy: VecDeque::new(), levels: VecDeque::new(), keep }
    }

    /// Takes in by how much the energy rose.
    pub(crate) fn rose(&mut self, advance: &Advance) {
        match self.energy.back().copied() {
            None => self.energy.extend([(advance.from, 0.0), (advance.to, advance.joules)]),
            Some((last, joules)) => {
                // A stretch that is not known adds nothing, and a window over it must not be told.
                if advance.from > last {
                    self.energy.clear();
                    self.energy.push_back((advance.from, joules));
                }
                self.energy.push_back((advance.to, joules + advance.joules));
            }
        }
        self.trim(advance.to);
    }

    /// Takes in the levels of a sample.
    pub(crate) fn sampled(&mut self, at: Duration, sample: &DeviceSample) {
        self.levels.push_back(Level {
            at,
            utilization: sample.utilization.ok().map(|busy| busy.compute),
            memory: sample.memory.ok().map(|memory| memory.used),
            watts: sample.power_watts.ok(),
        });
        self.trim(at);
    }

    fn trim(&mut self, now: Duration) {
        let oldest = now.saturating_sub(self.keep);
        while self.energy.len() > 2 && (self.energy.len() > MOST || self.energy.get(1).is_some_and(|e| e.0 <= oldest)) {
            self.energy.pop_front();
        }
        while self.levels.len() > MOST || self.levels.front().is_some_and(|level| level.at < oldest) {
            self.levels.pop_front();
        }
    }

    /// Joules up to a time; absent where that is not known.
    pub(crate) fn energy_at(&self, at: Duration) -> Option<f64> {
        let after = self.energy.partition_point(|(time, _)| *time < at);
        let (later, upper) = self.energy.get(after).copied()?;
        if later == at {
            return Some(upper);
        }
        let (earlier, lower) = self.energy.get(after.checked_sub(1)?).copied()?;
        let share = (at - earlier).as_secs_f64() / (later - earlier).as_secs_f64();
        Some(lower + (upper - lower) * share)
    }

    /// What the device did between two times.
    pub(crate) fn window(&self, from: Duration, to: Duration) -> GpuWindow {
        let joules = self.energy_at(from).zip(self.energy_at(to)).map(|(before, after)| (after - before).max(0.0));
        let first = self.levels.partition_point(|level| level.at < from);
        let levels = self.levels.iter().skip(first).take_while(|level| level.at <= to);
        let (mut window, mut busy, mut watts) =
            (GpuWindow { joules, devices: 1, ..GpuWindow::default() }, Mean::default(), Mean::default());
        for level in levels {
            window.samples += 1;
            busy.add(level.utilization);
            watts.add(level.watts);
            window.memory = window.memory.max(level.memory);
        }
        (window.utilization, window.watts) = (busy.value(), watts.value());
        window
    }
}

impl GpuWindow {
    /// The window of several devices together: energy, memory and power add up (known only if they are for each),
    /// utilisation is the mean.
    pub(crate) fn together(windows: &[Self]) -> Self {
        let mut busy = Mean::default();
        windows.iter().for_each(|window| busy.add(window.utilization));
        Self {
            joules: sum(windows.iter().map(|window| window.joules)),
            utilization: busy.value(),
            memory: windows
                .iter()
                .map(|window| window.memory)
                .try_fold(0_u64, |sum, memory| sum.checked_add(memory?))
                .filter(|_| !windows.is_empty()),
            watts: sum(windows.iter().map(|window| window.watts)),
            samples: windows.iter().map(|window| window.samples).min().unwrap_or(0),
            devices: windows.len(),
        }
    }
}

fn sum(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut values = values.peekable();
    values.peek()?;
    values.try_fold(0.0, |sum, value| Some(sum + value?))
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sum += value;
            self.count += 1;
        }
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Memory, Utilization};

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn advance(from: u64, to: u64, joules: f64) -> Advance {
        Advance { from: at(from), to: at(to), joules, broken: false }
    }

    fn sample(busy: f64, used: u64) -> DeviceSample {
        DeviceSample {
            utilization: Ok(Utilization::new(busy, None)),
            memory: Ok(Memory::new(100, used)),
            power_watts: Ok(busy * 100.0),
            ..DeviceSample::nothing()
        }
    }

    #[test]
    fn energy_is_interpolated_between_samples_and_unknown_beyond_them() {
        let mut history = History::new(at(600));
        history.rose(&advance(10, 20, 100.0));
        history.rose(&advance(20, 30, 300.0));
        assert_eq!(history.energy_at(at(9)), None);
        assert_eq!(history.energy_at(at(10)), Some(0.0));
        assert_eq!(history.energy_at(at(15)), Some(50.0));
        assert_eq!(history.energy_at(at(25)), Some(250.0));
        assert_eq!(history.energy_at(at(31)), None);
        assert_eq!(history.window(at(15), at(25)).joules, Some(200.0));
    }

    #[test]
    fn a_window_over_a_stretch_that_is_not_known_has_no_energy() {
        let mut history = History::new(at(600));
        history.rose(&advance(0, 10, 100.0));
        history.rose(&advance(15, 20, 100.0));
        assert_eq!(history.window(at(5), at(18)).joules, None);
        assert_eq!(history.window(at(16), at(18)).joules, Some(40.0));
    }

    #[test]
    fn levels_are_those_of_the_samples_within() {
        let mut history = History::new(at(600));
        (0..10).for_each(|second| history.sampled(at(second), &sample(second as f64 / 10.0, second)));
        let window = history.window(at(2), at(4));
        assert_eq!((window.samples, window.memory), (3, Some(4)));
        assert!(window.utilization.is_some_and(|busy| (busy - 0.3).abs() < 1e-9));
        assert_eq!(history.window(at(20), at(30)), GpuWindow { devices: 1, ..GpuWindow::default() });
    }

    #[test]
    fn the_ring_forgets_what_is_old_and_never_grows_past_its_size() {
        let mut history = History::new(at(600));
        for second in 0..100_000 {
            history.rose(&advance(second, second + 1, 1.0));
            history.sampled(at(second), &sample(0.5, 1));
        }
        assert!(history.energy.len() <= 602 && history.levels.len() <= 602);
        assert_eq!(history.energy_at(at(99_000)), None);
        assert_eq!(history.energy_at(at(99_900)), Some(99_900.0));
    }

    #[test]
    fn several_devices_add_up_only_if_each_is_known() {
        let known = GpuWindow {
            joules: Some(1.0),
            memory: Some(2),
            watts: Some(3.0),
            utilization: Some(0.2),
            samples: 4,
            devices: 1,
        };
        let together = GpuWindow::together(&[known, GpuWindow { utilization: Some(0.4), samples: 2, ..known }]);
        assert_eq!((together.joules, together.memory, together.samples, together.devices), (Some(2.0), Some(4), 2, 2));
        assert!(together.utilization.is_some_and(|busy| (busy - 0.3).abs() < 1e-9));
        assert_eq!(GpuWindow::together(&[known, GpuWindow::default()]).joules, None);
        assert_eq!(GpuWindow::together(&[]).joules, None);
    }
}
