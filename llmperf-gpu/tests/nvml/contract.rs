//! Each metric against scripted values: name, unit, attributes, value. And the page that lists them against the code.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use llmperf_core::{Output, metrics::Kind, testing::Probe};
use llmperf_fake_nvml::FakeNvml;
use llmperf_gpu::{Clock, Group, LocalModel, Method, NvmlGpus, Sampler, Selection, metrics::TABLE};

use tracing_subscriber::filter::LevelFilter;

use crate::bench::{Bench, Log, ONE, TWO, folder};

const DOC: &str = include_str!("../../../docs/metrics.md");

/// What the opt-in groups need.
const MORE: &str = "
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
    set 0 gpm_dram 40";

fn everything() -> Bench {
    let own = std::process::id();
    let script =
        ONE.to_owned() + TWO + MORE + &format!("\nprocess 0 {own} 1048576\nusage 0 {own} 5 25 0\nunset 1 energy");
    let groups = [Group::Pcie, Group::NvLink, Group::Processes, Group::Ecc, Group::Incidents, Group::Gpm, Group::Codec];
    let mut bench = Bench::with("contract", &script, |sampler| {
        groups.into_iter().fold(sampler, Sampler::with).serves("GPU-0", "llama-3")
    });
    bench.tell("xid 0 79\nxid 0 79\nxid 0 13\nset 0 throttle 36\nset 0 energy 5412750");
    bench.tick();
    bench
}

/// The values of a metric for the first device, by the attributes that tell its series apart.
fn values(bench: &Bench, metric: &str, by: &[&str]) -> BTreeMap<String, f64> {
    let name =
        |point: &llmperf_core::testing::Point| by.iter().map(|key| point.attribute(key)).collect::<Vec<_>>().join(" ");
    bench.points_of(metric, "GPU-0").iter().map(|point| (name(point), point.sum)).collect()
}

fn of<const N: usize>(pairs: [(&str, f64); N]) -> BTreeMap<String, f64> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[test]
fn each_metric_of_a_device_has_its_scripted_value_in_its_unit() {
    let bench = everything();
    let close = |metric: &str, by: &[&str], expected: BTreeMap<String, f64>| {
        let found = values(&bench, metric, by);
        assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{metric}");
        for (key, value) in &expected {
            assert!(
                (found[key] - value).abs() < 1e-9 * value.max(1.0),
                "{metric} {key}: {} is not {value}",
                found[key]
            );
        }
    };
    // % → ratio
    close("hw.gpu.utilization", &["hw.gpu.task"], of([("general", 0.37), ("encoder", 0.1), ("decoder", 0.2)]));
    close("llmperf.gpu.memory.activity", &[], of([("", 0.12)]));
    // bytes
    close("hw.gpu.memory.usage", &[], of([("", 21_474_836_480.0)]));
    close("hw.gpu.memory.limit", &[], of([("", 85_899_345_920.0)]));
    close("hw.gpu.memory.utilization", &[], of([("", 0.25)]));
    // mW → W, mJ → J
    close("hw.power", &["hw.type"], of([("gpu", 412.75)]));
    close("llmperf.gpu.power.limit", &[], of([("", 700.0)]));
    close("hw.energy", &["hw.type", "llmperf.gpu.energy.source"], of([("gpu counter", 412.75)]));
    close("hw.temperature", &["hw.sensor_location"], of([("die", 61.0)]));
    close("hw.errors", &["error.type", "hw.type"], of([("corrected gpu", 7.0), ("uncorrected gpu", 1.0)]));
    close("hw.status", &["hw.state", "hw.type"], of([("degraded gpu", 0.0), ("failed gpu", 0.0), ("ok gpu", 1.0)]));
    // MHz → Hz
    close("llmperf.gpu.clock.frequency", &["llmperf.gpu.clock.domain"], of([("memory", 2.619e9), ("sm", 1.98e9)]));
    let reasons = [
        ("hardware_slowdown", 0.0),
        ("hardware_thermal", 0.0),
        ("power_brake", 0.0),
        ("power_cap", 1.0),
        ("sync_boost", 0.0),
        ("thermal", 1.0),
    ];
    close("llmperf.gpu.throttled", &["llmperf.gpu.throttle.reason"], of(reasons));
    let units = [("dram", 0.4), ("graphics", 0.9), ("occupancy", 0.5), ("sm", 0.8), ("tensor", 0.6)];
    close("llmperf.gpu.activity", &["llmperf.gpu.unit"], of(units));
    // KB/s → By/s, KiB → By
    close("llmperf.gpu.pcie.throughput", &["network.io.direction"], of([("receive", 5_000.0), ("transmit", 3_000.0)]));
    close("llmperf.gpu.nvlink.io", &["network.io.direction"], of([("receive", 13_312.0), ("transmit", 11_264.0)]));
    close("llmperf.gpu.xid.errors", &["llmperf.gpu.xid"], of([("13", 1.0), ("79", 2.0)]));
    assert_eq!(values(&bench, "llmperf.gpu.xid.last_seen", &["llmperf.gpu.xid"]).len(), 2);
    close("llmperf.gpu.processes", &[], of([("", 1.0)]));
    let own = std::process::id().to_string();
    close("llmperf.gpu.process.memory.usage", &["process.pid"], of([(own.as_str(), 1_048_576.0)]));
    assert!(
        values(&bench, "llmperf.gpu.process.utilization", &["process.pid"]).is_empty(),
        "no sample since the first"
    );
}

#[test]
fn every_series_of_a_device_says_which_it_is_and_whom_it_serves() {
    let bench = everything();
    for point in bench.points_of("hw.power", "GPU-0") {
        let identity = ["hw.id", "hw.name", "hw.vendor", "hw.driver_version", "gen_ai.request.model"];
        let values = identity.map(|key| point.attribute(key));
        assert_eq!(values, ["GPU-0", "NVIDIA H100", "NVIDIA", "570.124", "llama-3"]);
    }
    let other = &bench.points_of("hw.power", "GPU-1")[0];
    assert!(!other.attributes.contains_key("gen_ai.request.model") && !other.attributes.contains_key("hw.parent"));
    assert!(
        !bench.points_of("hw.temperature", "GPU-0")[0].attributes.contains_key("hw.type"),
        "as the convention has it"
    );
}

#[test]
fn the_samplers_own_health_is_told() {
    let mut bench = everything();
    bench.tell("error nvmlDeviceGetPowerUsage 999 1");
    bench.tick();
    let state = bench.probe.points("llmperf.gpu.sampler.state");
    let now: Vec<&str> =
        state.iter().filter(|point| point.sum == 1.0).map(|point| point.attribute("llmperf.gpu.state")).collect();
    assert_eq!((state.len(), now), (7, vec!["running"]));
    let errors = bench.probe.points("llmperf.gpu.sampler.read_errors");
    let of_power = errors.iter().find(|point| point.attribute("llmperf.gpu.field") == "power").unwrap();
    assert_eq!((of_power.attribute("error.type"), of_power.sum), ("unknown", 1.0));
    assert_eq!(bench.probe.count("llmperf.gpu.sample.duration"), 3.0);
    bench.clock.advance(Duration::from_secs(2));
    assert_eq!(bench.probe.points("llmperf.gpu.sampler.age")[0].sum, 2.0);
    bench.clock.advance(Duration::from_secs(2));
    for metric in ["hw.power", "hw.status", "hw.energy"] {
        assert!(bench.probe.points(metric).is_empty(), "{metric}: what is older than three periods is not told");
    }
    let state = bench.probe.points("llmperf.gpu.sampler.state");
    let now = state.iter().find(|point| point.sum == 1.0).map(|point| point.attribute("llmperf.gpu.state").to_owned());
    assert_eq!(now.as_deref(), Some("degraded"), "a sampler whose sample is overdue is not running");
}

/// A sampler with a local model, and the probe whose calls it sees.
fn with_calls(test: &str, model: LocalModel) -> (Bench, Probe) {
    let fake = FakeNvml::install(&folder(test)).unwrap();
    fake.tell(ONE).unwrap();
    let clock = Clock::manual();
    let backend = NvmlGpus::new().library(fake.path());
    let mut sampler = Sampler::new(backend).devices(Selection::All).clock(&clock).local(model);
    let metrics = Probe::new();
    sampler = sampler.instrumentation(metrics.instrumentation().clone());
    let observer = sampler.observer();
    let calls = Probe::with(|builder| builder.observer(observer));
    let mut sampler = sampler.by_hand();
    sampler.tick();
    (Bench { fake, clock, probe: metrics, sampler }, calls)
}

#[test]
fn the_energy_of_a_call_is_known_behind_its_end_and_told_in_all_three_ways() {
    let (mut bench, calls) = with_calls("call_energy", LocalModel::new("llama-3").method(Method::TokenShare));
    let mut call = calls.chat("vllm", "llama-3").start();
    let mut energy = 5_000_000;
    for _ in 0..3 {
        energy += 300_000;
        calls.clock().advance(Duration::from_secs(1));
        call.on_chunk(Output::text("some words"));
        bench.tell(&format!("set 0 energy {energy}"));
        bench.tick();
    }
    call.on_chunk(Output::usage(10, 90));
    drop(call.finish());
    assert!(bench.probe.points("llmperf.gpu.call.energy").is_empty(), "the sample behind its end has not come");
    bench.clock.advance(Duration::from_millis(1));
    bench.tell(&format!("set 0 energy {}", energy + 300_000));
    bench.tick();
    let points = bench.probe.points("llmperf.gpu.call.energy");
    assert_eq!((points.len(), points[0].count), (1, 1));
    assert!((points[0].sum - 900.0).abs() < 1.0, "{points:?}");
    let keys =
        ["gen_ai.request.model", "llmperf.gpu.method", "llmperf.gpu.quality"].map(|key| points[0].attribute(key));
    assert_eq!(keys, ["llama-3", "token_share", "ok"]);
    assert!((bench.probe.points("llmperf.gpu.token.energy")[0].sum - 10.0).abs() < 0.02);
    assert!((bench.probe.points("llmperf.gpu.token.energy.average")[0].sum - 1_200.0 / 90.0).abs() < 0.1);

    let snapshot = bench.probe.instrumentation().snapshot();
    let figure = llmperf_core::stats::Figure::Energy;
    let window = llmperf_core::stats::Window::SinceStart;
    assert_eq!(snapshot.call("vllm", "llama-3").unwrap().figure(window, figure).unwrap().count, 1);
    let span = calls.span();
    assert!(
        !span.attributes.iter().any(|attribute| attribute.key.as_str().contains("energy")),
        "never late onto the span"
    );
}

#[test]
fn the_event_of_a_call_carries_the_ids_of_its_span() {
    let (mut bench, calls) = with_calls("call_event", LocalModel::new("llama-3"));
    let call = calls.chat("vllm", "llama-3").start();
    bench.tell("set 0 energy 5300000");
    bench.tick();
    drop(call);
    bench.tell("set 0 energy 5600000");
    let log = Log::at(LevelFilter::DEBUG, || bench.tick());
    let ids = calls.span().span_context;
    let event = log.lines().find(|line| line.contains("call energy")).unwrap_or_else(|| panic!("{log}"));
    for part in [format!("trace_id={}", ids.trace_id()), format!("span_id={}", ids.span_id()), "energy_j=".into()] {
        assert!(event.contains(&part), "{part} is not in {event}");
    }
}

#[test]
fn calls_to_models_that_are_not_said_to_be_local_have_no_energy() {
    let (mut bench, calls) = with_calls("remote", LocalModel::new("llama-3"));
    let remote = calls.chat("openai", "gpt-4o").start();
    let local = calls.chat("openai", "llama-3").start();
    bench.tell("set 0 energy 5300000");
    bench.tick();
    drop(remote);
    bench.tell("set 0 energy 5600000");
    bench.pass(30);
    assert!(bench.probe.points("llmperf.gpu.call.energy").is_empty());
    drop(local);
    bench.tell("set 0 energy 5900000");
    bench.pass(10);
    assert_eq!(bench.probe.count("llmperf.gpu.call.energy"), 1.0, "the control: the one that is said to be has");
}

#[test]
fn no_metric_is_told_that_the_table_does_not_have_and_the_other_way_round() {
    let bench = everything();
    let told: BTreeSet<String> = bench.probe.metric_names().into_iter().collect();
    let listed: BTreeSet<String> = TABLE.iter().map(|definition| definition.name.to_owned()).collect();
    assert!(told.is_subset(&listed), "{:?}", told.difference(&listed));
    // Those need calls, or a second sample of a process, or a driver that refuses.
    let special = ["call.energy", "token.energy", "token.energy.average", "process.utilization", "sampler.open_errors"];
    let special: BTreeSet<String> = special.iter().map(|name| format!("llmperf.gpu.{name}")).collect();
    assert_eq!(listed.difference(&told).cloned().collect::<BTreeSet<_>>(), special);
}

#[test]
fn the_page_and_the_table_list_the_same_metrics() {
    let rows = DOC
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`').to_owned()).collect());
    let rows: Vec<Vec<String>> = rows.collect();
    let numbers = |cell: &str| cell.split(' ').map(|bound| bound.parse().ok()).collect::<Option<Vec<f64>>>();
    let buckets: HashMap<&str, Vec<f64>> = rows
        .iter()
        .filter(|cells| cells.len() == 2)
        .filter_map(|cells| Some((cells[0].as_str(), numbers(&cells[1])?)))
        .collect();
    let is_ours = |cells: &&Vec<String>| {
        cells.len() == 7 && (cells[0].starts_with("hw.") || cells[0].starts_with("llmperf.gpu."))
    };
    let mut found: BTreeMap<&str, &Vec<String>> =
        rows.iter().filter(is_ours).map(|cells| (cells[0].as_str(), cells)).collect();
    for definition in TABLE {
        let cells = found.remove(definition.name).unwrap_or_else(|| panic!("{} is not on the page", definition.name));
        let (kind, bounds) = match definition.kind {
            Kind::Histogram(bounds) => ("histogram", Some(bounds)),
            Kind::Counter | Kind::Sum => ("counter", None),
            Kind::UpDown => ("up-down counter", None),
            _ => ("gauge", None),
        };
        assert_eq!((cells[1].as_str(), cells[2].as_str()), (kind, definition.unit), "{}", definition.name);
        assert_eq!(buckets.get(cells[4].as_str()).map(Vec::as_slice), bounds, "{}", definition.name);
        assert_eq!(cells[5], definition.description, "{}", definition.name);
        assert!(cells[6].contains(&definition.name.replace('.', "_")), "{}: {}", definition.name, cells[6]);
    }
    assert!(found.is_empty(), "the page lists what the code does not emit: {:?}", found.keys());
}
