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

use llmperf_gpu::{
    BackendError, ByHand, Clock, DeviceId, DeviceInfo, DeviceSample, Fault, Fields, Found, GpuBackend, Group, Incident,
    Memory, Sampler, SamplerState, ScriptedGpus, Selection, Utilization,
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
