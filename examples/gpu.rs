//! Samples the GPUs of this machine and shows them as a live table. Without a driver it says so; with `--simulate` it
//! brings a driver library and a token stream of its own, and shows what the calls cost in joules.
//!
//! `cargo run --example gpu`, and `-- --help` for the options.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its reader")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod terminal;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use lexopt::prelude::*;
use llmperf::gpu::{DeviceSnapshot, LocalModel, NvmlGpus, Sampler, SamplerState, Sampling};
use llmperf::{Instrumentation, MeasureStream as _, Output};
use llmperf_fake_nvml::FakeNvml;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use terminal::{Axis, Table, lanes, say, timeline};

type Error = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "\
Shows the GPUs of this machine.

Usage: cargo run --example gpu -- [options]

  --seconds <n>   how long              [5]
  --simulate      bring a driver and a model along: needs no GPU
  --seed <n>      seed of the simulation [1]
  --help          this text
";
const MODEL: &str = "llama-3";
/// Calls of the simulation.
const CALLS: u64 = 12;
/// What the simulated device draws while idle, and for each call in flight, in milliwatts.
const IDLE: u64 = 90_000;
const PER_CALL: u64 = 130_000;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gpu: {error} (--help lists the options)");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Error> {
    let (mut seconds, mut simulated, mut seed) = (5, false, 1);
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("seconds") => seconds = arguments.value()?.parse()?,
            Long("simulate") => simulated = true,
            Long("seed") => seed = arguments.value()?.parse()?,
            Long("help") => {
                say!("{}", USAGE.trim_end());
                return Ok(());
            }
            other => return Err(other.unexpected().into()),
        }
    }
    if simulated { simulate(seed).await } else { live(seconds).await }
}

/// The devices there are, as a table that is drawn anew each second.
async fn live(seconds: u64) -> Result<(), Error> {
    let sampling = Sampler::nvml().every(Duration::from_secs(1)).start();
    while sampling.snapshot().state == SamplerState::Initialising {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let snapshot = sampling.snapshot();
    if snapshot.devices.is_empty() {
        say!("No GPU to show, the sampler is {}; try --simulate.", snapshot.state);
        return Ok(());
    }
    let redraw = std::io::stdout().is_terminal();
    for second in 0..seconds {
        let table = table(&sampling);
        if redraw && second > 0 {
            // Up by as many lines as the table has.
            let _enough = write!(std::io::stdout(), "\x1b[{}A\x1b[J", table.lines().count());
        }
        say!("{}", table.trim_end());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

fn table(sampling: &Sampling) -> String {
    let mut table = Table::new(["device", "state", "busy", "memory", "power", "energy", "temperature"]);
    for device in &sampling.snapshot().devices {
        table = table.row(row(device));
    }
    table.to_string()
}

/// What is not told shows as a dash.
fn row(device: &DeviceSnapshot) -> [String; 7] {
    let sample = &device.sample;
    let cell = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    let gibibytes = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    [
        device.info.name.clone(),
        device.condition.hw_state().into(),
        cell(sample.utilization.ok().map(|busy| format!("{:.0} %", busy.compute * 100.0))),
        cell(sample.memory.ok().map(|m| format!("{:.1} of {:.1} GiB", gibibytes(m.used), gibibytes(m.total)))),
        cell(sample.power_watts.ok().map(|watts| format!("{watts:.0} W"))),
        cell(device.energy.first().map(|(_, joules)| format!("{joules:.0} J"))),
        cell(sample.temperature_celsius.ok().map(|celsius| format!("{celsius:.0} °C"))),
    ]
}

/// What was seen of the device at one moment.
struct Seen {
    at: f64,
    busy: Option<f64>,
    watts: Option<f64>,
}

/// A model on a device of our own: some calls at a time, power by the calls in flight.
async fn simulate(seed: u64) -> Result<(), Error> {
    let folder = Folder::new()?;
    let device = Device::new(FakeNvml::install(&folder.0)?)?;
    let sampler = Sampler::new(NvmlGpus::new().library(device.driver.path()))
        .every(Duration::from_millis(100))
        .local(LocalModel::new(MODEL));
    let instrumentation = Instrumentation::builder().observer(sampler.observer()).build();
    let sampling = sampler.instrumentation(instrumentation.clone()).start();
    say!("A simulated driver and model: {CALLS} calls to {MODEL}\n");

    let (device, mut random) = (Arc::new(device), StdRng::seed_from_u64(seed));
    let calls = (0..CALLS).map(|_| {
        let plan = Plan {
            wait: Duration::from_millis(random.random_range(0..5_000)),
            prefill: Duration::from_millis(random.random_range(100..500)),
            gap: Duration::from_millis(random.random_range(15..40)),
            tokens: random.random_range(20..90),
        };
        call(instrumentation.clone(), Arc::clone(&device), plan, &sampling)
    });
    let began = sampling.now();
    let calls = futures_util::future::join_all(calls.collect::<Vec<_>>());
    let (spans, seen) = watch(&sampling, calls).await;
    // The sample behind the last end settles the last call.
    tokio::time::sleep(Duration::from_millis(300)).await;

    let axis = Axis { from: began.as_secs_f64(), to: sampling.now().as_secs_f64(), width: 72 };
    let values = |of: fn(&Seen) -> Option<f64>| {
        seen.iter().filter_map(|seen| Some((seen.at, of(seen)?))).collect::<Vec<(f64, f64)>>()
    };
    say!("{}", timeline("utilisation", " %", &values(|seen| seen.busy.map(|busy| busy * 100.0)), axis, 3, 100.0));
    say!("{}", timeline("power", " W", &values(|seen| seen.watts), axis, 4, 700.0));
    say!("{}", lanes(&format!("calls, over {:.1} s", axis.to - axis.from), &spans, axis));
    say!("{}", instrumentation.snapshot());
    for average in &sampling.snapshot().fleet {
        say!("{}: {:.2} J per token, idle time included", average.model, average.joules_per_token);
    }
    if !sampling.stop() {
        say!("The driver hangs.");
    }
    Ok(())
}

/// Looks at the device until all calls have ended.
async fn watch(sampling: &Sampling, calls: impl Future<Output = Vec<(f64, f64)>>) -> (Vec<(f64, f64)>, Vec<Seen>) {
    let (mut calls, mut seen) = (std::pin::pin!(calls), Vec::new());
    let mut beat = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            spans = &mut calls => return (spans, seen),
            _ = beat.tick() => {
                if let Some(device) = sampling.snapshot().devices.first() {
                    let busy = device.sample.utilization.ok().map(|busy| busy.compute);
                    let at = sampling.now().as_secs_f64();
                    seen.push(Seen { at, busy, watts: device.sample.power_watts.ok() });
                }
            }
        }
    }
}

/// What a call of the simulation is like.
#[derive(Clone, Copy)]
struct Plan {
    wait: Duration,
    prefill: Duration,
    gap: Duration,
    tokens: u64,
}

/// One measured call; when it began and ended.
async fn call(instrumentation: Instrumentation, device: Arc<Device>, plan: Plan, sampling: &Sampling) -> (f64, f64) {
    tokio::time::sleep(plan.wait).await;
    let from = sampling.now().as_secs_f64();
    let call = instrumentation.chat("local", MODEL).start();
    let _flight = device.fly();
    let mut answer = std::pin::pin!(tokens(plan).measure_with(call, |token| match token {
        Some(word) => Output::text(word),
        None => Output::usage(100, plan.tokens),
    }));
    while answer.next().await.is_some() {}
    (from, sampling.now().as_secs_f64())
}

/// The tokens of an answer, and at its end nothing: the place of the usage.
fn tokens(plan: Plan) -> impl Stream<Item = Option<&'static str>> {
    stream::iter(0..=plan.tokens).then(move |token| async move {
        tokio::time::sleep(if token == 0 { plan.prefill } else { plan.gap }).await;
        (token < plan.tokens).then_some("word ")
    })
}

/// The simulated device: busy and hungry by the calls in flight.
struct Device {
    driver: FakeNvml,
    flights: AtomicU32,
}

impl Device {
    fn new(driver: FakeNvml) -> Result<Self, Error> {
        driver.tell(&format!(
            "driver 570.124\ndevice 0 GPU-5177 Simulated GPU\nset 0 util 0\nset 0 mem_util 0\n\
             set 0 mem_total {}\nset 0 mem_used {}\nset 0 power {IDLE}\nset 0 power_limit 700000\nset 0 energy 0\n\
             set 0 temperature 41\nset 0 sm_clock 1980\nset 0 mem_clock 2619\nset 0 throttle 0\nset 0 persistence 1\n\
             integrate 0",
            80_u64 << 30,
            17_u64 << 30,
        ))?;
        Ok(Self { driver, flights: AtomicU32::new(0) })
    }

    fn fly(self: &Arc<Self>) -> Flight {
        let now = self.flights.fetch_add(1, Ordering::AcqRel) + 1;
        self.tell(now);
        Flight(Arc::clone(self))
    }

    fn tell(&self, flights: u32) {
        let (power, busy) = (IDLE + PER_CALL * u64::from(flights), (flights * 35).min(100));
        // A driver that does not understand tells what it told before.
        let _understood = self.driver.tell(&format!("set 0 power {}\nset 0 util {busy}", power.min(690_000)));
    }
}

/// A call on the device.
struct Flight(Arc<Device>);

impl Drop for Flight {
    fn drop(&mut self) {
        let left = self.0.flights.fetch_sub(1, Ordering::AcqRel) - 1;
        self.0.tell(left);
    }
}

/// A folder that is gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("llmperf-gpu-{}", std::process::id()));
        // One that is there already is somebody else's, and so would be the library in it.
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}
