//! A hundred thousand ticks of virtual time with random faults: nothing grows, nothing panics, the state is the script's.
#![cfg(feature = "testing")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{collections::BTreeMap, time::Duration};

use allocation_counter::measure;
use llmperf_core::{
    Instrumentation, Recorder,
    stats::{Figure, SeriesKind},
};
use llmperf_gpu::{
    ByHand, Clock, DeviceId, DeviceInfo, Fault, Field, LocalModel, Memory, Sampler, SamplerState as State,
    ScriptedGpus, Selection, Utilization,
};

const TICKS: u32 = 100_000;
const WARM: u32 = 1_000;
const IDS: [&str; 3] = ["GPU-0", "GPU-1", "GPU-2"];
const LISTED_EVERY: Duration = Duration::from_secs(60);
const FAULTS: [Fault; 8] = [
    Fault::Unknown,
    Fault::Timeout,
    Fault::NoPermission,
    Fault::NotSupported,
    Fault::NoData,
    Fault::Interrupt,
    Fault::InvalidState,
    Fault::InsufficientMemory,
];

/// A small generator of our own, so that a run can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What the script has going on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Situation {
    Healthy,
    /// Some fields of some device fail or tell nonsense.
    Fields,
    /// One device fell off the bus.
    Lost(usize),
    /// One device was taken away.
    Unplugged(usize),
    /// No device answers, and the driver refuses to be opened anew with this, if with anything.
    NoAccess(Option<Fault>),
    Paused,
}

/// The script's own idea of the sampler: when it looks at the list, and what it knows of each device.
struct Soak {
    gpus: ScriptedGpus,
    clock: Clock,
    sampler: ByHand,
    calls: Instrumentation,
    flying: Vec<Recorder>,
    boarding: bool,
    dice: Dice,
    situation: Situation,
    left: u64,
    open: bool,
    paused: bool,
    listed_at: Duration,
    lost: [bool; 3],
    counter: u64,
    energy: BTreeMap<DeviceId, f64>,
}

impl Soak {
    fn new() -> Self {
        let (gpus, clock) = (ScriptedGpus::new(), Clock::manual());
        let sampler = Sampler::new(gpus.clone()).devices(Selection::All).clock(&clock).local(LocalModel::new("llama"));
        // Its own statistics cut time by a clock that stands still: what they hold is not what is measured here.
        let clock_of_calls = llmperf_core::testing::ManualClock::new();
        let calls = Instrumentation::builder().clock(&clock_of_calls).observer(sampler.observer()).build();
        let sampler = sampler.instrumentation(calls.clone()).by_hand();
        let soak = Self {
            gpus,
            clock,
            sampler,
            calls,
            flying: Vec::new(),
            boarding: true,
            dice: Dice(7),
            situation: Situation::Healthy,
            left: 5,
            open: false,
            paused: false,
            listed_at: Duration::ZERO,
            lost: [false; 3],
            counter: 0,
            energy: BTreeMap::new(),
        };
        (0..3).for_each(|index| soak.plug(index));
        soak.heal();
        soak
    }

    fn plug(&self, index: usize) {
        let mut info = DeviceInfo::new(IDS[index], "Test");
        info.index = u32::try_from(index).unwrap();
        info.power_limit_watts = Some(700.0);
        self.gpus.plug(info);
    }

    fn heal(&self) {
        for id in IDS {
            self.gpus.silence(id, None);
            self.gpus.tell(id, |sample| {
                sample.utilization = Ok(Utilization::new(0.5, Some(0.5)));
                sample.memory = Ok(Memory::new(1_000, 500));
                sample.power_watts = Ok(300.0);
                sample.energy_millijoules = Ok(self.counter);
                sample.temperature_celsius = Ok(60.0);
                sample.sm_clock_hertz = Ok(1_000_000_000);
                sample.memory_clock_hertz = Ok(1_000_000_000);
                sample.throttle = Ok(llmperf_gpu::Throttle::default());
            });
        }
        self.gpus.refuse(None);
    }

    /// Ends what is going on, and begins something else.
    fn turn(&mut self, next: Situation) {
        if let Situation::Unplugged(index) = self.situation {
            self.plug(index);
        }
        if self.situation == Situation::Paused {
            self.sampler.resume();
            self.paused = false;
        }
        self.heal();
        self.situation = next;
        match next {
            Situation::Healthy => {}
            Situation::Fields => {
                for _ in 0..3 {
                    let (id, field) = (IDS[self.roll(3)], Field::ALL[self.roll(8)]);
                    let fault = FAULTS[self.roll(FAULTS.len())];
                    self.gpus.tell(id, |sample| sample.withhold(field, fault.into()));
                }
                let id = IDS[self.roll(3)];
                self.gpus.tell(id, |sample| sample.utilization = Ok(Utilization::new(9.0, None)));
            }
            Situation::Lost(index) => self.gpus.silence(IDS[index], Some(Fault::GpuLost)),
            Situation::Unplugged(index) => self.gpus.unplug(IDS[index]),
            Situation::NoAccess(refusal) => {
                IDS.iter().for_each(|id| self.gpus.silence(id, Some(Fault::Unknown)));
                self.gpus.refuse(refusal);
            }
            Situation::Paused => {
                self.sampler.pause();
                (self.paused, self.open, self.lost) = (true, false, [false; 3]);
            }
        }
    }

    fn roll(&mut self, sides: usize) -> usize {
        usize::try_from(self.dice.roll(sides as u64)).unwrap()
    }

    fn something(&mut self) -> Situation {
        match self.roll(7) {
            0 | 1 => Situation::Healthy,
            2 => Situation::Fields,
            3 => Situation::Lost(self.roll(3)),
            4 => Situation::Unplugged(self.roll(3)),
            5 => {
                let refusals = [None, Some(Fault::LibraryNotFound), Some(Fault::VersionMismatch), Some(Fault::Unknown)];
                Situation::NoAccess(refusals[self.roll(4)])
            }
            _ => Situation::Paused,
        }
    }

    /// The state that the sampler must tell after a tick now.
    fn expected(&mut self, now: Duration) -> State {
        if self.paused {
            return State::Paused;
        }
        if let Situation::NoAccess(refusal) = self.situation {
            let was_open = std::mem::replace(&mut self.open, false);
            return match refusal {
                // An open driver is first found not to answer.
                Some(Fault::LibraryNotFound) if !was_open => State::Unavailable,
                _ => State::Backoff,
            };
        }
        if !self.open || now >= self.listed_at + LISTED_EVERY {
            (self.open, self.listed_at) = (true, now);
            self.lost = [false; 3];
        }
        match self.situation {
            // A device that is not known yet is missed when the list is looked at.
            Situation::Lost(index) => self.lost[index] |= now == self.listed_at || self.knows(index),
            // Once the list was looked at it is gone, and no device that does not work.
            Situation::Unplugged(index) => {
                let missed = self.lost[index] || self.knows(index);
                self.lost[index] = now != self.listed_at && missed;
            }
            _ => {}
        }
        let listed = now == self.listed_at;
        let there = |index| if listed { self.situation != Situation::Unplugged(index) } else { self.knows(index) };
        if (0..3).all(|index| self.lost[index] || !there(index)) {
            // None is left that works: the driver is opened anew.
            self.open = false;
            return State::Backoff;
        }
        if self.lost.contains(&true) { State::Degraded } else { State::Running }
    }

    fn knows(&self, index: usize) -> bool {
        self.sampler.snapshot().devices.iter().any(|device| device.info.id.as_str() == IDS[index])
    }

    fn tick(&mut self, healthy: bool) {
        if self.left == 0 || healthy && self.situation != Situation::Healthy {
            let next = if healthy { Situation::Healthy } else { self.something() };
            self.turn(next);
            self.left = 1 + self.dice.roll(90);
        }
        self.left -= 1;
        self.live();
        let now = self.clock.now();
        let expected = self.expected(now);
        let next = self.sampler.tick();
        let snapshot = self.sampler.snapshot();
        assert_eq!(snapshot.state, expected, "at {now:?} in {:?}: {:?}", self.situation, snapshot.reason);
        self.energy.retain(|id, _| snapshot.devices.iter().any(|device| device.info.id == *id));
        for device in &snapshot.devices {
            let joules: f64 = device.energy.iter().map(|(_, joules)| joules).sum();
            let before = self.energy.insert(device.info.id.clone(), joules).unwrap_or(0.0);
            assert!(joules >= before, "energy went back from {before} to {joules}");
        }
        // While it is paused nothing is due.
        let next = if next == Duration::MAX { now + Duration::from_secs(1) } else { next };
        self.clock.advance(next.max(now + Duration::from_millis(1)) - now);
    }

    /// The devices use energy, their counters now and then go back, stand still or tell nonsense; calls come and go.
    fn live(&mut self) {
        let told = match self.dice.roll(50) {
            0 => {
                self.counter = self.dice.roll(1_000);
                Some(self.counter)
            }
            1 => None,
            2 => Some(u64::MAX - self.dice.roll(9)),
            _ => {
                self.counter += self.dice.roll(500_000);
                Some(self.counter)
            }
        };
        if let Some(told) = told {
            for id in IDS {
                self.gpus.tell(id, |sample| {
                    if sample.energy_millijoules.is_ok() {
                        sample.energy_millijoules = Ok(told);
                    }
                });
            }
        }
        if self.boarding && self.flying.len() < 8 && self.dice.roll(2) == 0 {
            self.flying.push(self.calls.chat("vllm", "llama").start());
        }
        if self.dice.roll(3) == 0 && !self.flying.is_empty() {
            let which = self.roll(self.flying.len());
            let mut call = self.flying.swap_remove(which);
            call.on_chunk(llmperf_core::Output::usage(5, 10));
            drop(call.finish());
        }
    }

    /// All calls end, and are settled or given up.
    fn land(&mut self) {
        self.flying.clear();
        self.boarding = false;
        (0..20).for_each(|_| self.tick(true));
        self.boarding = true;
    }

    /// Every fault of every field once, so that their counters are there.
    fn see_everything(&mut self) {
        for field in Field::ALL.iter().take(8) {
            for fault in FAULTS.into_iter().chain([Fault::OutOfRange]) {
                self.heal();
                self.gpus.tell(IDS[0], |sample| sample.withhold(*field, fault.into()));
                let now = self.clock.now();
                self.expected(now);
                self.sampler.tick();
                self.clock.advance(Duration::from_secs(1));
            }
        }
        self.heal();
    }
}

#[test]
fn a_hundred_thousand_ticks_with_random_faults_neither_grow_nor_lie() {
    let mut soak = Soak::new();
    soak.see_everything();
    // Histograms take memory by their largest value; this is the largest that they keep.
    let largest = [(Figure::Energy, 3.6e6), (Figure::TokenEnergy, 3.6e3)];
    soak.calls.record_figures(SeriesKind::Call, "vllm", "llama", &largest);
    (0..WARM).for_each(|tick| soak.tick(tick > WARM / 2));
    soak.land();
    let (mut done, mut grown) = (WARM, Vec::new());
    while done < TICKS {
        let stretch = 9_900.min(TICKS - done);
        // Measured from one healthy moment to another, at which all rings are full and no call flies.
        let held = measure(|| {
            (0..stretch).for_each(|tick| soak.tick(tick + 800 > stretch));
            soak.land();
        });
        grown.push(held.bytes_current);
        done += stretch;
    }
    let sum: i64 = grown.iter().sum();
    println!("bytes per stretch: {grown:?}");
    assert!(sum.abs() <= 16 * 1_024, "{sum} bytes more after {TICKS} ticks: {grown:?}");
    assert!(soak.sampler.snapshot().health.ticks > 20_000);
}
