//! GPUs that do as they are told: a backend in memory, for tests without a driver.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    BackendError, Clock, DeviceId, DeviceInfo, DeviceSample, Fault, Field, Fields, Found, GpuBackend, Incident,
};

/// A driver that is scripted while the sampler runs on it. Clones are the same driver.
///
/// ```
/// use llmperf_gpu::{DeviceInfo, DeviceSample, Sampler, ScriptedGpus};
///
/// let gpus = ScriptedGpus::new();
/// gpus.plug(DeviceInfo::new("GPU-0", "Test GPU"));
/// gpus.tell("GPU-0", |sample: &mut DeviceSample| sample.power_watts = Ok(250.0));
/// let sampler = Sampler::new(gpus.clone());
/// # drop(sampler);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ScriptedGpus(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    opens: Option<Fault>,
    open: bool,
    opened: u64,
    asked: u64,
    devices: BTreeMap<DeviceId, Device>,
    incidents: Vec<Incident>,
    slow: Option<(Clock, Duration)>,
    blocks: Option<Arc<Mutex<()>>>,
}

#[derive(Debug)]
struct Device {
    info: DeviceInfo,
    sample: DeviceSample,
    silent: Option<Fault>,
}

impl ScriptedGpus {
    /// A driver without devices.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a device, or replaces what is known of it. It tells nothing but "not supported" until it is told what to
    /// [tell](Self::tell).
    pub fn plug(&self, info: DeviceInfo) {
        let sample = DeviceSample::failed(Field::ALL.iter().copied().collect(), Fault::NotSupported);
        self.script().devices.insert(info.id.clone(), Device { info, sample, silent: None });
    }

    /// Takes a device away.
    pub fn unplug(&self, device: &str) {
        self.script().devices.remove(&DeviceId::from(device));
    }

    /// Changes what a device tells.
    pub fn tell(&self, device: &str, change: impl FnOnce(&mut DeviceSample)) {
        if let Some(device) = self.script().devices.get_mut(&DeviceId::from(device)) {
            change(&mut device.sample);
        }
    }

    /// Makes a device answer with nothing but this, or answer again.
    pub fn silence(&self, device: &str, fault: Option<Fault>) {
        if let Some(device) = self.script().devices.get_mut(&DeviceId::from(device)) {
            device.silent = fault;
        }
    }

    /// Makes the driver refuse to be opened, or let itself be opened again. A driver that is open stays open.
    pub fn refuse(&self, fault: Option<Fault>) {
        self.script().opens = fault;
    }

    /// Reports an incident.
    pub fn report(&self, incident: Incident) {
        self.script().incidents.push(incident);
    }

    /// Makes each sample of a device take so long on a manual clock.
    pub fn slow_down(&self, clock: &Clock, by: Duration) {
        self.script().slow = Some((clock.clone(), by));
    }

    /// Makes samples block for as long as the mutex is locked.
    pub fn block_on(&self, gate: Arc<Mutex<()>>) {
        self.script().blocks = Some(gate);
    }

    /// How often it was opened, successfully or not.
    #[must_use]
    pub fn times_opened(&self) -> u64 {
        self.script().opened
    }

    /// How many fields were asked for, of all devices.
    #[must_use]
    pub fn fields_asked(&self) -> u64 {
        self.script().asked
    }

    /// Whether it is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.script().open
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GpuBackend for ScriptedGpus {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn open(&mut self) -> Result<(), BackendError> {
        let mut script = self.script();
        script.opened += 1;
        match script.opens {
            Some(fault) => Err(fault.into()),
            None => {
                script.open = true;
                Ok(())
            }
        }
    }

    fn devices(&mut self) -> Result<Vec<Found>, BackendError> {
        let script = self.script();
        let found = script.devices.values().map(|device| match device.silent {
            Some(fault) if fault.is_lost() => Found::silent(device.info.index, fault),
            _ => Found::device(device.info.clone()),
        });
        Ok(found.collect())
    }

    fn sample(&mut self, device: &DeviceId, plan: Fields) -> DeviceSample {
        let mut script = self.script();
        script.asked += plan.iter().count() as u64;
        if let Some((clock, by)) = &script.slow {
            clock.advance(*by);
        }
        let sample = match script.devices.get(device) {
            None => DeviceSample::failed(plan, Fault::GpuLost),
            Some(Device { silent: Some(fault), .. }) => DeviceSample::failed(plan, *fault),
            Some(device) => {
                let mut sample = device.sample.clone();
                for field in Field::ALL.iter().filter(|field| !plan.contains(**field)) {
                    sample.withhold(*field, crate::Absence::NotAsked);
                }
                sample
            }
        };
        let gate = script.blocks.clone();
        drop(script);
        if let Some(gate) = gate {
            drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
        }
        sample
    }

    fn incidents(&mut self) -> Vec<Incident> {
        std::mem::take(&mut self.script().incidents)
    }

    fn forget(&mut self, _: &DeviceId) {}

    fn close(&mut self) {
        self.script().open = false;
    }
}
