//! One tick of the sampler: asks what is due, judges what came, publishes it. The time and the driver are given, so
//! that a test runs a day of it in a second.

use std::{sync::Arc, time::Duration};

use crate::{
    BackendError, Condition, Fault, Fields, GpuSnapshot, Incidents, SamplerState,
    calls::{Correlation, DeviceAdvance},
    guarded::Guarded,
    history::History,
    machine::{Happening, Machine},
    roster::Roster,
    settings::Settings,
    sleeper,
    snapshot::{Health, Shared},
};

/// How often the list of devices is looked at again.
const LIST_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// Ticks in which all devices slept, after which the driver is closed: an open one keeps them from sleeping deeply.
const SLEEPY_TICKS: u32 = 6;
/// How far back windows can reach.
const HISTORY: Duration = Duration::from_secs(600);

/// The sampler without its thread.
pub(crate) struct Engine {
    backend: Guarded,
    settings: Settings,
    pub(crate) shared: Arc<Shared>,
    pub(crate) correlation: Arc<Correlation>,
    machine: Machine,
    is_open: bool,
    roster: Roster,
    health: Health,
    reason: Option<String>,
    sampled: Option<Duration>,
    due: Due,
    sleepy: u32,
    /// The last tick took too long: what is optional is left out of the next.
    hurry: bool,
}

/// When what is due.
#[derive(Debug, Default)]
struct Due {
    whole: Duration,
    energy: Duration,
    list: Duration,
}

impl Engine {
    pub(crate) fn new(
        mut backend: Guarded,
        settings: Settings,
        shared: Arc<Shared>,
        correlation: Arc<Correlation>,
    ) -> Self {
        if settings.incidents {
            backend.watch_incidents();
        }
        Self {
            backend,
            settings,
            shared,
            correlation,
            machine: Machine::default(),
            is_open: false,
            roster: Roster::default(),
            health: Health::default(),
            reason: None,
            sampled: None,
            due: Due::default(),
            sleepy: 0,
            hurry: false,
        }
    }

    /// Does what is due, and tells when to come again.
    pub(crate) fn tick(&mut self) -> Duration {
        let started = self.shared.clock.now();
        if self.machine.should_open(started) {
            self.open(started);
        }
        let mut advances = Vec::new();
        if matches!(self.machine.state(), SamplerState::Running | SamplerState::Degraded) {
            self.sample_due(started, &mut advances);
        }
        let ended = self.shared.clock.now();
        let expected = self.roster.devices.iter().filter(|device| device.info.parent.is_none());
        let expected: Vec<_> = expected.map(|device| (device.info.id.clone(), device.condition)).collect();
        self.health.calls_untracked = self.correlation.settle(ended, &advances, &expected, &self.shared);
        self.publish();
        self.next(ended)
    }

    /// Closes the driver until [`resume`](Self::resume).
    pub(crate) fn pause(&mut self) {
        self.close();
        self.roster.clear();
        self.happen(Happening::Paused, "asked to");
        self.publish();
    }

    /// Opens it again at the next tick.
    pub(crate) fn resume(&mut self) {
        self.happen(Happening::Resumed, "asked to");
    }

    /// Closes the driver for good.
    pub(crate) fn stop(&mut self) {
        self.close();
        self.roster.clear();
        self.happen(Happening::Stopped, "asked to");
        self.publish();
    }

    fn next(&self, now: Duration) -> Duration {
        match self.machine.state() {
            SamplerState::Paused | SamplerState::Stopped => Duration::MAX,
            SamplerState::Running | SamplerState::Degraded => {
                let energy = if self.settings.energy_every.is_some() { self.due.energy } else { Duration::MAX };
                self.due.whole.min(energy).max(now)
            }
            _ => self.machine.opens_at().map_or(Duration::MAX, |opens| opens.max(now)),
        }
    }

    fn open(&mut self, now: Duration) {
        match self.reopen() {
            Ok(()) => {
                self.happen(Happening::Opened, "");
                (self.due.whole, self.due.energy) = (now, now);
            }
            Err(error) => self.refused(&error),
        }
    }

    /// Looks at the list of devices.
    fn list(&mut self, now: Duration) -> Result<(), BackendError> {
        self.due.list = now + LIST_AGAIN_AFTER;
        let found = self.backend.devices()?;
        if found.is_empty() {
            return Err(BackendError::new(Fault::NotFound, "the driver lists no device"));
        }
        if let Some(fault) = found.iter().map(|entry| entry.device.as_ref().err().copied()).min().flatten() {
            // The least of all is `None` if any device answers.
            let detail = format!("none of {} devices answers", found.len());
            return Err(BackendError::new(fault, detail));
        }
        let changes = self.roster.take_in(found, &self.settings);
        let mut histories = self.shared.histories();
        for device in &changes.gone {
            histories.remove(device);
        }
        drop(histories);
        changes.gone.iter().chain(&changes.lost).for_each(|device| self.backend.forget(device));
        self.backend.take_panic()
    }

    fn sample_due(&mut self, now: Duration, advances: &mut Vec<DeviceAdvance>) {
        if now >= self.due.list
            && self.is_open
            && let Err(error) = self.list(now)
        {
            self.refused(&error);
            return;
        }
        let whole = now >= self.due.whole;
        let plan = match (whole, self.settings.energy_every) {
            (true, _) => self.settings.fields,
            (false, Some(_)) if now >= self.due.energy => Fields::of_energy(),
            _ => return,
        };
        // What was missed is not made up for: the next is one period after the one that was due, if that lies ahead.
        if whole {
            self.due.whole = following(self.due.whole, self.settings.every, now);
        }
        self.due.energy = following(self.due.energy, self.settings.energy_every.unwrap_or(self.settings.every), now);
        let plan = if self.hurry { plan.and(Fields::standard()) } else { plan };
        if self.all_sleep() {
            return;
        }
        self.sample(plan, whole, advances);
        let ended = self.shared.clock.now();
        let took = ended.saturating_sub(now);
        self.hurry = took > self.settings.every;
        if self.hurry {
            // A driver that is slow is not asked without a break.
            self.due.whole = ended.saturating_add(self.settings.every);
            self.due.energy = self.due.whole;
        }
        self.health.ticks += 1;
        self.health.late_ticks += u64::from(self.hurry);
        self.health.last_tick = took;
        self.correlation.record_tick(took);
    }

    fn sample(&mut self, plan: Fields, whole: bool, advances: &mut Vec<DeviceAdvance>) {
        let (mut asked_any, mut all_out_of_reach) = (false, true);
        for device in &mut self.roster.devices {
            if matches!(device.condition, Condition::Lost | Condition::Asleep) {
                continue;
            }
            let at = self.shared.clock.now();
            let asked = device.plan(at, plan);
            if asked.is_empty() && !whole {
                continue;
            }
            let Some(sample) = self.backend.sample(&device.info.id, asked) else { break };
            let outcome = device.take_in(at, sample, asked, whole, &mut self.health);
            // That energy alone is refused tells nothing of the rest.
            if whole && !asked.is_empty() {
                asked_any = true;
                all_out_of_reach &= outcome.out_of_reach;
            }
            if outcome.lost {
                self.backend.forget(&device.info.id);
                tracing::warn!(target: "llmperf", device = device.info.id.as_str(), "a GPU was lost");
            }
            remember(&self.shared, device, at, whole, outcome.advance.as_ref());
            advances.extend(outcome.advance.map(|advance| (device.info.id.clone(), advance)));
        }
        self.take_incidents();
        if let Err(error) = self.backend.take_panic() {
            self.refused(&error);
            return;
        }
        if asked_any && all_out_of_reach {
            self.close();
            self.roster.silence();
            self.happen(
                Happening::AccessLost,
                "no GPU answers any more; in a container whose devices were taken away, it has to be created anew",
            );
            return;
        }
        if !self.roster.devices.is_empty() && self.roster.devices.iter().all(|d| d.condition == Condition::Lost) {
            self.close();
            self.happen(Happening::AccessLost, "all GPUs were lost");
            return;
        }
        self.sampled = Some(self.shared.clock.now());
        let bad = self.roster.is_bad();
        self.happen(Happening::Sampled { bad }, if bad { "some GPU does not work" } else { "" });
    }

    fn take_incidents(&mut self) {
        for incident in self.backend.incidents() {
            let device = self.roster.devices.iter_mut().find(|device| device.info.id == incident.device);
            let Some(device) = device else { continue };
            let entry = device.incidents.entry(incident.xid);
            entry
                .and_modify(|seen| {
                    seen.count += 1;
                    seen.last = incident.at;
                })
                .or_insert_with(|| Incidents::first(incident.at));
        }
    }

    /// Looks which devices sleep. If all do for a while, the driver is closed; it is opened when one wakes.
    fn all_sleep(&mut self) -> bool {
        let Some(sysfs) = self.settings.sleepers.clone() else { return false };
        for device in &mut self.roster.devices {
            let asleep = device.info.pci_address.as_deref().is_some_and(|pci| sleeper::is_asleep(&sysfs, pci));
            match (asleep, device.condition) {
                (true, Condition::Ok | Condition::NoFigures) => device.silence(Condition::Asleep),
                (false, Condition::Asleep) => device.condition = Condition::Ok,
                _ => {}
            }
        }
        let all = !self.roster.devices.is_empty()
            && self.roster.devices.iter().all(|device| device.condition == Condition::Asleep);
        self.sleepy = if all { self.sleepy.saturating_add(1) } else { 0 };
        if self.sleepy == SLEEPY_TICKS {
            self.close();
        }
        if !all
            && !self.is_open
            && let Err(error) = self.reopen()
        {
            self.refused(&error);
            return true;
        }
        all
    }

    fn reopen(&mut self) -> Result<(), BackendError> {
        self.backend.open()?;
        self.is_open = true;
        self.list(self.shared.clock.now())
    }

    fn refused(&mut self, error: &BackendError) {
        *self.health.open_errors.entry(error.fault()).or_default() += 1;
        self.close();
        self.roster.silence();
        self.happen(Happening::Refused(error.fault()), &error.to_string());
    }

    fn close(&mut self) {
        self.is_open = false;
        self.backend.close();
    }

    /// Moves the state on, and says so in one line if it is another one.
    fn happen(&mut self, happening: Happening, why: &str) {
        let now = self.shared.clock.now();
        let changed = self.machine.on(now, happening);
        if let Some(state) = changed {
            self.reason = (!why.is_empty()).then(|| why.to_owned());
            if matches!(state, SamplerState::Unavailable | SamplerState::Paused | SamplerState::Stopped) {
                self.health.calls_untracked = self.correlation.rest(now, &self.shared);
            } else {
                self.correlation.watch();
            }
        }
        let (state, backend) = (self.machine.state().as_str(), self.backend.name());
        match changed {
            Some(SamplerState::Backoff | SamplerState::Degraded) => {
                tracing::warn!(target: "llmperf", state, backend, why, "the GPU sampler changed its state");
            }
            Some(_) => tracing::info!(target: "llmperf", state, backend, why, "the GPU sampler changed its state"),
            None => {}
        }
    }

    fn publish(&self) {
        self.shared.publish(GpuSnapshot {
            state: self.machine.state(),
            reason: self.reason.clone(),
            devices: self.roster.devices.iter().map(crate::tracked::Tracked::snapshot).collect(),
            sampled: self.sampled,
            health: self.health.clone(),
            fleet: self.correlation.fleet(),
        });
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("machine", &self.machine)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Adds a sample to the device's history.
fn remember(
    shared: &Shared,
    device: &crate::tracked::Tracked,
    at: Duration,
    whole: bool,
    advance: Option<&crate::energy::Advance>,
) {
    let mut histories = shared.histories();
    let history = histories.entry(device.info.id.clone()).or_insert_with(|| History::new(HISTORY));
    if let Some(advance) = advance {
        history.rose(advance);
    }
    if whole {
        history.sampled(at, device.sample());
    }
}

/// The next time after one that was due, in steps of the period, that lies ahead.
fn following(due: Duration, period: Duration, now: Duration) -> Duration {
    let next = due.saturating_add(period);
    if next > now { next } else { now.saturating_add(period) }
}
