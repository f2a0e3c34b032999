//! Twenty failures that users of GPU monitors have reported (list A of our notes): one test each, by its number.

use std::{fs, time::Duration};

use llmperf_fake_nvml::FakeNvml;
use llmperf_gpu::{Condition, EnergySource, Fault, Group, NvmlGpus, Sampler, SamplerState as State, Selection};

use crate::bench::{Bench, Log, ONE, TWO, folder};

#[test]
fn a1_no_library_is_a_normal_state_and_every_attempt_is_told() {
    let folder = folder("a1");
    let (nowhere, no_elf) = (folder.join("nowhere.so"), folder.join("no_elf.so"));
    fs::write(&no_elf, "this is no library").unwrap();
    let other = FakeNvml::copy(&folder, &["nvmlInit_v2"]).unwrap();
    for (path, fault) in [(nowhere, "library not found"), (no_elf, "library not found"), (other, "missing symbol")] {
        let clock = llmperf_gpu::Clock::manual();
        let mut sampler = Sampler::new(NvmlGpus::new().library(&path)).devices(Selection::All).clock(&clock).by_hand();
        let mut ticks = 0;
        let log = Log::of(|| {
            while clock.now() < Duration::from_secs(3_600) {
                let next = sampler.tick();
                ticks += 1;
                clock.advance(next - clock.now());
            }
        });
        let snapshot = sampler.snapshot();
        assert_eq!(snapshot.state, State::Unavailable);
        let reason = snapshot.reason.clone().unwrap();
        assert!(reason.contains(fault) && reason.contains(path.to_str().unwrap()), "{reason}");
        assert!(ticks <= 61, "{ticks} looks in an hour");
        assert_eq!(log.lines().count(), 1, "said once: {log}");
    }
}

#[test]
fn a2_a_version_mismatch_backs_off_and_heals_when_the_library_is_replaced() {
    let folder = folder("a2");
    let path = FakeNvml::copy(&folder, &[]).unwrap();
    let script = folder.join("libnvidia-ml.so.1.script");
    fs::write(&script, "driver 550.1\nerror nvmlInit_v2 18").unwrap();
    let clock = llmperf_gpu::Clock::manual();
    let mut sampler = Sampler::new(NvmlGpus::new().library(&path)).devices(Selection::All).clock(&clock).by_hand();
    let mut tries = 0;
    while clock.now() < Duration::from_secs(60) {
        let next = sampler.tick();
        tries += 1;
        clock.advance(next - clock.now());
    }
    let snapshot = sampler.snapshot();
    assert_eq!(snapshot.state, State::Backoff);
    assert_eq!(snapshot.health.open_errors.get(&Fault::VersionMismatch), Some(&tries));
    assert!(tries <= 7, "{tries} tries in a minute");
    assert!(snapshot.reason.clone().unwrap().contains("version mismatch"));

    // The kernel module is reloaded to match.
    FakeNvml::copy(&folder, &[]).unwrap();
    fs::write(&script, ONE).unwrap();
    sampler.tick();
    assert_eq!(sampler.snapshot().state, State::Running);

    // A package is upgraded beneath the sampler while it runs: calls fail, the old library goes, the new one is found.
    let running = FakeNvml::open(path.clone()).unwrap();
    running.tell("error * 18").unwrap();
    drop(running);
    FakeNvml::copy(&folder, &[]).unwrap();
    fs::write(&script, ONE.replace("570.124", "580.65")).unwrap();
    clock.advance(Duration::from_secs(1));
    sampler.tick();
    assert_eq!(sampler.snapshot().state, State::Backoff);
    clock.advance(Duration::from_secs(1));
    sampler.tick();
    let snapshot = sampler.snapshot();
    assert_eq!(snapshot.state, State::Running);
    assert_eq!(snapshot.devices[0].info.driver_version.as_deref(), Some("580.65"));
}

#[test]
fn a3_lost_access_ends_all_series_and_is_tried_again_ever_more_rarely() {
    let mut bench = Bench::new("a3", ONE);
    assert_eq!(bench.value("hw.power", "GPU-0"), Some(412.75));
    bench.tell("error * 999\nerror nvmlInit_v2 999");
    let log = Log::of(|| bench.tick());
    assert!(log.contains("container") && log.contains("created anew"), "{log}");
    assert_eq!(bench.snapshot().state, State::Backoff);
    for metric in ["hw.power", "hw.gpu.utilization", "hw.energy", "hw.temperature", "hw.gpu.memory.usage"] {
        assert!(bench.probe.points(metric).is_empty(), "{metric} is still told");
    }
    let failed = bench.points_of("hw.status", "GPU-0");
    assert!(failed.iter().any(|point| point.attribute("hw.state") == "failed" && point.sum == 1.0), "{failed:?}");
    let before = bench.calls("nvmlInit_v2");
    bench.pass(3_600);
    assert!(bench.calls("nvmlInit_v2") - before <= 20, "{} tries", bench.calls("nvmlInit_v2") - before);
    bench.tell("error * 0\nerror nvmlInit_v2 0");
    bench.pass(301);
    assert_eq!(bench.snapshot().state, State::Running);
    assert_eq!(bench.value("hw.power", "GPU-0"), Some(412.75));
}

#[test]
fn a4_a_gpu_that_falls_off_the_bus_takes_no_other_with_it() {
    let mut bench = Bench::new("a4", &(ONE.to_owned() + TWO));
    bench.tell("lose 0");
    bench.tick();
    assert_eq!(bench.snapshot().state, State::Degraded);
    assert_eq!(bench.device("GPU-0").condition, Condition::Lost);
    assert!(bench.points_of("hw.power", "GPU-0").is_empty() && bench.points_of("hw.energy", "GPU-0").is_empty());
    let before = bench.calls("nvmlDeviceGetPowerUsage");
    (0..10).for_each(|_| bench.tick());
    assert_eq!(bench.calls("nvmlDeviceGetPowerUsage") - before, 10, "only the other device is asked");
    assert_eq!(bench.value("hw.power", "GPU-1"), Some(60.0));
    bench.pass(61);
    assert_eq!(bench.device("GPU-0").condition, Condition::Lost, "listed, but its handle is not given");
    bench.tell("return 0");
    bench.pass(61);
    assert_eq!(bench.snapshot().state, State::Running);
    assert_eq!(bench.value("hw.power", "GPU-0"), Some(412.75));

    // And one that was never reached.
    let bench = Bench::new("a4_handle", &(ONE.to_owned() + TWO + "\nlose 0"));
    assert_eq!(bench.snapshot().state, State::Degraded);
    assert_eq!(bench.value("hw.power", "GPU-1"), Some(60.0));
}

/// A device that is split in two, of which one instance has holes around it.
const MIG: &str = "
    mig 0 on
    instance 1 MIG-a 0 1 NVIDIA H100 MIG 1g.10gb
    set 1 mem_total 10000
    set 1 mem_used 4000
    instance 2 MIG-b 0 5 NVIDIA H100 MIG 2g.20gb
    set 2 mem_total 20000
    set 2 mem_used 5000";

#[test]
fn a5_with_mig_there_is_no_utilisation_but_by_the_monitors() {
    let script = ONE.to_owned() + MIG + "\nset 0 util 0";
    let bench = Bench::new("a5", &script);
    assert_eq!(bench.snapshot().state, State::Running);
    assert!(bench.probe.points("hw.gpu.utilization").is_empty(), "0 would be a lie");
    assert_eq!(bench.value("hw.gpu.memory.usage", "MIG-a"), Some(4_000.0));
    assert_eq!(bench.value("hw.gpu.memory.utilization", "MIG-b"), Some(0.25));
    assert_eq!(bench.points_of("hw.gpu.memory.limit", "MIG-b")[0].attribute("hw.parent"), "GPU-0");
    assert!(bench.points_of("hw.power", "MIG-a").is_empty() && bench.points_of("hw.energy", "MIG-a").is_empty());

    let monitored = script + "\nset 0 gpm 1\nset 1 gpm_graphics 40\nset 2 gpm_graphics 80\nset 0 gpm_graphics 60";
    let mut bench = Bench::with("a5_gpm", &monitored, |sampler| sampler.with(Group::Gpm));
    assert!(bench.probe.points("hw.gpu.utilization").is_empty(), "two samples are needed");
    bench.tick();
    let busy = ["GPU-0", "MIG-a", "MIG-b"].map(|device| bench.value("hw.gpu.utilization", device));
    assert_eq!(busy, [Some(0.6), Some(0.4), Some(0.8)]);
}

#[test]
fn a6_a_device_without_memory_of_its_own_starts_and_tells_the_rest() {
    for (test, memory) in [("a6", "unset 0 mem_total"), ("a6_zero", "set 0 mem_total 0\nset 0 mem_used 0")] {
        let mut bench = Bench::new(test, &(ONE.to_owned() + "\n" + memory));
        (0..3).for_each(|_| bench.tick());
        assert_eq!(bench.snapshot().state, State::Running);
        for metric in ["hw.gpu.memory.usage", "hw.gpu.memory.limit", "hw.gpu.memory.utilization"] {
            assert!(bench.probe.points(metric).is_empty(), "{metric}");
        }
        assert!(bench.device("GPU-0").unified_memory);
        assert_eq!(bench.value("hw.power", "GPU-0"), Some(412.75));
    }
}

#[test]
fn a7_a_process_whose_memory_is_not_told_is_listed_without() {
    let script = ONE.to_owned() + &format!("\nprocess 0 {} 4096\nprocess 0 77 na", std::process::id());
    let bench = Bench::with("a7", &script, |sampler| sampler.with(Group::Processes));
    let processes = bench.device("GPU-0").sample.processes.unwrap();
    assert_eq!(processes.list.iter().map(|process| process.memory).filter(Option::is_none).count(), 1);
    let told = bench.points_of("llmperf.gpu.process.memory.usage", "GPU-0");
    assert_eq!(told.iter().map(|point| point.sum).collect::<Vec<_>>(), [4_096.0], "{told:?}");
    assert_eq!(bench.value("llmperf.gpu.processes", "GPU-0"), Some(2.0));
}

#[test]
fn a8_stale_and_impossible_samples_of_processes_are_left_out_and_counted() {
    let own = std::process::id();
    let mut script = ONE.to_owned() + &format!("\nprocess 0 {own} 4096");
    script += &(0..97).map(|n| format!("\nusage 0 {} 0 {} 0", 100_000 + n, 1_000 + n)).collect::<String>();
    script += &format!("\nusage 0 {own} 500 20 0\nusage 0 {own} 900 40 0\nusage 0 {own} 950 1000 0");
    let mut bench = Bench::with("a8", &script, |sampler| sampler.with(Group::Processes));
    let processes = bench.device("GPU-0").sample.processes.unwrap();
    assert_eq!((processes.list.len(), processes.list[0].utilization, processes.rejected), (1, Some(0.4), 98));
    bench.tick();
    let processes = bench.device("GPU-0").sample.processes.unwrap();
    assert_eq!((processes.list[0].utilization, processes.rejected), (None, 100), "nothing newer: nothing told");
}

#[test]
fn a9_no_sample_of_a_process_is_an_empty_list_and_no_failure() {
    let bench = Bench::with("a9", ONE, |sampler| sampler.with(Group::Processes));
    assert_eq!(bench.device("GPU-0").sample.processes.unwrap().list, []);
    assert!(bench.calls("nvmlDeviceGetProcessUtilization") > 0, "it was asked, and said that it found nothing");
    assert!(bench.snapshot().health.read_errors.is_empty());
}

#[test]
fn a10_functions_that_an_older_driver_lacks_have_older_ones_in_their_place() {
    let lacks = ["nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetTemperatureV"];
    let fake = FakeNvml::install_without(&folder("a10"), &lacks).unwrap();
    let script = ONE.to_owned() + &format!("\nprocess 0 {} 4096", std::process::id());
    let bench = Bench::on(fake, &script, |sampler| sampler.with(Group::Processes));
    let sample = bench.device("GPU-0").sample;
    assert_eq!(sample.processes.unwrap().list.len(), 1);
    assert_eq!(sample.memory.unwrap().used, 21_474_836_480);
    assert_eq!(sample.temperature_celsius, Ok(61.0));
    assert!(bench.calls("nvmlDeviceGetMemoryInfo") > 0);

    // Nothing in its place: given up at once, for this session.
    let fake = FakeNvml::install_without(&folder("a10_none"), &["nvmlDeviceGetPowerUsage"]).unwrap();
    let mut bench = Bench::on(fake, ONE, |sampler| sampler);
    bench.pass(100);
    assert_eq!(bench.snapshot().state, State::Running);
    let errors = bench.snapshot().health.read_errors.clone();
    let of_power = errors.iter().filter(|((field, _), _)| field.as_str() == "power");
    assert_eq!(
        of_power.map(|((_, fault), count)| (fault.as_str(), *count)).collect::<Vec<_>>(),
        [("missing_symbol", 1)]
    );
}

#[test]
fn a11_without_a_counter_power_is_integrated_and_without_either_there_is_no_energy() {
    let mut bench = Bench::new("a11", &(ONE.to_owned() + "\nunset 0 energy\nset 0 power 200000"));
    bench.pass(10);
    bench.sampler.tick();
    let energy = bench.points_of("hw.energy", "GPU-0");
    assert_eq!((energy.len(), energy[0].attribute("llmperf.gpu.energy.source")), (1, "integrated_power"));
    assert!((energy[0].sum - 2_000.0).abs() < 1e-6, "{energy:?}");
    bench.tell("unset 0 power");
    let mut bench = Bench::new("a11_neither", &(ONE.to_owned() + "\nunset 0 energy\nunset 0 power"));
    bench.pass(10);
    assert!(bench.probe.points("hw.energy").is_empty());
}

#[test]
fn a12_counter_and_power_that_disagree_are_never_mixed() {
    // 187 J by the counter, 327 J by its power, in five seconds.
    let counter: String = (0..=5).map(|second| format!(" {}", 5_000_000 + second * 37_400)).collect();
    let mut bench = Bench::new("a12", &(ONE.to_owned() + &format!("\nset 0 energy{counter}\nset 0 power 65400")));
    bench.pass(5);
    bench.sampler.tick();
    let device = bench.device("GPU-0");
    assert_eq!(device.energy, [(EnergySource::Counter, 187.0)]);
    assert_eq!(device.sample.power_watts, Ok(65.4));
    assert_eq!(bench.points_of("hw.energy", "GPU-0").len(), 1);
}

#[test]
fn a13_devices_go_by_uuid_and_unclear_indices_by_nothing() {
    let both = ONE.to_owned() + TWO;
    let sampled = |test: &str, devices: &str, order: Option<&str>| {
        let bench = Bench::with(test, &both, |sampler| {
            sampler.devices(Selection::Visible).cuda_environment(Some(devices), order)
        });
        bench.snapshot().devices.iter().map(|device| device.info.id.to_string()).collect::<Vec<_>>()
    };
    // On the bus the second of NVML's list comes first.
    assert_eq!(sampled("a13_bus", "0", Some("PCI_BUS_ID")), ["GPU-1"]);
    assert_eq!(sampled("a13_uuid", "GPU-0", None), ["GPU-0"]);
    let log = Log::of(|| assert_eq!(sampled("a13_unclear", "0", None), ["GPU-0", "GPU-1"]));
    assert!(log.contains("CUDA_VISIBLE_DEVICES"), "{log}");
}

#[test]
fn a14_a_slow_driver_is_opened_once_asked_on_one_thread_and_its_lateness_is_counted() {
    let fake = FakeNvml::install(&folder("a14")).unwrap();
    fake.tell(&(ONE.to_owned() + "\nset 0 persistence 0\nsleep nvmlDeviceGetPowerUsage 120")).unwrap();
    let period = Duration::from_millis(100);
    let mut sampler =
        Sampler::new(NvmlGpus::new().library(fake.path())).devices(Selection::All).every(period).by_hand();
    let log = Log::of(|| {
        for _ in 0..3 {
            sampler.tick();
        }
    });
    let health = sampler.snapshot().health.clone();
    assert!(health.late_ticks >= 1 && health.last_tick >= period, "{health:?}");
    assert_eq!(fake.calls("nvmlInit_v2").unwrap(), 1);
    assert_eq!(log.matches("persistence mode is off").count(), 1, "{log}");
}

#[test]
fn a15_a_suspended_device_is_left_alone_and_the_driver_closed_while_all_are() {
    let sysfs = folder("a15_sysfs");
    let power = sysfs.join("0000:3b:00.0").join("power");
    fs::create_dir_all(&power).unwrap();
    let is = |status: &str| fs::write(power.join("runtime_status"), status).unwrap();
    is("active\n");
    let mut bench = Bench::with("a15", ONE, |sampler| sampler.respect_sleep_in(&sysfs));
    assert_eq!(bench.value("hw.power", "GPU-0"), Some(412.75));
    is("suspended\n");
    bench.tick();
    let asked = bench.calls("nvmlDeviceGetPowerUsage");
    (0..20).for_each(|_| bench.tick());
    assert_eq!(bench.calls("nvmlDeviceGetPowerUsage"), asked);
    assert_eq!(bench.calls("nvmlShutdown"), 1, "nothing holds the device awake");
    assert_eq!((bench.device("GPU-0").condition, bench.value("hw.power", "GPU-0")), (Condition::Asleep, None));
    is("active\n");
    bench.tick();
    assert_eq!((bench.calls("nvmlInit_v2"), bench.snapshot().state), (2, State::Running));
    bench.tick();
    assert_eq!(bench.value("hw.power", "GPU-0"), Some(412.75));
}

#[test]
fn a16_process_ids_of_the_host_are_joined_to_nobody() {
    let proc = folder("a16_proc");
    fs::create_dir_all(proc.join("self").join("ns")).unwrap();
    std::os::unix::fs::symlink("pid:[4026532999]", proc.join("self").join("ns").join("pid")).unwrap();
    let told = |test: &str, pid: u32| {
        let fake = FakeNvml::install(&folder(test)).unwrap();
        fake.tell(&(ONE.to_owned() + &format!("\nprocess 0 {pid} 4096"))).unwrap();
        let backend = NvmlGpus::new().library(fake.path()).proc(&proc);
        let bench = Bench::of(fake, backend, |sampler| sampler.with(Group::Processes));
        let count = bench.value("llmperf.gpu.processes", "GPU-0");
        assert_eq!(count, Some(1.0), "how many there are is known in any case");
        (
            bench.device("GPU-0").sample.processes.unwrap().attributable,
            bench.points_of("llmperf.gpu.process.memory.usage", "GPU-0").len(),
        )
    };
    assert_eq!(told("a16", 4_000_000), (false, 0));
    assert_eq!(told("a16_own", std::process::id()), (true, 1), "who finds itself is in the driver's namespace");
}

#[test]
fn a17_what_is_not_permitted_on_the_whole_may_be_on_its_parts() {
    let mut bench = Bench::new("a17", &(ONE.to_owned() + MIG + "\nerror nvmlDeviceGetMemoryInfo_v2 4 0"));
    (0..5).for_each(|_| bench.tick());
    assert_eq!(bench.snapshot().state, State::Running);
    assert_eq!(bench.device("GPU-0").condition, Condition::Ok);
    assert!(!bench.device("GPU-0").unified_memory, "denied is not absent");
    assert_eq!(bench.value("hw.gpu.memory.usage", "GPU-0"), None);
    assert_eq!(bench.value("hw.gpu.memory.usage", "MIG-a"), Some(4_000.0));
    assert_eq!(bench.value("hw.power", "GPU-0"), Some(412.75));
}

#[test]
fn a18_a_device_without_a_single_figure_is_reported_as_such() {
    let mut bench = Bench::new("a18", "device 0 GPU-0 Orin");
    assert_eq!(bench.device("GPU-0").condition, Condition::NoFigures);
    assert_eq!(bench.snapshot().state, State::Degraded);
    let log = Log::of(|| bench.pass(1_300));
    assert_eq!(log.lines().filter(|line| line.contains("WARN")).count(), 0, "said when it began: {log}");
    assert_eq!(bench.device("GPU-0").condition, Condition::NoFigures);
    let states = bench.points_of("hw.status", "GPU-0");
    let now = states.iter().find(|point| point.sum == 1.0).unwrap();
    assert_eq!(now.attribute("hw.state"), "degraded");
    for metric in ["hw.power", "hw.energy", "hw.gpu.utilization", "llmperf.gpu.clock.frequency"] {
        assert!(bench.probe.points(metric).is_empty(), "{metric}");
    }
}

#[test]
fn a19_what_is_not_supported_is_soon_left_alone_and_rarely_tried_again() {
    let mut bench = Bench::new("a19", &(ONE.to_owned() + "\nunset 0 temperature"));
    bench.pass(10);
    assert_eq!(bench.calls("nvmlDeviceGetTemperatureV"), 3);
    bench.pass(3_600);
    let asked = bench.calls("nvmlDeviceGetTemperatureV");
    assert!((4..=9).contains(&asked), "{asked} in an hour");
    bench.tell("set 0 temperature 55");
    bench.pass(601);
    assert_eq!(bench.value("hw.temperature", "GPU-0"), Some(55.0), "it is tried again");
    assert_eq!(bench.calls("nvmlDeviceGetPcieThroughput"), 0, "what is not exported is not asked");
}

#[test]
fn a20_devices_come_and_go_and_a_pause_lets_the_driver_go() {
    let mut bench = Bench::new("a20", &(ONE.to_owned() + TWO + "\nunplug 1"));
    assert_eq!(bench.snapshot().devices.len(), 1);
    bench.tell("plug 1");
    bench.pass(61);
    assert_eq!(bench.value("hw.power", "GPU-1"), Some(60.0), "a device that was added is found");
    bench.tell("unplug 0");
    bench.pass(61);
    assert_eq!(bench.snapshot().devices.len(), 1, "one that was taken away is gone");
    assert!(bench.points_of("hw.status", "GPU-0").is_empty());
    assert_eq!(bench.snapshot().state, State::Running);

    bench.sampler.pause();
    assert_eq!((bench.calls("nvmlShutdown"), bench.snapshot().state), (1, State::Paused));
    let asked = bench.calls("nvmlDeviceGetPowerUsage");
    bench.pass(600);
    assert_eq!(bench.calls("nvmlDeviceGetPowerUsage"), asked);
    bench.sampler.resume();
    bench.tick();
    assert_eq!(bench.snapshot().state, State::Running);
    assert_eq!(bench.value("hw.power", "GPU-1"), Some(60.0));
}
