//! The sampler on GPUs that are scripted in memory: what a user's own tests can do, and what needs a driver's time.
#![cfg(feature = "testing")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{sync::Arc, time::Duration};

use llmperf_core::{Instrumentation, testing::Probe};
use llmperf_gpu::{
    BackendError, ByHand, Clock, Condition, DeviceId, DeviceInfo, DeviceSample, Ecc, Fault, Field, Fields, Found,
    GpuBackend, Group, Memory, Reading, Sampler, SamplerState, ScriptedGpus, Selection, Traffic, Utilization,
};

const SECOND: Duration = Duration::from_secs(1);

fn gpus() -> ScriptedGpus {
    let gpus = ScriptedGpus::new();
    gpus.plug(DeviceInfo::new("GPU-0", "Test"));
    gpus.tell("GPU-0", |sample| {
        sample.utilization = Ok(Utilization::new(0.5, Some(0.25)));
        sample.memory = Ok(Memory::new(1_000, 250));
        sample.power_watts = Ok(300.0);
        sample.energy_millijoules = Ok(0);
        sample.temperature_celsius = Ok(50.0);
    });
    gpus
}

fn sampler(gpus: &ScriptedGpus, clock: &Clock) -> Sampler {
    Sampler::new(gpus.clone()).devices(Selection::All).clock(clock)
}

fn tick(sampler: &mut ByHand, clock: &Clock) {
    clock.advance(SECOND);
    sampler.tick();
}

#[test]
fn a_tick_that_takes_too_long_is_counted_and_the_next_leaves_out_what_is_optional() {
    let (gpus, clock) = (gpus(), Clock::manual());
    gpus.tell("GPU-0", |sample| sample.pcie = Ok(Traffic::new(1, 1)));
    let mut sampler = sampler(&gpus, &clock).with(Group::Pcie).by_hand();
    let pcie = |sampler: &ByHand| -> Reading<Traffic> { sampler.snapshot().devices[0].sample.pcie };
    sampler.tick();
    assert!(pcie(&sampler).is_ok());
    gpus.slow_down(&clock, SECOND * 2);
    tick(&mut sampler, &clock);
    assert!(pcie(&sampler).is_ok(), "that tick was late, and whole");
    gpus.slow_down(&clock, Duration::ZERO);
    tick(&mut sampler, &clock);
    assert!(pcie(&sampler).is_err() && sampler.snapshot().devices[0].sample.power_watts.is_ok());
    tick(&mut sampler, &clock);
    assert!(pcie(&sampler).is_ok());
    assert_eq!(sampler.snapshot().health.late_ticks, 1);
}

#[test]
fn a_driver_is_not_asked_more_often_than_ten_times_a_second() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let sampler = sampler(&gpus, &clock).every(Duration::ZERO).energy_every(Duration::ZERO);
    let next = sampler.by_hand().tick();
    assert_eq!(next, Duration::from_millis(100));
}

#[test]
fn missed_ticks_are_not_made_up_for() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let mut sampler = sampler(&gpus, &clock).by_hand();
    sampler.tick();
    clock.advance(SECOND * 30);
    let next = sampler.tick();
    assert_eq!((sampler.snapshot().health.ticks, next), (2, SECOND * 31));
}

#[test]
fn a_slow_driver_is_left_alone_for_as_long_between_two_ticks() {
    let (gpus, clock) = (gpus(), Clock::manual());
    gpus.slow_down(&clock, SECOND * 5);
    let mut sampler = sampler(&gpus, &clock).energy_every(Duration::from_millis(100)).by_hand();
    for tick in 1..10 {
        let next = sampler.tick();
        assert_eq!(next, clock.now() + SECOND);
        assert_eq!(sampler.snapshot().health.late_ticks, tick);
        clock.advance(next - clock.now());
    }
}

#[test]
fn counters_of_the_driver_never_go_back() {
    let (gpus, clock, probe) = (gpus(), Clock::manual(), Probe::new());
    let mut sampler = sampler(&gpus, &clock)
        .with(Group::Ecc)
        .with(Group::NvLink)
        .instrumentation(probe.instrumentation().clone())
        .by_hand();
    for counter in [5, 7, 2] {
        gpus.tell("GPU-0", |sample| {
            sample.ecc = Ok(Ecc::new(counter, 0));
            sample.nvlink = Ok(Traffic::new(counter * 1_024, 0));
        });
        tick(&mut sampler, &clock);
    }
    assert_eq!(probe.count("hw.errors"), 9.0);
    assert_eq!(probe.count("llmperf.gpu.nvlink.io"), 9.0 * 1_024.0);
}

#[test]
fn a_value_that_cannot_be_is_withheld_and_counted() {
    let (gpus, clock) = (gpus(), Clock::manual());
    gpus.tell("GPU-0", |sample| sample.utilization = Ok(Utilization::new(7.0, None)));
    let mut sampler = sampler(&gpus, &clock).by_hand();
    tick(&mut sampler, &clock);
    let snapshot = sampler.snapshot();
    assert_eq!(snapshot.devices[0].sample.utilization, Err(Fault::OutOfRange.into()));
    assert_eq!(snapshot.health.read_errors.get(&(Field::Utilization, Fault::OutOfRange)), Some(&1));
    assert_eq!((snapshot.state, snapshot.devices[0].condition), (SamplerState::Running, Condition::Ok));
}

#[test]
fn devices_that_were_not_chosen_are_not_asked() {
    let (gpus, clock) = (gpus(), Clock::manual());
    gpus.plug(device("GPU-1"));
    let only = Selection::Only(vec!["GPU-0".into()]);
    let mut sampler = sampler(&gpus, &clock).devices(only).by_hand();
    sampler.tick();
    assert_eq!(sampler.snapshot().devices.len(), 1);
    assert_eq!(gpus.fields_asked(), Fields::standard().iter().count() as u64);
}

fn device(id: &str) -> DeviceInfo {
    DeviceInfo::new(id, "Test")
}

#[test]
fn an_observer_is_one_push_and_a_call_is_settled_by_the_sampler() {
    let (gpus, clock) = (gpus(), Clock::manual());
    let sampler = sampler(&gpus, &clock).local(llmperf_gpu::LocalModel::new("llama"));
    let instrumentation = Instrumentation::builder().observer(sampler.observer()).build();
    let mut sampler = sampler.instrumentation(instrumentation.clone()).by_hand();
    sampler.tick();
    // Begun and ended between two samples.
    drop(instrumentation.chat("vllm", "llama").start());
    gpus.tell("GPU-0", |sample| sample.energy_millijoules = Ok(300_000));
    tick(&mut sampler, &clock);
    assert_eq!(sampler.window(Duration::ZERO, SECOND).joules, Some(300.0));
    assert!(sampler.snapshot().health.calls_untracked == 0);
}

#[test]
fn with_no_library_the_application_is_as_it_was() {
    let gpus = ScriptedGpus::new();
    gpus.refuse(Some(Fault::LibraryNotFound));
    let clock = Clock::manual();
    let sampler = sampler(&gpus, &clock).local(llmperf_gpu::LocalModel::new("llama"));
    let probe = Probe::with(|builder| builder.observer(sampler.observer()));
    let mut sampler = sampler.by_hand();
    let mut ticks = 0;
    while clock.now() < SECOND * 3_600 {
        let next = sampler.tick();
        ticks += 1;
        clock.advance(next - clock.now());
    }
    assert!(ticks <= 60 && gpus.times_opened() <= 60, "{ticks} ticks, {} looks", gpus.times_opened());
    let mut call = probe.chat("vllm", "llama").start();
    call.on_chunk(llmperf_core::Output::text("unchanged"));
    let timing = call.finish();
    assert_eq!(timing.outputs, 1);
    gpus.refuse(None);
    gpus.plug(device("GPU-0"));
    gpus.tell("GPU-0", |sample| sample.power_watts = Ok(1.0));
    sampler.tick();
    assert_eq!(sampler.snapshot().state, SamplerState::Running, "it heals when the library appears");
}

#[test]
fn a_thread_of_its_own_samples_and_stops() {
    let gpus = gpus();
    let sampling = Sampler::new(gpus.clone()).devices(Selection::All).every(Duration::from_millis(100)).start();
    while sampling.snapshot().health.ticks < 2 {
        std::thread::yield_now();
    }
    assert!(gpus.is_open());
    assert!(sampling.stop());
    assert!(!gpus.is_open());
}

/// A backend that panics when it is asked for figures.
struct Panics(ScriptedGpus);

impl GpuBackend for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    fn open(&mut self) -> Result<(), BackendError> {
        self.0.open()
    }

    fn devices(&mut self) -> Result<Vec<Found>, BackendError> {
        self.0.devices()
    }

    fn sample(&mut self, _: &DeviceId, plan: Fields) -> DeviceSample {
        self.0.sample(&"GPU-0".into(), plan);
        panic!("a backend of the user's")
    }

    fn forget(&mut self, device: &DeviceId) {
        self.0.forget(device);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

#[test]
fn a_backend_that_panics_does_not_end_the_thread() {
    let gpus = gpus();
    let sampling = Sampler::new(Panics(gpus.clone())).devices(Selection::All).start();
    while gpus.fields_asked() == 0 {
        std::thread::yield_now();
    }
    assert!(sampling.stop(), "it still obeys");
    assert!(!gpus.is_open(), "and closes what it had opened");
}

#[test]
fn what_is_public_can_be_sent_and_shared() {
    fn both<T: Send + Sync>() {}
    both::<llmperf_gpu::GpuSnapshot>();
    both::<Arc<dyn llmperf_core::Observer>>();
    fn sent<T: Send>() {}
    sent::<llmperf_gpu::Sampling>();
    sent::<Sampler>();
}
