//! A sampler whose time is moved by hand, on a copy of the fake library of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use llmperf_core::testing::{Point, Probe};
use llmperf_fake_nvml::FakeNvml;
use llmperf_gpu::{ByHand, Clock, DeviceSnapshot, GpuSnapshot, NvmlGpus, Sampler, Selection};
use tracing_subscriber::{filter::LevelFilter, fmt::MakeWriter};

/// One device with every figure of the default set.
pub(crate) const ONE: &str = "
    driver 570.124
    device 0 GPU-0 NVIDIA H100
    pci 0 00000000:3B:00.0
    set 0 util 37
    set 0 mem_util 12
    set 0 mem_total 85899345920
    set 0 mem_used 21474836480
    set 0 power 412750
    set 0 power_limit 700000
    set 0 energy 5000000
    set 0 temperature 61
    set 0 sm_clock 1980
    set 0 mem_clock 2619
    set 0 throttle 0
    set 0 persistence 1";

/// A second one.
pub(crate) const TWO: &str = "
    device 1 GPU-1 NVIDIA A30
    pci 1 00000000:1A:00.0
    set 1 util 5
    set 1 mem_total 1000
    set 1 mem_used 100
    set 1 power 60000
    set 1 power_limit 165000
    set 1 energy 1000
    set 1 temperature 30
    set 1 persistence 1";

pub(crate) struct Bench {
    pub(crate) fake: FakeNvml,
    pub(crate) clock: Clock,
    pub(crate) probe: Probe,
    pub(crate) sampler: ByHand,
}

impl Bench {
    /// A sampler of the default set, which has ticked once.
    pub(crate) fn new(test: &str, script: &str) -> Self {
        Self::with(test, script, |sampler| sampler)
    }

    /// The same, set up as said.
    pub(crate) fn with(test: &str, script: &str, set_up: impl FnOnce(Sampler) -> Sampler) -> Self {
        Self::on(FakeNvml::install(&folder(test)).unwrap(), script, set_up)
    }

    /// The same on a library that is there.
    pub(crate) fn on(fake: FakeNvml, script: &str, set_up: impl FnOnce(Sampler) -> Sampler) -> Self {
        fake.tell(script).unwrap();
        let backend = NvmlGpus::new().library(fake.path());
        Self::of(fake, backend, set_up)
    }

    pub(crate) fn of(fake: FakeNvml, backend: NvmlGpus, set_up: impl FnOnce(Sampler) -> Sampler) -> Self {
        let (clock, probe) = (Clock::manual(), Probe::new());
        let sampler = Sampler::new(backend)
            .devices(Selection::All)
            .clock(&clock)
            .instrumentation(probe.instrumentation().clone());
        let mut bench = Self { fake, clock, probe, sampler: set_up(sampler).by_hand() };
        bench.sampler.tick();
        bench
    }

    pub(crate) fn tell(&self, script: &str) {
        self.fake.tell(script).unwrap();
    }

    pub(crate) fn calls(&self, symbol: &str) -> u64 {
        self.fake.calls(symbol).unwrap()
    }

    /// Lets so many seconds pass, with a tick whenever one is due.
    pub(crate) fn pass(&mut self, seconds: u64) {
        let until = self.clock.now() + Duration::from_secs(seconds);
        loop {
            // A tick that is due at once is due a moment later at the earliest.
            let next = self.sampler.tick().max(self.clock.now() + Duration::from_millis(1));
            if next > until {
                self.clock.advance(until - self.clock.now());
                return;
            }
            self.clock.advance(next - self.clock.now());
        }
    }

    /// Lets a second pass and ticks once.
    pub(crate) fn tick(&mut self) {
        self.clock.advance(Duration::from_secs(1));
        self.sampler.tick();
    }

    pub(crate) fn snapshot(&self) -> Arc<GpuSnapshot> {
        self.sampler.snapshot()
    }

    pub(crate) fn device(&self, id: &str) -> DeviceSnapshot {
        let snapshot = self.snapshot();
        let device = snapshot.devices.iter().find(|device| device.info.id.as_str() == id);
        device.unwrap_or_else(|| panic!("no {id} in {snapshot:?}")).clone()
    }

    /// The series of a metric that belong to a device.
    pub(crate) fn points_of(&self, metric: &str, device: &str) -> Vec<Point> {
        self.probe.points(metric).into_iter().filter(|point| point.attribute("hw.id") == device).collect()
    }

    /// The only value of a metric for a device, if there is one.
    pub(crate) fn value(&self, metric: &str, device: &str) -> Option<f64> {
        let points = self.points_of(metric, device);
        assert!(points.len() <= 1, "{points:?}");
        points.first().map(|point| point.sum)
    }
}

/// An empty folder that nobody else has, whoever asks for the same name.
pub(crate) fn folder(test: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let own = format!("{test}-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvml").join(own);
    // It may not be there.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// What this thread logs, at every level, while some code runs.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn of(code: impl FnOnce()) -> String {
        Self::at(LevelFilter::INFO, code)
    }

    pub(crate) fn at(level: LevelFilter, code: impl FnOnce()) -> String {
        let log = Self::default();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).without_time().with_max_level(level).with_writer(log.clone());
        tracing::subscriber::with_default(subscriber.finish(), code);
        let bytes = log.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
