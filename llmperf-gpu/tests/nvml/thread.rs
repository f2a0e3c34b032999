//! The thread: it stops when it is told to, whatever the driver does.

use std::{sync::Arc, thread, time::Duration};

use llmperf_fake_nvml::FakeNvml;
use llmperf_gpu::{NvmlGpus, Sampler, SamplerState, Sampling, Selection};

use crate::bench::{ONE, folder};

/// Waits until something is so; a test that waits for ever is one that fails.
fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        thread::yield_now();
    }
}

fn start(fake: &FakeNvml) -> Sampling {
    let sampler = Sampler::new(NvmlGpus::new().library(fake.path())).devices(Selection::All);
    sampler.every(Duration::from_millis(100)).start()
}

#[test]
fn stopping_returns_while_a_call_of_the_driver_blocks() {
    let fake = Arc::new(FakeNvml::install(&folder("blocks")).unwrap());
    fake.tell(ONE).unwrap();
    fake.tell("block nvmlDeviceGetTotalEnergyConsumption").unwrap();
    let backend = NvmlGpus::new().library(fake.path());
    let sampling = Sampler::new(backend).devices(Selection::All).stop_limit(Duration::from_millis(50)).start();
    until(|| fake.calls("nvmlDeviceGetTotalEnergyConsumption").unwrap() > 0);
    assert_eq!(sampling.snapshot().state, SamplerState::Initialising, "asking the sampler waits for no driver");
    assert!(!sampling.stop(), "it says that the driver was not closed");
    // The thread ends once the driver lets it go.
    fake.tell("release").unwrap();
    until(|| fake.calls("nvmlShutdown").unwrap() == 1);
}

#[test]
fn stopping_closes_the_driver() {
    let fake = FakeNvml::install(&folder("stops")).unwrap();
    fake.tell(ONE).unwrap();
    let sampling = start(&fake);
    until(|| sampling.snapshot().state == SamplerState::Running);
    assert!(sampling.stop());
    assert_eq!(fake.calls("nvmlShutdown").unwrap(), 1);
    let sampling = start(&fake);
    until(|| sampling.snapshot().state == SamplerState::Running);
    drop(sampling);
    assert_eq!(fake.calls("nvmlShutdown").unwrap(), 2, "so does dropping the guard");
}

#[test]
fn a_pause_lets_the_driver_go_until_it_is_lifted() {
    let fake = FakeNvml::install(&folder("pauses")).unwrap();
    fake.tell(ONE).unwrap();
    let sampling = start(&fake);
    until(|| sampling.snapshot().state == SamplerState::Running);
    sampling.pause();
    until(|| fake.calls("nvmlShutdown").unwrap() == 1);
    until(|| sampling.snapshot().state == SamplerState::Paused);
    sampling.resume();
    until(|| sampling.snapshot().state == SamplerState::Running);
    assert_eq!(fake.calls("nvmlInit_v2").unwrap(), 2);
}

#[test]
fn energy_between_two_moments_is_told_once_the_next_sample_came() {
    let fake = FakeNvml::install(&folder("window")).unwrap();
    fake.tell(&(ONE.to_owned() + "\nintegrate 0")).unwrap();
    let sampling = start(&fake);
    until(|| sampling.snapshot().devices.first().is_some_and(|device| !device.energy.is_empty()));
    let from = sampling.now();
    until(|| sampling.now() > from + Duration::from_millis(300));
    let to = sampling.now();
    until(|| sampling.window(from, to).joules.is_some());
    let window = sampling.window(from, to);
    let watts = window.joules.unwrap() / (to - from).as_secs_f64();
    assert!(watts > 0.0 && watts < 2.0 * 700.0, "{watts} W of a device that draws 412.75 W");
    assert_eq!((window.devices, window.memory), (1, Some(21_474_836_480)));
}
