//! The only unsafe code of this crate: what nvml-wrapper 0.13 does not wrap, and handles that outlive a borrow.
//!
//! **Handles.** `Device<'nvml>` borrows its `Nvml` and cannot be kept beside it, and finding a device anew at each tick would
//! be a driver call. A [`Handle`] is the number inside; it is only ever used with the `Nvml` that gave it, because both
//! live in one [`Session`](super::session::Session) that never replaces its `Nvml`. The same holds for event sets and for
//! samples of the monitors, which are freed before it.
//!
//! **Calls.** Functions of NVML that came to stand in for deprecated ones (`TemperatureV`, `ClocksEventReasons`), an older one
//! that the wrapper dropped (`MemoryInfo`), field values of a scope, and the id of a MIG instance. Each has the signature that
//! nvml-wrapper-sys took from NVIDIA's header, and writes to memory that is ours and lives until it returns.

#![allow(unsafe_code, reason = "the only file of the crate that needs it; its head says why")]

use nvml_wrapper::{Device, EventSet, GpmSample, Nvml};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEventSet_t, nvmlFieldValue_t, nvmlGpmSample_t, nvmlMemory_t, nvmlReturn_t, nvmlTemperature_t,
    nvmlValue_t,
};

use crate::{Fault, Memory, Traffic};

/// All links of a device together.
const ALL_LINKS: u32 = u32::MAX;
/// Bytes that a device sent on NVLink, in KiB.
const NVLINK_SENT: u32 = 138;
/// Bytes that it received, in KiB.
const NVLINK_RECEIVED: u32 = 139;
/// The only sensor that there is, the die's.
const DIE: u32 = 0;
/// Of `nvmlTemperature_v1_t`: its size, and 1 in the highest byte.
const TEMPERATURE_VERSION: u32 = (size_of::<nvmlTemperature_t>() as u32) | (1 << 24);

/// Whether the library can be shut down; dropping an `Nvml` that cannot panics.
pub(super) fn can_shut_down(nvml: &Nvml) -> bool {
    nvml.lib().nvmlShutdown.is_ok()
}

/// Whether the library can free samples of the monitors; dropping one that it cannot panics.
pub(super) fn can_free_samples(nvml: &Nvml) -> bool {
    nvml.lib().nvmlGpmSampleFree.is_ok()
}

/// Whether the library can free event sets; dropping one that it cannot panics.
#[cfg(target_os = "linux")]
pub(super) fn can_free_events(nvml: &Nvml) -> bool {
    nvml.lib().nvmlEventSetFree.is_ok()
}

/// Whether the library has an older memory function and not the newer: a driver before R510.
pub(super) fn has_only_old_memory(nvml: &Nvml) -> bool {
    nvml.lib().nvmlDeviceGetMemoryInfo_v2.is_err() && nvml.lib().nvmlDeviceGetMemoryInfo.is_ok()
}

/// A device of the session's `Nvml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle(usize);

impl Handle {
    pub(super) fn of(device: &Device<'_>) -> Self {
        // SAFETY: the number is only read.
        Self(unsafe { device.handle() } as usize)
    }

    /// The device. `nvml` is the one that the handle came from.
    pub(super) fn device(self, nvml: &Nvml) -> Device<'_> {
        // SAFETY: the handle came from a `Device` of this very `Nvml` (see the head of the file), which is alive.
        unsafe { Device::new(self.raw(), nvml) }
    }

    fn raw(self) -> nvmlDevice_t {
        self.0 as nvmlDevice_t
    }
}

/// Events that the session's `Nvml` collects.
#[derive(Debug)]
pub(super) struct Events(usize);

impl Events {
    /// Keeps a set beyond its borrow.
    #[cfg(target_os = "linux")]
    pub(super) fn keep(set: EventSet<'_>) -> Self {
        let set = std::mem::ManuallyDrop::new(set);
        // SAFETY: the number is only read.
        Self(unsafe { set.handle() } as usize)
    }

    /// Looks at the set without giving it up. `nvml` is the one that it came from.
    pub(super) fn with<T>(&self, nvml: &Nvml, look: impl FnOnce(&EventSet<'_>) -> T) -> T {
        // SAFETY: the set came from this `Nvml` and was not freed.
        let set = std::mem::ManuallyDrop::new(unsafe { EventSet::new(self.0 as nvmlEventSet_t, nvml) });
        look(&set)
    }

    /// Frees the set. `nvml` is the one that it came from.
    pub(super) fn free(self, nvml: &Nvml) {
        // SAFETY: the set came from this `Nvml` and was not freed; nobody has it after this.
        drop(unsafe { EventSet::new(self.0 as nvmlEventSet_t, nvml) });
    }
}

/// A sample of the performance monitors of the session's `Nvml`.
#[derive(Debug)]
pub(super) struct Taken(usize);

impl Taken {
    /// Keeps a sample beyond its borrow.
    pub(super) fn keep(sample: GpmSample<'_>) -> Self {
        Self(sample.into_handle() as usize)
    }

    /// The sample itself, which is freed when it is dropped. `nvml` is the one that it came from.
    pub(super) fn sample(self, nvml: &Nvml) -> GpmSample<'_> {
        // SAFETY: the sample came from this `Nvml` and was not freed; nobody else has it after this.
        unsafe { GpmSample::from_handle(nvml, self.0 as nvmlGpmSample_t) }
    }
}

/// Degrees Celsius, by the function that is there to stay.
pub(super) fn temperature(nvml: &Nvml, handle: Handle) -> Result<f64, Fault> {
    let ask = nvml.lib().nvmlDeviceGetTemperatureV.as_ref().map_err(|_| Fault::MissingSymbol)?;
    let mut answer = nvmlTemperature_t { version: TEMPERATURE_VERSION, sensorType: DIE, temperature: 0 };
    // SAFETY: the handle is of this `Nvml`, the structure is ours and says its version.
    check(unsafe { ask(handle.raw(), &raw mut answer) })?;
    Ok(f64::from(answer.temperature))
}

/// What holds the clocks down, by the function that is there to stay.
pub(super) fn clock_event_reasons(nvml: &Nvml, handle: Handle) -> Result<u64, Fault> {
    let ask = nvml.lib().nvmlDeviceGetCurrentClocksEventReasons.as_ref().map_err(|_| Fault::MissingSymbol)?;
    let mut reasons = 0;
    // SAFETY: the handle is of this `Nvml`, the number is ours.
    check(unsafe { ask(handle.raw(), &raw mut reasons) })?;
    Ok(reasons)
}

/// Memory, by the function that drivers before R510 have.
pub(super) fn old_memory(nvml: &Nvml, handle: Handle) -> Result<Memory, Fault> {
    let ask = nvml.lib().nvmlDeviceGetMemoryInfo.as_ref().map_err(|_| Fault::MissingSymbol)?;
    let mut answer = nvmlMemory_t { total: 0, free: 0, used: 0 };
    // SAFETY: the handle is of this `Nvml`, the structure is ours.
    check(unsafe { ask(handle.raw(), &raw mut answer) })?;
    Ok(Memory::new(answer.total, answer.used))
}

/// Bytes on all NVLinks of a device since the driver was loaded.
pub(super) fn nvlink(nvml: &Nvml, handle: Handle) -> Result<Traffic, Fault> {
    let ask = nvml.lib().nvmlDeviceGetFieldValues.as_ref().map_err(|_| Fault::MissingSymbol)?;
    let mut fields = [NVLINK_SENT, NVLINK_RECEIVED].map(|field| nvmlFieldValue_t {
        fieldId: field,
        scopeId: ALL_LINKS,
        timestamp: 0,
        latencyUsec: 0,
        valueType: 0,
        nvmlReturn: 0,
        value: nvmlValue_t { ullVal: 0 },
    });
    // SAFETY: the handle is of this `Nvml`, the structures are ours and as many as is said.
    check(unsafe { ask(handle.raw(), 2, fields.as_mut_ptr()) })?;
    // By position: the driver may number fields anew.
    let [sent, received] = fields.map(|field| kibibytes(&field));
    Ok(Traffic::new(sent?, received?))
}

/// A field's value in bytes.
fn kibibytes(field: &nvmlFieldValue_t) -> Result<u64, Fault> {
    check(field.nvmlReturn)?;
    // SAFETY: all variants that are read are plain numbers; the driver says which one it wrote, and the whole union was
    // zero before.
    let number = unsafe {
        match field.valueType {
            1 => u64::from(field.value.uiVal),
            2 => field.value.ulVal,
            3 => field.value.ullVal,
            _ => return Err(Fault::Malformed),
        }
    };
    Ok(number.saturating_mul(1_024))
}

/// The number of the instance that a MIG device is, within its parent.
pub(super) fn gpu_instance(nvml: &Nvml, handle: Handle) -> Result<u32, Fault> {
    let ask = nvml.lib().nvmlDeviceGetGpuInstanceId.as_ref().map_err(|_| Fault::MissingSymbol)?;
    let mut id = 0;
    // SAFETY: the handle is of this `Nvml`, the number is ours.
    check(unsafe { ask(handle.raw(), &raw mut id) })?;
    Ok(id)
}

fn check(code: nvmlReturn_t) -> Result<(), Fault> {
    if code == 0 { Ok(()) } else { Err(Fault::from_code(code)) }
}
