//! Every metric of this crate as one table, and the names of its attributes.
//!
//! Names and units of the hardware conventions where there is one (OpenTelemetry semantic conventions v1.44, all in
//! development), `llmperf.gpu.*` where there is none. `docs/metrics.md` is held to [`TABLE`] by a test.

use llmperf_core::{
    metric_table,
    metrics::{Definition, Kind},
    opentelemetry::InstrumentationScope,
};

/// Boundaries of energies of calls, in joules.
const ENERGY: &[f64] =
    &[0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5];
/// Boundaries of energies per token, in joules.
const TOKEN_ENERGY: &[f64] = &[
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0,
    100.0,
];
/// Boundaries of the time that a tick takes, in seconds.
const TICK: &[f64] =
    &[0.000_1, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];

/// The scope of all metrics of this crate.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("llmperf-gpu")
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url("https://opentelemetry.io/schemas/1.44.0")
        .build()
}

/// Names of attributes.
pub(crate) mod name {
    pub(crate) use llmperf_core::semconv::{ERROR_TYPE, REQUEST_MODEL as MODEL};

    pub(crate) const HW_ID: &str = "hw.id";
    pub(crate) const HW_NAME: &str = "hw.name";
    pub(crate) const HW_VENDOR: &str = "hw.vendor";
    pub(crate) const HW_PARENT: &str = "hw.parent";
    pub(crate) const HW_DRIVER: &str = "hw.driver_version";
    pub(crate) const HW_TYPE: &str = "hw.type";
    pub(crate) const HW_STATE: &str = "hw.state";
    pub(crate) const HW_TASK: &str = "hw.gpu.task";
    pub(crate) const HW_SENSOR: &str = "hw.sensor_location";
    pub(crate) const DIRECTION: &str = "network.io.direction";
    pub(crate) const PID: &str = "process.pid";
    pub(crate) const STATE: &str = "llmperf.gpu.state";
    pub(crate) const FIELD: &str = "llmperf.gpu.field";
    pub(crate) const CLOCK: &str = "llmperf.gpu.clock.domain";
    pub(crate) const REASON: &str = "llmperf.gpu.throttle.reason";
    pub(crate) const ENERGY_SOURCE: &str = "llmperf.gpu.energy.source";
    pub(crate) const ACTIVITY: &str = "llmperf.gpu.unit";
    pub(crate) const XID: &str = "llmperf.gpu.xid";
    pub(crate) const METHOD: &str = "llmperf.gpu.method";
    pub(crate) const QUALITY: &str = "llmperf.gpu.quality";
}

metric_table! {
    Utilization: Definition::new("hw.gpu.utilization", Kind::Gauge, "1", "Fraction of time in which kernels ran, or a codec was busy; by the monitors for MIG instances");
    MemoryUsage: Definition::new("hw.gpu.memory.usage", Kind::UpDown, "By", "Memory in use");
    MemoryLimit: Definition::new("hw.gpu.memory.limit", Kind::UpDown, "By", "Memory in all");
    MemoryUtilization: Definition::new("hw.gpu.memory.utilization", Kind::Gauge, "1", "Fraction of memory in use");
    Power: Definition::new("hw.power", Kind::Gauge, "W", "Power draw; an average over a second on most devices since Ampere");
    Energy: Definition::new("hw.energy", Kind::Sum, "J", "Energy since the sampler first saw the device; it never goes back");
    Temperature: Definition::new("hw.temperature", Kind::Gauge, "Cel", "Temperature of the die");
    Errors: Definition::new("hw.errors", Kind::Counter, "{error}", "Memory errors since the driver was loaded (opt-in)");
    Status: Definition::new("hw.status", Kind::UpDown, "1", "1 for the state that the device is in, 0 for the others");

    MemoryActivity: Definition::new("llmperf.gpu.memory.activity", Kind::Gauge, "1", "Fraction of time in which memory was read or written");
    Clock: Definition::new("llmperf.gpu.clock.frequency", Kind::Gauge, "Hz", "Clock of multiprocessors and memory");
    Throttled: Definition::new("llmperf.gpu.throttled", Kind::Gauge, "1", "1 if the reason holds the clocks down, else 0");
    PowerLimit: Definition::new("llmperf.gpu.power.limit", Kind::Gauge, "W", "The power that the device is held to");
    Activity: Definition::new("llmperf.gpu.activity", Kind::Gauge, "1", "Activity by the performance monitors (opt-in, Hopper and newer)");
    Pcie: Definition::new("llmperf.gpu.pcie.throughput", Kind::Gauge, "By/s", "Traffic on the PCI bus over 20 ms (opt-in)");
    NvLink: Definition::new("llmperf.gpu.nvlink.io", Kind::Counter, "By", "Traffic on all NVLinks since the driver was loaded (opt-in)");
    Xids: Definition::new("llmperf.gpu.xid.errors", Kind::Counter, "{error}", "Errors that the driver reported by itself (opt-in)");
    XidSeen: Definition::new("llmperf.gpu.xid.last_seen", Kind::Gauge, "s", "When the last of them was seen, in Unix time: a rate misses the first");
    Processes: Definition::new("llmperf.gpu.processes", Kind::UpDown, "{process}", "Processes that use the device (opt-in)");
    ProcessMemory: Definition::new("llmperf.gpu.process.memory.usage", Kind::UpDown, "By", "Memory that a process holds (opt-in)");
    ProcessUtilization: Definition::new("llmperf.gpu.process.utilization", Kind::Gauge, "1", "Fraction of time in which its kernels ran (opt-in)");

    CallEnergy: Definition::new("llmperf.gpu.call.energy", Kind::Histogram(ENERGY), "J", "Energy of a call to a model on these GPUs, once the sample behind its end came");
    TokenEnergy: Definition::new("llmperf.gpu.token.energy", Kind::Histogram(TOKEN_ENERGY), "J", "That energy per output token of the call");
    FleetEnergy: Definition::new("llmperf.gpu.token.energy.average", Kind::Gauge, "J", "All energy of the model's GPUs per output token of its calls, over five minutes");

    SamplerState: Definition::new("llmperf.gpu.sampler.state", Kind::UpDown, "{state}", "1 for the state that the sampler is in, 0 for the others");
    SampleAge: Definition::new("llmperf.gpu.sampler.age", Kind::Gauge, "s", "Age of the last sample");
    TickDuration: Definition::new("llmperf.gpu.sample.duration", Kind::Histogram(TICK), "s", "How long a tick took for all devices");
    LateTicks: Definition::new("llmperf.gpu.sampler.late_ticks", Kind::Counter, "{tick}", "Ticks that took longer than the time between two");
    ReadErrors: Definition::new("llmperf.gpu.sampler.read_errors", Kind::Counter, "{error}", "Figures that had no value, by what the driver said");
    OpenErrors: Definition::new("llmperf.gpu.sampler.open_errors", Kind::Counter, "{error}", "Failures to open the driver or to list its devices");
    EnergyDiscarded: Definition::new("llmperf.gpu.sampler.energy_breaks", Kind::Counter, "{event}", "Energy counters that went back or told what cannot be");
    Untracked: Definition::new("llmperf.gpu.sampler.untracked_calls", Kind::Counter, "{call}", "Calls whose energy could not be watched: too many at once, or the driver was closed meanwhile");
}

impl Metric {
    /// Its row.
    pub(crate) fn definition(self) -> Definition {
        match TABLE.get(self as usize) {
            Some(definition) => *definition,
            None => Definition::new("llmperf.gpu.unknown", Kind::Gauge, "1", ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_stands_once_and_boundaries_rise() {
        let names: HashSet<_> = TABLE.iter().map(|definition| definition.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for bounds in [ENERGY, TOKEN_ENERGY, TICK] {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn a_metric_finds_its_row() {
        assert_eq!(Metric::Utilization.definition().name, "hw.gpu.utilization");
        assert_eq!(Metric::Untracked.definition().name, "llmperf.gpu.sampler.untracked_calls");
        assert_eq!(Metric::Untracked as usize + 1, TABLE.len());
    }
}
