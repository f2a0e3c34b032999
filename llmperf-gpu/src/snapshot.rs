//! What the sampler knows now, as plain data: made by the sampler's thread, read by everybody else.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use crate::{
    Clock, Condition, DeviceId, DeviceInfo, DeviceSample, EnergySource, Fault, Field, GpuWindow, SamplerState,
    history::History,
};

/// What the sampler knew at one moment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GpuSnapshot {
    /// What the sampler is doing.
    pub state: SamplerState,
    /// Why it is not running, in words for people.
    pub reason: Option<String>,
    /// The devices, in the driver's order.
    pub devices: Vec<DeviceSnapshot>,
    /// When the last tick ended, on the sampler's clock; absent before the first.
    pub sampled: Option<Duration>,
    /// How the sampler itself does.
    pub health: Health,
    /// Joules per output token over the last minutes, by model that runs here.
    pub fleet: Vec<FleetAverage>,
}

/// One device.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceSnapshot {
    /// What it is.
    pub info: Arc<DeviceInfo>,
    /// What became of it.
    pub condition: Condition,
    /// What it told last; nothing if it is not [`Condition::Ok`].
    pub sample: DeviceSample,
    /// When it told that, on the sampler's clock.
    pub sampled: Option<Duration>,
    /// Its energy since the sampler first saw it, in joules; once more by each source that was ever used.
    pub energy: Vec<(EnergySource, f64)>,
    /// It has no memory of its own to tell of: it shares the machine's.
    pub unified_memory: bool,
    /// Errors that its driver reported by itself, by their number.
    pub incidents: BTreeMap<u64, Incidents>,
    /// The model that the application says it serves.
    pub serves: Option<Arc<str>>,
}

/// Errors of one kind that a driver reported of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Incidents {
    /// How many.
    pub count: u64,
    /// When the last one was seen.
    pub last: SystemTime,
}

impl Incidents {
    pub(crate) fn first(at: SystemTime) -> Self {
        Self { count: 1, last: at }
    }
}

/// How the sampler itself does. Counts are since it was started.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Health {
    /// Ticks that went through.
    pub ticks: u64,
    /// Ticks that took longer than the time between two.
    pub late_ticks: u64,
    /// How long the last tick took.
    pub last_tick: Duration,
    /// Fields that had no value, by the reason.
    pub read_errors: BTreeMap<(Field, Fault), u64>,
    /// Failures to open the driver or to list its devices, by the reason.
    pub open_errors: BTreeMap<Fault, u64>,
    /// Energy counters that went back.
    pub energy_resets: u64,
    /// Increases of an energy counter that cannot have been.
    pub energy_rejected: u64,
    /// Calls that could not be watched to their end: too many at once, or the driver was closed meanwhile.
    pub calls_untracked: u64,
}

/// Energy per output token of one model over the last minutes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FleetAverage {
    /// The model.
    pub model: Arc<str>,
    /// Joules of its devices, idle time included, per output token of its calls.
    pub joules_per_token: f64,
}

impl PartialOrd for Fault {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fault {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |fault: &Self| match fault {
            Self::Other(code) => ("_OTHER", *code),
            named => (named.as_str(), 0),
        };
        key(self).cmp(&key(other))
    }
}

/// What the sampler's thread and the rest of the process share. No lock is held while a driver is asked.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    /// What is older is not told any more.
    max_age: Duration,
    snapshot: Mutex<Arc<GpuSnapshot>>,
    histories: Mutex<BTreeMap<DeviceId, History>>,
}

impl Shared {
    pub(crate) fn new(clock: Clock, max_age: Duration) -> Self {
        Self { clock, max_age, snapshot: Mutex::default(), histories: Mutex::default() }
    }

    pub(crate) fn publish(&self, snapshot: GpuSnapshot) {
        let old = std::mem::replace(&mut *lock(&self.snapshot), Arc::new(snapshot));
        drop(old);
    }

    /// What is known now. A sampler whose last sample is overdue, because a driver call hangs, is not running.
    pub(crate) fn snapshot(&self) -> Arc<GpuSnapshot> {
        let snapshot = Arc::clone(&lock(&self.snapshot));
        if snapshot.state == SamplerState::Running && !self.is_fresh(snapshot.sampled) {
            return Arc::new(GpuSnapshot { state: SamplerState::Degraded, ..(*snapshot).clone() });
        }
        snapshot
    }

    /// Whether what was sampled then may still be told.
    pub(crate) fn is_fresh(&self, sampled: Option<Duration>) -> bool {
        sampled.is_some_and(|sampled| self.age(sampled) <= self.max_age)
    }

    pub(crate) fn age(&self, sampled: Duration) -> Duration {
        self.clock.now().saturating_sub(sampled)
    }

    pub(crate) fn histories(&self) -> MutexGuard<'_, BTreeMap<DeviceId, History>> {
        lock(&self.histories)
    }

    /// What these devices, or all, did between two times.
    pub(crate) fn window(&self, devices: Option<&[DeviceId]>, from: Duration, to: Duration) -> GpuWindow {
        let histories = self.histories();
        let windows: Vec<GpuWindow> = match devices {
            None => histories.values().map(|history| history.window(from, to)).collect(),
            Some(devices) => devices
                .iter()
                .map(|device| histories.get(device).map_or_else(GpuWindow::default, |history| history.window(from, to)))
                .collect(),
        };
        GpuWindow::together(&windows)
    }
}

/// Locks; what a thread that panicked left behind is whole enough.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
