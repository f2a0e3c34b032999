//! Energy read more often than the rest, and lists that grow while they are read.

use std::time::Duration;

use llmperf_gpu::Group;

use crate::bench::{Bench, ONE};

#[test]
fn energy_and_power_may_be_read_more_often_than_the_rest() {
    let mut bench = Bench::with("fast", ONE, |sampler| sampler.energy_every(Duration::from_millis(100)));
    bench.pass(10);
    assert_eq!(bench.calls("nvmlDeviceGetTotalEnergyConsumption"), 101);
    assert_eq!(bench.calls("nvmlDeviceGetPowerUsage"), 101);
    assert_eq!(bench.calls("nvmlDeviceGetUtilizationRates"), 11);
    assert_eq!(bench.value("hw.gpu.utilization", "GPU-0"), Some(0.37), "the rest stays told in between");
}

#[test]
fn a_list_that_grows_while_it_is_read_is_read_again_and_then_left() {
    let own = format!("\nprocess 0 {} 4096", std::process::id());
    for (grown, processes) in [(5, Some(6)), (6, None)] {
        let script = ONE.to_owned() + &own + &format!("\ngrow nvmlDeviceGetComputeRunningProcesses_v3 {grown}");
        let test = format!("grow_{grown}");
        let bench = Bench::with(&test, &script, |sampler| sampler.with(Group::Processes));
        let sample = bench.device("GPU-0").sample;
        assert_eq!(sample.processes.ok().map(|processes| processes.list.len()), processes);
        assert_eq!(bench.value("hw.power", "GPU-0"), Some(412.75));
    }
}
