//! Instruments that are observed: whenever metrics are collected they read the last snapshot, and never a driver.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use llmperf_core::{
    metrics::Kind,
    opentelemetry::{KeyValue, metrics::Meter},
};

use crate::{
    DeviceSnapshot, GpuSnapshot, SamplerState, Throttle,
    metrics::{Metric, name},
    snapshot::Shared,
};

/// Most processes of a device that have series of their own.
const MOST_PROCESSES: usize = 64;

/// Makes all observed instruments of a meter. They last as long as its provider, and fall silent with the sampler.
pub(crate) fn observe(meter: &Meter, shared: &Arc<Shared>) {
    for metric in OBSERVED {
        let (definition, shared) = (metric.definition(), Arc::downgrade(shared));
        macro_rules! build {
            ($builder:ident, $number:ty) => {{
                let builder = meter.$builder(definition.name).with_unit(definition.unit);
                let builder = builder.with_description(definition.description);
                let seen = move |observer: &dyn llmperf_core::opentelemetry::metrics::AsyncInstrument<$number>| {
                    each(&shared, *metric, &mut |value, attributes| observer.observe(value as $number, attributes));
                };
                let _instrument = builder.with_callback(seen).build();
            }};
        }
        match definition.kind {
            Kind::Gauge => build!(f64_observable_gauge, f64),
            Kind::Sum => build!(f64_observable_counter, f64),
            Kind::Counter => build!(u64_observable_counter, u64),
            Kind::UpDown => build!(i64_observable_up_down_counter, i64),
            _ => {}
        }
    }
}

/// The metrics that are observed; the others are recorded when something happens.
const OBSERVED: &[Metric] = &[
    Metric::Utilization,
    Metric::MemoryUsage,
    Metric::MemoryLimit,
    Metric::MemoryUtilization,
    Metric::Power,
    Metric::Energy,
    Metric::Temperature,
    Metric::Errors,
    Metric::Status,
    Metric::MemoryActivity,
    Metric::Clock,
    Metric::Throttled,
    Metric::PowerLimit,
    Metric::Activity,
    Metric::Pcie,
    Metric::NvLink,
    Metric::Xids,
    Metric::XidSeen,
    Metric::Processes,
    Metric::ProcessMemory,
    Metric::ProcessUtilization,
    Metric::FleetEnergy,
    Metric::SamplerState,
    Metric::SampleAge,
    Metric::LateTicks,
    Metric::ReadErrors,
    Metric::OpenErrors,
    Metric::EnergyDiscarded,
    Metric::Untracked,
];

/// Receives one value with its attributes.
type Sink<'a> = &'a mut dyn FnMut(f64, &[KeyValue]);

/// All values of a metric, as of now.
fn each(shared: &Weak<Shared>, metric: Metric, sink: Sink<'_>) {
    let Some(shared) = shared.upgrade() else { return };
    let snapshot = shared.snapshot();
    of_sampler(&shared, &snapshot, metric, sink);
    for device in &snapshot.devices {
        if metric == Metric::Status {
            // A device that is lost or asleep tells nothing; of one that told something long ago nothing is known.
            if device.sampled.is_none() || shared.is_fresh(device.sampled) {
                status(device, sink);
            }
        } else if shared.is_fresh(device.sampled) {
            Told { device, sink }.of(metric);
        }
    }
}

fn status(device: &DeviceSnapshot, sink: Sink<'_>) {
    for state in ["ok", "degraded", "failed"] {
        let mut attributes = identity(device);
        attributes.extend([KeyValue::new(name::HW_STATE, state), KeyValue::new(name::HW_TYPE, "gpu")]);
        sink(f64::from(u8::from(device.condition.hw_state() == state)), &attributes);
    }
}

fn of_sampler(shared: &Shared, snapshot: &GpuSnapshot, metric: Metric, sink: Sink<'_>) {
    let health = &snapshot.health;
    match metric {
        Metric::SamplerState => {
            for state in SamplerState::ALL {
                let is = f64::from(u8::from(state == snapshot.state));
                sink(is, &[KeyValue::new(name::STATE, state.as_str())]);
            }
        }
        Metric::SampleAge => {
            if let Some(sampled) = snapshot.sampled {
                sink(shared.age(sampled).as_secs_f64(), &[]);
            }
        }
        Metric::LateTicks => sink(health.late_ticks as f64, &[]),
        Metric::ReadErrors => {
            let errors = health.read_errors.iter();
            for ((field, fault), count) in
                told_together(errors.map(|((field, fault), n)| ((*field, fault.as_str()), n)))
            {
                let attributes = [KeyValue::new(name::ERROR_TYPE, fault), KeyValue::new(name::FIELD, field.as_str())];
                sink(count as f64, &attributes);
            }
        }
        Metric::OpenErrors => {
            let errors = health.open_errors.iter();
            for (fault, count) in told_together(errors.map(|(fault, n)| (fault.as_str(), n))) {
                sink(count as f64, &[KeyValue::new(name::ERROR_TYPE, fault)]);
            }
        }
        Metric::EnergyDiscarded => {
            sink(health.energy_resets as f64, &[KeyValue::new(name::ERROR_TYPE, "reset")]);
            sink(health.energy_rejected as f64, &[KeyValue::new(name::ERROR_TYPE, "out_of_range")]);
        }
        Metric::Untracked => sink(health.calls_untracked as f64, &[]),
        Metric::FleetEnergy => {
            for average in &snapshot.fleet {
                sink(average.joules_per_token, &[KeyValue::new(name::MODEL, average.model.clone())]);
            }
        }
        _ => {}
    }
}

/// Codes that have no name of their own share one, so they are one series.
fn told_together<'a, K: Ord>(counts: impl Iterator<Item = (K, &'a u64)>) -> BTreeMap<K, u64> {
    let mut together = BTreeMap::new();
    counts.for_each(|(key, count)| *together.entry(key).or_default() += count);
    together
}

/// What one device told.
struct Told<'a, 'b> {
    device: &'a DeviceSnapshot,
    sink: Sink<'b>,
}

impl Told<'_, '_> {
    fn of(&mut self, metric: Metric) {
        let sample = &self.device.sample;
        match metric {
            Metric::Utilization => self.utilization(),
            Metric::MemoryUsage => self.tell(sample.memory.ok().map(|memory| memory.used as f64), []),
            Metric::MemoryLimit => self.tell(sample.memory.ok().map(|memory| memory.total as f64), []),
            Metric::MemoryUtilization => {
                let share = sample.memory.ok().filter(|memory| memory.total > 0);
                self.tell(share.map(|memory| memory.used as f64 / memory.total as f64), []);
            }
            Metric::Power => self.tell(sample.power_watts.ok(), [KeyValue::new(name::HW_TYPE, "gpu")]),
            Metric::Energy => {
                for (source, joules) in &self.device.energy {
                    let source = KeyValue::new(name::ENERGY_SOURCE, source.as_str());
                    self.tell(Some(*joules), [KeyValue::new(name::HW_TYPE, "gpu"), source]);
                }
            }
            Metric::Temperature => {
                self.tell(sample.temperature_celsius.ok(), [KeyValue::new(name::HW_SENSOR, "die")]);
            }
            Metric::Errors => {
                if let Ok(ecc) = sample.ecc {
                    for (kind, count) in [("corrected", ecc.corrected), ("uncorrected", ecc.uncorrected)] {
                        let kind = KeyValue::new(name::ERROR_TYPE, kind);
                        self.tell(Some(count as f64), [kind, KeyValue::new(name::HW_TYPE, "gpu")]);
                    }
                }
            }
            Metric::MemoryActivity => {
                self.tell(sample.utilization.ok().and_then(|busy| busy.memory_controller), []);
            }
            Metric::Clock => {
                for (domain, clock) in [("sm", sample.sm_clock_hertz), ("memory", sample.memory_clock_hertz)] {
                    self.tell(clock.ok().map(|hertz| hertz as f64), [KeyValue::new(name::CLOCK, domain)]);
                }
            }
            Metric::Throttled => {
                if let Ok(throttle) = sample.throttle {
                    for (reason, bit) in Throttle::REASONS {
                        let is = f64::from(u8::from(throttle.contains(bit)));
                        self.tell(Some(is), [KeyValue::new(name::REASON, reason)]);
                    }
                }
            }
            Metric::PowerLimit => self.tell(self.device.info.power_limit_watts, []),
            Metric::Activity => self.activity(),
            Metric::Pcie | Metric::NvLink => {
                let traffic = if metric == Metric::Pcie { sample.pcie } else { sample.nvlink };
                if let Ok(traffic) = traffic {
                    for (direction, bytes) in [("transmit", traffic.sent), ("receive", traffic.received)] {
                        self.tell(Some(bytes as f64), [KeyValue::new(name::DIRECTION, direction)]);
                    }
                }
            }
            Metric::Xids | Metric::XidSeen => {
                for (xid, seen) in &self.device.incidents {
                    let last = seen.last.duration_since(std::time::UNIX_EPOCH).ok().map(|unix| unix.as_secs_f64());
                    let value = if metric == Metric::Xids { Some(seen.count as f64) } else { last };
                    self.tell(value, [KeyValue::new(name::XID, i64::try_from(*xid).unwrap_or(-1))]);
                }
            }
            Metric::Processes | Metric::ProcessMemory | Metric::ProcessUtilization => self.processes(metric),
            _ => {}
        }
    }

    fn utilization(&mut self) {
        let sample = &self.device.sample;
        // Parts of devices have no utilisation but by the monitors.
        let by_monitors = sample
            .gpm
            .ok()
            .and_then(|gpm| gpm.graphics.or(gpm.sm))
            .filter(|_| self.device.info.parent.is_some() || self.device.info.partitioned);
        let general = sample.utilization.ok().map(|busy| busy.compute).or(by_monitors);
        self.tell(general, [KeyValue::new(name::HW_TASK, "general")]);
        if let Ok(codec) = sample.codec {
            self.tell(Some(codec.encoder), [KeyValue::new(name::HW_TASK, "encoder")]);
            self.tell(Some(codec.decoder), [KeyValue::new(name::HW_TASK, "decoder")]);
        }
    }

    fn activity(&mut self) {
        let Ok(gpm) = self.device.sample.gpm else { return };
        let units = [
            ("graphics", gpm.graphics),
            ("sm", gpm.sm),
            ("occupancy", gpm.occupancy),
            ("tensor", gpm.tensor),
            ("dram", gpm.dram),
        ];
        for (unit, share) in units {
            self.tell(share, [KeyValue::new(name::ACTIVITY, unit)]);
        }
    }

    fn processes(&mut self, metric: Metric) {
        let Ok(processes) = &self.device.sample.processes else { return };
        if metric == Metric::Processes {
            self.tell(Some(processes.list.len() as f64), []);
            return;
        }
        // Ids of another namespace would be joined to the wrong process.
        for process in processes.list.iter().take(MOST_PROCESSES).filter(|_| processes.attributable) {
            let value = match metric {
                Metric::ProcessMemory => process.memory.map(|bytes| bytes as f64),
                _ => process.utilization,
            };
            self.tell(value, [KeyValue::new(name::PID, i64::from(process.pid))]);
        }
    }

    /// Tells a value, if there is one, with what it is of.
    fn tell<const MORE: usize>(&mut self, value: Option<f64>, more: [KeyValue; MORE]) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            let mut attributes = identity(self.device);
            attributes.extend(more);
            (self.sink)(value, &attributes);
        }
    }
}

fn identity(device: &DeviceSnapshot) -> Vec<KeyValue> {
    let info = &device.info;
    let mut attributes = Vec::with_capacity(8);
    attributes.extend(device.serves.clone().map(|model| KeyValue::new(name::MODEL, model)));
    attributes.extend(info.driver_version.clone().map(|version| KeyValue::new(name::HW_DRIVER, version)));
    attributes.push(KeyValue::new(name::HW_ID, info.id.as_str().to_owned()));
    attributes.push(KeyValue::new(name::HW_NAME, info.name.clone()));
    attributes.extend(info.parent.as_ref().map(|parent| KeyValue::new(name::HW_PARENT, parent.as_str().to_owned())));
    attributes.push(KeyValue::new(name::HW_VENDOR, info.vendor));
    attributes
}
