//! Backends that misbehave: whatever they do, the application goes on, the state says so, and the sampler heals.
#![cfg(feature = "testing")]
#![allow(clippy::panic, reason = "tests")]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use llmperf_core::{Instrumentation, testing::Probe};
use llmperf_gpu::{
    BackendError, ByHand, Clock, Condition, DeviceId, DeviceInfo, DeviceSample, EnergySource, Fault, Fields, Found,
    GpuBackend, Group, Incident, LocalModel, Memory, Sampler, SamplerState, ScriptedGpus, Selection, Utilization,
};

const SECOND: Duration = Duration::from_secs(1);

fn gpus() -> ScriptedGpus {
    let gpus = ScriptedGpus::new();
    plug(&gpus, "GPU-0");
    gpus
}

fn plug(gpus: &ScriptedGpus, id: &str) {
    gpus.plug(DeviceInfo::new(id, "Test"));
    gpus.tell(id, |sample| {
        sample.utilization = Ok(Utilization::new(0.5, None));
        sample.memory = Ok(Memory::new(1_000, 250));
        sample.power_watts = Ok(300.0);
        sample.energy_millijoules = Ok(0);
    });
}

fn sampler(gpus: &ScriptedGpus, clock: &Clock) -> Sampler {
    Sampler::new(gpus.clone()).devices(Selection::All).clock(clock)
}

fn tick(sampler: &mut ByHand, clock: &Clock) {
    clock.advance(SECOND);
    sampler.tick();
}

/// A backend that panics in the method of this name for as long as there is one.
#[derive(Clone)]
struct Panics {
    gpus: ScriptedGpus,
    within: Arc<Mutex<Option<&'static str>>>,
    panics: Arc<AtomicU64>,
}

impl Panics {
    fn new(within: &'static str) -> Self {
        Self { gpus: gpus(), within: Arc::new(Mutex::new(Some(within))), panics: Arc::default() }
    }

    fn heal(&self) {
        *self.within.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    fn enter(&self, method: &str) {
        let within = *self.within.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if within == Some(method) {
            self.panics.fetch_add(1, Ordering::AcqRel);
            panic!("a backend of the user's, in {method}")
        }
    }
}

impl GpuBackend for Panics {
    fn name(&self) -> &'static str {
        self.enter("name");
        "panics"
    }

    fn open(&mut self) -> Result<(), BackendError> {
        self.enter("open");
        self.gpus.open()
    }

    fn devices(&mut self) -> Result<Vec<Found>, BackendError> {
        self.enter("devices");
        self.gpus.devices()
    }

    fn sample(&mut self, device: &DeviceId, plan: Fields) -> DeviceSample {
        self.enter("sample");
        self.gpus.sample(device, plan)
    }

    fn incidents(&mut self) -> Vec<Incident> {
        self.enter("incidents");
        self.gpus.incidents()
    }

    fn watch_incidents(&mut self) {
        self.enter("watch_incidents");
    }

    fn forget(&mut self, device: &DeviceId) {
        self.enter("forget");
        self.gpus.forget(device);
    }

    fn close(&mut self) {
        self.enter("close");
        self.gpus.close();
    }
}

const METHODS: [&str; 8] = ["name", "open", "devices", "sample", "incidents", "watch_incidents", "forget", "close"];

#[test]
fn a_panic_in_any_method_is_a_state_and_not_the_end() {
    for method in METHODS {
        let (backend, clock) = (Panics::new(method), Clock::manual());
        let mut sampler =
            Sampler::new(backend.clone()).devices(Selection::All).with(Group::Incidents).clock(&clock).by_hand();
        for second in 0..600 {
            // The device is lost and comes back, so that it is forgotten and all is closed.
            backend.gpus.silence("GPU-0", (second % 3 == 2).then_some(Fault::GpuLost));
            tick(&mut sampler, &clock);
        }
        let panics = backend.panics.load(Ordering::Acquire);
        assert!((1..=220).contains(&panics), "{panics} panics in {method}: none, or it was asked on and on");
        backend.heal();
        backend.gpus.silence("GPU-0", None);
        for _ in 0..301 {
            tick(&mut sampler, &clock);
        }
        assert_eq!(sampler.snapshot().state, SamplerState::Running, "{method}");
        assert!(sampler.snapshot().devices[0].sample.power_watts.is_ok(), "{method}");
    }
}

#[test]
fn a_panic_says_what_happened() {
    for method in ["open", "devices", "sample"] {
        let (backend, clock) = (Panics::new(method), Clock::manual());
        let mut sampler = Sampler::new(backend.clone()).devices(Selection::All).clock(&clock).by_hand();
        tick(&mut sampler, &clock);
        let snapshot = sampler.snapshot();
        assert_eq!(snapshot.state, SamplerState::Backoff, "{method}");
        assert_eq!(snapshot.reason.as_deref(), Some("panic"), "{method}");
        assert!(!backend.gpus.is_open(), "{method}: what was opened is closed before it is opened anew");
    }
}

#[test]
fn a_thread_whose_backend_panics_still_obeys() {
    for method in METHODS {
        let backend = Panics::new(method);
        let sampling = Sampler::new(backend.clone())
            .devices(Selection::All)
            .with(Group::Incidents)
            .every(Duration::from_millis(100))
            .start();
        sampling.pause();
        while sampling.snapshot().state != SamplerState::Paused {
            std::thread::yield_now();
        }
        backend.heal();
        sampling.resume();
        while sampling.snapshot().state != SamplerState::Running {
            std::thread::yield_now();
        }
        assert!(sampling.stop(), "{method}");
        assert!(!backend.gpus.is_open(), "{method}");
    }
}

#[test]
fn energy_does_not_go_back_over_a_pause_or_an_absence() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let energy = |gpus: &ScriptedGpus, joules: u64| {
        gpus.tell("GPU-0", |sample| sample.energy_millijoules = Ok(joules * 1_000));
    };
    let told = |sampler: &ByHand| {
        let snapshot = sampler.snapshot();
        snapshot.devices.iter().find(|device| device.info.id.as_str() == "GPU-0").map(|device| device.energy.clone())
    };
    plug(&gpus, "GPU-1");
    let mut sampler = sampler(&gpus, &clock).by_hand();
    for joules in [1_000, 1_300, 1_600] {
        energy(&gpus, joules);
        tick(&mut sampler, &clock);
    }
    assert_eq!(told(&sampler), Some(vec![(EnergySource::Counter, 600.0)]));

    sampler.pause();
    assert_eq!(told(&sampler), None);
    sampler.resume();
    tick(&mut sampler, &clock);
    assert_eq!(told(&sampler), Some(vec![(EnergySource::Counter, 600.0)]), "after a pause");

    gpus.unplug("GPU-0");
    (0..61).for_each(|_| tick(&mut sampler, &clock));
    assert_eq!(told(&sampler), None, "it is not there");
    plug(&gpus, "GPU-0");
    energy(&gpus, 100);
    (0..61).for_each(|_| tick(&mut sampler, &clock));
    energy(&gpus, 350);
    tick(&mut sampler, &clock);
    assert_eq!(told(&sampler), Some(vec![(EnergySource::Counter, 850.0)]), "after it was away and its counter reset");
}

#[test]
fn devices_that_change_at_each_tick_leave_nothing_behind() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let mut sampler = sampler(&gpus, &clock).every(Duration::from_secs(60)).by_hand();
    for round in 0..2_000 {
        gpus.unplug(&format!("GPU-new-{}", round - 1));
        plug(&gpus, &format!("GPU-new-{round}"));
        clock.advance(Duration::from_secs(60));
        sampler.tick();
        assert_eq!(sampler.snapshot().devices.len(), 2);
    }
}

#[test]
fn a_driver_that_only_times_out_is_not_running() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let mut sampler = sampler(&gpus, &clock).by_hand();
    tick(&mut sampler, &clock);
    gpus.silence("GPU-0", Some(Fault::Timeout));
    tick(&mut sampler, &clock);
    assert_eq!(sampler.snapshot().state, SamplerState::Backoff);
    assert_ne!(sampler.snapshot().devices[0].condition, Condition::Ok);
}

#[test]
fn energy_that_may_not_be_read_is_no_reason_to_give_up_the_rest() {
    let (gpus, clock) = (gpus(), Clock::manual());
    gpus.tell("GPU-0", |sample| {
        sample.power_watts = Err(Fault::NoPermission.into());
        sample.energy_millijoules = Err(Fault::NoPermission.into());
    });
    let mut sampler = sampler(&gpus, &clock).energy_every(Duration::from_millis(100)).by_hand();
    for _ in 0..50 {
        clock.advance(Duration::from_millis(100));
        sampler.tick();
        assert_eq!(sampler.snapshot().state, SamplerState::Running);
    }
    assert_eq!(gpus.times_opened(), 1);
}

#[test]
fn the_longest_of_times_are_times_too() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let longest = Duration::MAX;
    let mut sampler = sampler(&gpus, &clock).every(longest).energy_every(longest).stop_limit(longest).by_hand();
    sampler.tick();
    tick(&mut sampler, &clock);
    assert_eq!(sampler.snapshot().health.ticks, 1);
}

#[test]
fn codes_that_are_not_known_are_counted_together() {
    let (gpus, clock, probe) = (gpus(), Clock::manual(), Probe::new());
    let mut sampler = sampler(&gpus, &clock).instrumentation(probe.instrumentation().clone()).by_hand();
    for code in [901, 902, 902, 903] {
        gpus.tell("GPU-0", |sample| sample.utilization = Err(Fault::Other(code).into()));
        tick(&mut sampler, &clock);
    }
    let points = probe.points("llmperf.gpu.sampler.read_errors");
    let other: Vec<f64> =
        points.iter().filter(|p| p.attribute("error.type") == "_OTHER").map(|point| point.sum).collect();
    assert_eq!(other, [4.0]);
}

#[test]
fn a_limit_that_cannot_be_is_none() {
    for limit in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
        let (gpus, clock, probe) = (ScriptedGpus::new(), Clock::manual(), Probe::new());
        let mut info = DeviceInfo::new("GPU-0", "Test");
        info.power_limit_watts = Some(limit);
        gpus.plug(info);
        gpus.tell("GPU-0", |sample| sample.power_watts = Ok(300.0));
        let mut sampler = sampler(&gpus, &clock).instrumentation(probe.instrumentation().clone()).by_hand();
        tick(&mut sampler, &clock);
        assert_eq!(sampler.snapshot().devices[0].info.power_limit_watts, None, "{limit}");
        assert_eq!(sampler.snapshot().devices[0].sample.power_watts, Ok(300.0), "{limit}");
    }
}

#[test]
fn values_that_mean_nothing_are_not_told() {
    for (used, total) in [(0, u64::MAX), (u64::MAX, u64::MAX), (2, 1)] {
        let (gpus, clock) = (gpus(), Clock::manual());
        gpus.tell("GPU-0", |sample| sample.memory = Ok(Memory::new(total, used)));
        let mut sampler = sampler(&gpus, &clock).by_hand();
        tick(&mut sampler, &clock);
        assert_eq!(sampler.snapshot().devices[0].sample.memory, Err(Fault::OutOfRange.into()), "{used} of {total}");
    }
    for watts in [f64::NAN, f64::INFINITY, -1.0, 1e9] {
        let (gpus, clock) = (gpus(), Clock::manual());
        gpus.tell("GPU-0", |sample| sample.power_watts = Ok(watts));
        let mut sampler = sampler(&gpus, &clock).by_hand();
        tick(&mut sampler, &clock);
        assert_eq!(sampler.snapshot().devices[0].sample.power_watts, Err(Fault::OutOfRange.into()), "{watts}");
    }
}

/// A sampler whose model runs here, and what its calls are made with.
fn with_calls(gpus: &ScriptedGpus, clock: &Clock) -> (ByHand, Probe) {
    let sampler = sampler(gpus, clock).local(LocalModel::new("llama"));
    let probe = Probe::with(|builder| builder.observer(sampler.observer()));
    (sampler.instrumentation(probe.instrumentation().clone()).by_hand(), probe)
}

#[test]
fn calls_are_not_kept_for_a_sampler_that_does_not_look_at_them() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let sampler = sampler(&gpus, &clock).local(LocalModel::new("llama"));
    let instrumentation = Instrumentation::builder().observer(sampler.observer()).build();
    let mut sampler = sampler.by_hand();
    let kept = || {
        let call = || drop(instrumentation.chat("vllm", "llama").start());
        (0..100).for_each(|_| call());
        allocation_counter::measure(|| (0..5_000).for_each(|_| call())).bytes_current
    };
    tick(&mut sampler, &clock);
    assert!(kept() > 100_000, "they wait for the next sample");
    tick(&mut sampler, &clock);
    sampler.pause();
    assert!(kept() < 50_000, "paused");
    sampler.resume();
    gpus.refuse(Some(Fault::LibraryNotFound));
    tick(&mut sampler, &clock);
    assert!(kept() < 50_000, "without a driver");
}

#[test]
fn a_call_that_ended_before_a_pause_is_told_and_one_in_flight_is_forgotten() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let (mut sampler, probe) = with_calls(&gpus, &clock);
    tick(&mut sampler, &clock);
    let (ended, in_flight) = (probe.chat("vllm", "llama").start(), probe.chat("vllm", "llama").start());
    gpus.tell("GPU-0", |sample| sample.energy_millijoules = Ok(300_000));
    tick(&mut sampler, &clock);
    clock.advance(SECOND / 2);
    drop(ended);
    sampler.pause();
    let told = probe.points("llmperf.gpu.call.energy");
    assert_eq!(told.iter().map(|point| point.sum).collect::<Vec<_>>(), [150.0]);
    assert_eq!(told[0].attribute("llmperf.gpu.quality"), "partial_gpus", "its end is not known");
    assert_eq!(sampler.snapshot().health.calls_untracked, 1);
    sampler.resume();
    drop(in_flight);
    tick(&mut sampler, &clock);
    drop(probe.chat("vllm", "llama").start());
    gpus.tell("GPU-0", |sample| sample.energy_millijoules = Ok(600_000));
    tick(&mut sampler, &clock);
    assert_eq!(probe.count("llmperf.gpu.call.energy"), 2.0, "calls are watched again");
}

#[test]
fn a_call_longer_than_the_history_has_all_of_its_energy() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let (mut sampler, probe) = with_calls(&gpus, &clock);
    tick(&mut sampler, &clock);
    let call = probe.chat("vllm", "llama").start();
    for second in 1..=2_000 {
        gpus.tell("GPU-0", |sample| sample.energy_millijoules = Ok(second * 100_000));
        tick(&mut sampler, &clock);
    }
    drop(call);
    tick(&mut sampler, &clock);
    let told = probe.points("llmperf.gpu.call.energy");
    assert_eq!(told[0].attribute("llmperf.gpu.quality"), "ok");
    assert!((told[0].sum - 200_000.0).abs() < 1e-3, "{} J", told[0].sum);
}

#[test]
fn thousands_of_calls_share_what_was_used_and_no_more() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let (mut sampler, probe) = with_calls(&gpus, &clock);
    tick(&mut sampler, &clock);
    let mut calls = Vec::new();
    for place in 0..20_000_u32 {
        calls.push(probe.chat("vllm", "llama").start());
        if place % 20 == 0 {
            clock.advance(Duration::from_millis(1));
        }
    }
    gpus.tell("GPU-0", |sample| sample.energy_millijoules = Ok(300_000));
    sampler.tick();
    let untracked = sampler.snapshot().health.calls_untracked;
    assert_eq!(untracked, 20_000 - 16_384);
    for (place, call) in calls.into_iter().enumerate() {
        drop(call);
        if place % 20 == 0 {
            clock.advance(Duration::from_millis(1));
        }
    }
    gpus.tell("GPU-0", |sample| sample.energy_millijoules = Ok(600_000));
    tick(&mut sampler, &clock);
    let told = probe.points("llmperf.gpu.call.energy");
    let sum: f64 = told.iter().map(|point| point.sum).sum();
    assert!(sum > 0.0 && sum <= 600.0 + 1e-6, "{sum} J");
    assert_eq!(told.iter().map(|point| point.count).sum::<u64>(), 16_384);
}

#[test]
fn a_second_sampler_does_not_double_what_the_first_tells() {
    let (gpus, clock, probe) = (gpus(), Clock::manual(), Probe::new());
    let make = || sampler(&gpus, &clock).instrumentation(probe.instrumentation().clone()).by_hand();
    let (mut one, mut other) = (make(), make());
    for joules in [0, 100] {
        gpus.tell("GPU-0", |sample| sample.energy_millijoules = Ok(joules * 1_000));
        tick(&mut one, &clock);
        other.tick();
    }
    assert_eq!((probe.count("hw.energy"), probe.count("hw.power")), (100.0, 300.0));
}

#[test]
fn a_counter_that_is_refused_later_is_not_made_up_for_by_power() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let mut sampler = sampler(&gpus, &clock).by_hand();
    for joules in [0, 100] {
        gpus.tell("GPU-0", |sample| sample.energy_millijoules = Ok(joules * 1_000));
        tick(&mut sampler, &clock);
    }
    gpus.tell("GPU-0", |sample| sample.energy_millijoules = Err(Fault::NotSupported.into()));
    (0..10).for_each(|_| tick(&mut sampler, &clock));
    assert_eq!(sampler.snapshot().devices[0].energy, [(EnergySource::Counter, 100.0)]);
}

/// A driver that lists each of its devices twice.
struct Twice(ScriptedGpus);

impl GpuBackend for Twice {
    fn name(&self) -> &'static str {
        "twice"
    }

    fn open(&mut self) -> Result<(), BackendError> {
        self.0.open()
    }

    fn devices(&mut self) -> Result<Vec<Found>, BackendError> {
        let found = self.0.devices()?;
        Ok([found.clone(), found].concat())
    }

    fn sample(&mut self, device: &DeviceId, plan: Fields) -> DeviceSample {
        self.0.sample(device, plan)
    }

    fn forget(&mut self, device: &DeviceId) {
        self.0.forget(device);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

#[test]
fn a_device_that_is_listed_twice_is_one() {
    let clock = Clock::manual();
    let mut sampler = Sampler::new(Twice(gpus())).devices(Selection::All).clock(&clock).by_hand();
    tick(&mut sampler, &clock);
    assert_eq!(sampler.snapshot().devices.len(), 1);
}
