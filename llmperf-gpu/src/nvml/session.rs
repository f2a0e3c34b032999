//! One life of the library: its instance and everything that was got from it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use nvml_wrapper::{
    Device, Nvml,
    enum_wrappers::device::{Clock, EccCounter, MemoryError, PcieUtilCounter},
    error::NvmlError,
};

use super::{
    fault, identity, monitors, processes,
    raw::{self, Events, Handle, Taken},
};
use crate::{
    BackendError, Codec, DeviceId, DeviceSample, Ecc, Fault, Field, Fields, Found, Incident, Memory, Reading, Throttle,
    Traffic, Utilization,
};

/// Most reports of the driver that are taken in at a time.
const MOST_REPORTS: usize = 64;

/// NVML, and the handles that it gave. They are given up before it is shut down and unloaded, by its own drop.
pub(super) struct Session {
    nvml: Nvml,
    proc: PathBuf,
    watch: bool,
    events: Option<Events>,
    devices: BTreeMap<DeviceId, Known>,
}

/// What is kept of a device.
pub(super) struct Known {
    pub(super) handle: Handle,
    /// The handle of the device that it is a part of, and its number within it.
    pub(super) within: Option<(Handle, u32)>,
    /// The last sample of its performance monitors.
    pub(super) taken: Option<Taken>,
    /// Whether it has such monitors, once that was asked.
    pub(super) monitored: Option<bool>,
    /// The newest sample of a process' utilisation that was seen.
    pub(super) last_usage: u64,
}

impl Session {
    pub(super) fn new(nvml: Nvml, proc: &Path, watch: bool) -> Self {
        Self { nvml, proc: proc.to_owned(), watch, events: None, devices: BTreeMap::new() }
    }

    pub(super) fn devices(&mut self) -> Result<Vec<Found>, BackendError> {
        let all = identity::list(&self.nvml)?;
        let mut before = std::mem::take(&mut self.devices);
        let mut found = Vec::new();
        let mut changed = false;
        for listed in all {
            if let (Ok(info), Some((handle, within))) = (&listed.found.device, listed.handle) {
                let known = before.remove(&info.id).filter(|known| known.handle == handle);
                changed |= known.is_none();
                let fresh = Known { handle, within, taken: None, monitored: None, last_usage: 0 };
                self.devices.insert(info.id.clone(), known.unwrap_or(fresh));
            }
            found.push(listed.found);
        }
        before.into_values().for_each(|gone| self.release(gone));
        if self.watch && changed {
            self.watch_all();
        }
        Ok(found)
    }

    /// Registers all devices for the driver's reports, in a new set: the wrapper gives a set up if one device refuses.
    fn watch_all(&mut self) {
        if let Some(events) = self.events.take() {
            events.free(&self.nvml);
        }
        #[cfg(target_os = "linux")]
        {
            use nvml_wrapper::bitmasks::event::EventTypes;
            if !raw::can_free_events(&self.nvml) {
                return;
            }
            let whole = self.devices.values().filter(|known| known.within.is_none());
            let willing = whole.filter(|known| {
                let device = known.handle.device(&self.nvml);
                device.supported_event_types().map_or(true, |types| types.contains(EventTypes::CRITICAL_XID_ERROR))
            });
            let Ok(mut set) = self.nvml.create_event_set() else { return };
            for known in willing {
                match known.handle.device(&self.nvml).register_events(EventTypes::CRITICAL_XID_ERROR, set) {
                    Ok(same) => set = same,
                    Err(_) => return,
                }
            }
            self.events = Some(Events::keep(set));
        }
    }

    pub(super) fn incidents(&mut self) -> Vec<Incident> {
        let Some(events) = &self.events else { return Vec::new() };
        let mut incidents = Vec::new();
        events.with(&self.nvml, |set| {
            // No waiting: what is not there by now comes with the next tick.
            while incidents.len() < MOST_REPORTS {
                let Ok(report) = set.wait(0) else { break };
                let handle = Handle::of(&report.device);
                let device = self.devices.iter().find(|(_, known)| known.handle == handle);
                if let Some((device, _)) = device {
                    incidents.push(Incident::now(device.clone(), xid(&report)));
                }
            }
        });
        incidents
    }

    pub(super) fn sample(&mut self, device: &DeviceId, plan: Fields) -> DeviceSample {
        let Some(known) = self.devices.get_mut(device) else { return DeviceSample::failed(plan, Fault::GpuLost) };
        let mut asked = Asked { nvml: &self.nvml, known, sample: DeviceSample::nothing() };
        for field in plan.iter() {
            // A device that is lost is asked nothing more.
            if asked.ask(field, &self.proc).is_err_and(|absence| absence.fault().is_some_and(Fault::is_lost)) {
                break;
            }
        }
        asked.sample
    }

    pub(super) fn forget(&mut self, device: &DeviceId) {
        if let Some(known) = self.devices.remove(device) {
            self.release(known);
        }
    }

    fn release(&self, known: Known) {
        if let Some(taken) = known.taken {
            drop(taken.sample(&self.nvml));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        std::mem::take(&mut self.devices).into_values().for_each(|known| self.release(known));
        if let Some(events) = self.events.take() {
            events.free(&self.nvml);
        }
    }
}

#[cfg(target_os = "linux")]
fn xid(report: &nvml_wrapper::struct_wrappers::event::EventData<'_>) -> u64 {
    use nvml_wrapper::enums::event::XidError;
    match report.event_data {
        Some(XidError::Value(xid)) => xid,
        // How NVML says that it does not know.
        _ => 999,
    }
}

#[cfg(not(target_os = "linux"))]
fn xid(_: &nvml_wrapper::struct_wrappers::event::EventData<'_>) -> u64 {
    999
}

/// One device on the way to a sample.
struct Asked<'a> {
    nvml: &'a Nvml,
    known: &'a mut Known,
    sample: DeviceSample,
}

impl Asked<'_> {
    fn ask(&mut self, field: Field, proc: &Path) -> Reading<()> {
        let (nvml, handle) = (self.nvml, self.known.handle);
        let device = handle.device(nvml);
        let sample = &mut self.sample;
        match field {
            Field::Utilization => sample.utilization = utilization(&device),
            Field::Memory => sample.memory = memory(nvml, handle),
            Field::Power => sample.power_watts = read(device.power_usage()).map(watts),
            Field::Energy => sample.energy_millijoules = read(device.total_energy_consumption()),
            Field::Temperature => sample.temperature_celsius = temperature(nvml, handle),
            Field::SmClock => sample.sm_clock_hertz = read(device.clock_info(Clock::SM)).map(hertz),
            Field::MemoryClock => sample.memory_clock_hertz = read(device.clock_info(Clock::Memory)).map(hertz),
            Field::Throttle => sample.throttle = throttle(nvml, handle),
            Field::Codec => sample.codec = codec(&device),
            Field::Pcie => sample.pcie = pcie(&device),
            Field::NvLink => sample.nvlink = raw::nvlink(nvml, handle).map_err(Into::into),
            Field::Ecc => sample.ecc = ecc(&device),
            Field::Gpm => sample.gpm = monitors::activity(nvml, self.known),
            Field::Processes => sample.processes = processes::of(&device, &mut self.known.last_usage, proc),
        }
        sample.status(field)
    }
}

/// A result of the wrapper as a reading.
pub(super) fn read<T>(result: Result<T, NvmlError>) -> Reading<T> {
    result.map_err(|error| fault(&error).into())
}

fn utilization(device: &Device<'_>) -> Reading<Utilization> {
    let busy = read(device.utilization_rates())?;
    Ok(Utilization::new(ratio(busy.gpu), Some(ratio(busy.memory))))
}

fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1e3
}

fn ratio(percent: u32) -> f64 {
    f64::from(percent) / 100.0
}

fn hertz(megahertz: u32) -> u64 {
    u64::from(megahertz) * 1_000_000
}

fn memory(nvml: &Nvml, handle: Handle) -> Reading<Memory> {
    if raw::has_only_old_memory(nvml) {
        return raw::old_memory(nvml, handle).map_err(Into::into);
    }
    read(handle.device(nvml).memory_info()).map(|memory| Memory::new(memory.total, memory.used))
}

/// By the newer function, and by the deprecated one where that is missing.
#[allow(deprecated, reason = "drivers before R560 have no other")]
fn temperature(nvml: &Nvml, handle: Handle) -> Reading<f64> {
    match raw::temperature(nvml, handle) {
        Err(fault) if fault.is_unsupported() => {
            use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
            read(handle.device(nvml).temperature(TemperatureSensor::Gpu)).map(f64::from)
        }
        answer => answer.map_err(Into::into),
    }
}

/// By the newer function, and by the deprecated one where that is missing.
fn throttle(nvml: &Nvml, handle: Handle) -> Reading<Throttle> {
    match raw::clock_event_reasons(nvml, handle) {
        Err(fault) if fault.is_unsupported() => {
            read(handle.device(nvml).current_throttle_reasons()).map(|reasons| Throttle::from_bits(reasons.bits()))
        }
        answer => answer.map(Throttle::from_bits).map_err(Into::into),
    }
}

fn codec(device: &Device<'_>) -> Reading<Codec> {
    let (encoder, decoder) = (read(device.encoder_utilization())?, read(device.decoder_utilization())?);
    Ok(Codec::new(ratio(encoder.utilization), ratio(decoder.utilization)))
}

/// NVML tells thousands of bytes per second.
fn pcie(device: &Device<'_>) -> Reading<Traffic> {
    let sent = read(device.pcie_throughput(PcieUtilCounter::Send))?;
    let received = read(device.pcie_throughput(PcieUtilCounter::Receive))?;
    Ok(Traffic::new(u64::from(sent) * 1_000, u64::from(received) * 1_000))
}

fn ecc(device: &Device<'_>) -> Reading<Ecc> {
    let errors = |kind| read(device.total_ecc_errors(kind, EccCounter::Volatile));
    Ok(Ecc::new(errors(MemoryError::Corrected)?, errors(MemoryError::Uncorrected)?))
}
