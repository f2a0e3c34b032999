//! The GPU metrics of `docs/metrics.md` held to a real Prometheus, both ways in: a sampler on a driver library of our own.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Duration;

use llmperf::gpu::{Group, LocalModel, NvmlGpus, Sampler, Sampling, Selection, metrics::TABLE};
use llmperf::opentelemetry::trace::noop::NoopTracerProvider;
use llmperf::stats::{Figure, Window};
use llmperf::{Instrumentation, Output};
use llmperf_fake_nvml::FakeNvml;

use crate::backends;
use crate::contract::{the_buckets_are_those_of_the_page, the_query_has_an_answer};
use crate::page::{self, Row};
use crate::series::{JOBS, both_ways, bring_up_to_date};

/// A device that tells everything, and one that is lost.
const DEVICES: &str = "
    driver 570.124
    device 0 GPU-0 NVIDIA H100
    set 0 util 37
    set 0 mem_util 12
    set 0 mem_total 85899345920
    set 0 mem_used 21474836480
    set 0 power 412750
    set 0 power_limit 700000
    set 0 energy 0
    integrate 0
    set 0 temperature 61
    set 0 sm_clock 1980
    set 0 mem_clock 2619
    set 0 throttle 36
    set 0 encoder 10
    set 0 decoder 20
    set 0 pcie_tx 3
    set 0 pcie_rx 5
    set 0 ecc_corrected 7
    set 0 ecc_uncorrected 1
    set 0 nvlink_tx 11
    set 0 nvlink_rx 13
    set 0 gpm 1
    set 0 gpm_graphics 90
    set 0 gpm_sm 80
    set 0 gpm_occupancy 50
    set 0 gpm_tensor 60
    set 0 gpm_dram 40
    device 1 GPU-1 NVIDIA A30
    set 1 power 60000";

#[test]
fn the_pages_gpu_metrics_and_queries_are_those_of_prometheus() {
    if backends::left_out() {
        return;
    }
    let rows = page::gpu_rows();
    assert_eq!(rows.len(), TABLE.len(), "the page lists every metric");
    let driver = driver();
    let (prometheus, telemetry) = both_ways();
    let groups = [Group::Pcie, Group::NvLink, Group::Processes, Group::Ecc, Group::Incidents, Group::Gpm, Group::Codec];
    let sampler = Sampler::new(NvmlGpus::new().library(driver.path()))
        .every(Duration::from_millis(100))
        .devices(Selection::All)
        .local(LocalModel::new("swift-1").on(["GPU-0"]));
    let instrumentation = Instrumentation::builder()
        .tracer_provider(&NoopTracerProvider::new())
        .meter_provider(telemetry.meter_provider().unwrap().clone())
        .observer(sampler.observer())
        .build();
    let sampling = groups.into_iter().fold(sampler, Sampler::with).instrumentation(instrumentation.clone()).start();
    // The driver refuses at first: that is counted.
    until(|| !sampling.snapshot().health.open_errors.is_empty());
    driver.tell("error nvmlInit_v2 0").unwrap();
    until(|| sampling.snapshot().devices.len() == 2);
    driver.tell("lose 1\nxid 0 79").unwrap();
    // Twice, with a look in between: a rate needs an increase.
    for round in 1..=2 {
        call(&instrumentation, &sampling);
        until(|| has_energy(&instrumentation, round) && has_report(&sampling));
        bring_up_to_date(&prometheus, &telemetry);
    }

    for job in JOBS {
        // An up-down counter of unit 1 is the one whose two ways differ in name, as the page says.
        let rows: Vec<Row> = rows.iter().cloned().map(|row| as_named_by(job, row)).collect();
        let expected: BTreeSet<String> = rows.iter().flat_map(Row::all_series).collect();
        let samples = prometheus.query(&format!("{{job=\"{job}\",__name__=~\"(hw|llmperf_gpu)_.+\"}}")).unwrap();
        let found: BTreeSet<String> = samples.into_iter().map(|sample| sample.labels["__name__"].clone()).collect();
        let differing: Vec<_> = found.symmetric_difference(&expected).filter(|name| !is_fleeting(name)).collect();
        assert!(differing.is_empty(), "by {job} or on the page, not both: {differing:?}");
        for row in rows.iter().filter(|row| !is_fleeting(row.series())) {
            the_query_has_an_answer(&prometheus, row, job);
            the_buckets_are_those_of_the_page(&prometheus, row, job);
        }
    }
    assert!(sampling.stop());
    telemetry.shutdown().unwrap();
}

fn driver() -> FakeNvml {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("live-gpus");
    let driver = FakeNvml::install(&folder).unwrap();
    driver.tell(DEVICES).unwrap();
    driver.tell(&format!("process 0 {} 1048576\nerror nvmlInit_v2 18", std::process::id())).unwrap();
    driver
}

/// Told in the sample in which it was new, and in no other.
fn is_fleeting(series: &str) -> bool {
    series.starts_with("llmperf_gpu_process_utilization")
}

fn as_named_by(job: &str, row: Row) -> Row {
    let promql = if job == JOBS[1] { row.promql.replace("hw_status_ratio", "hw_status") } else { row.promql };
    Row { promql, ..row }
}

/// A call of a few samples' length.
fn call(instrumentation: &Instrumentation, sampling: &Sampling) {
    let mut call = instrumentation.chat("local", "swift-1").start();
    let ticks = sampling.snapshot().health.ticks;
    call.on_chunk(Output::text("to"));
    until(|| sampling.snapshot().health.ticks > ticks + 2);
    call.on_chunk(Output::usage(10, 20));
    drop(call.finish());
}

/// Whether the energy of so many calls is known: some samples after their ends.
fn has_energy(instrumentation: &Instrumentation, calls: u64) -> bool {
    let snapshot = instrumentation.snapshot();
    let series = snapshot.call("local", "swift-1");
    let energy = series.and_then(|series| series.figure(Window::SinceStart, Figure::Energy));
    energy.is_some_and(|energy| energy.count >= calls)
}

/// Whether the driver's report came, and a mean over all devices.
fn has_report(sampling: &Sampling) -> bool {
    let snapshot = sampling.snapshot();
    let device = snapshot.devices.iter().find(|device| device.info.id.as_str() == "GPU-0");
    device.is_some_and(|device| !device.incidents.is_empty()) && !snapshot.fleet.is_empty()
}

fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        thread::yield_now();
    }
}
