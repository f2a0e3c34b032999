//! MIG: devices that are parts of devices.

use nvml_wrapper_sys::bindings::nvmlDevice_t;

use super::{handle, of, put, slot};
use crate::script::{NOT_FOUND, NOT_SUPPORTED, answer};

/// How many instances a device may have at most; the driver tells this, not how many there are.
const MOST_INSTANCES: u32 = 7;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigMode(device: nvmlDevice_t, current: *mut u32, pending: *mut u32) -> u32 {
    answer("nvmlDeviceGetMigMode", slot(device), |script| {
        let on = u32::from(of(script, device)?.mig);
        // SAFETY: the caller gives room for its answers.
        unsafe { put(pending, on).and_then(|()| put(current, on)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMaxMigDeviceCount(device: nvmlDevice_t, count: *mut u32) -> u32 {
    answer("nvmlDeviceGetMaxMigDeviceCount", slot(device), |_| {
        // SAFETY: the caller gives room for its answer.
        unsafe { put(count, MOST_INSTANCES) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: nvmlDevice_t,
    index: u32,
    part: *mut nvmlDevice_t,
) -> u32 {
    answer("nvmlDeviceGetMigDeviceHandleByIndex", slot(device), |script| {
        // Instances lie where their id says, so that there are holes between them.
        let is_it =
            |other: &crate::script::Device| other.plugged && other.parent == slot(device) && other.instance == index;
        let found = script.devices.iter().position(is_it).ok_or(NOT_FOUND)?;
        // SAFETY: the caller gives room for its answer.
        unsafe { put(part, handle(found)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    part: nvmlDevice_t,
    device: *mut nvmlDevice_t,
) -> u32 {
    answer("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", slot(part), |script| {
        let parent = of(script, part)?.parent.ok_or(NOT_SUPPORTED)?;
        // SAFETY: the caller gives room for its answer.
        unsafe { put(device, handle(parent)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetGpuInstanceId(part: nvmlDevice_t, id: *mut u32) -> u32 {
    answer("nvmlDeviceGetGpuInstanceId", slot(part), |script| {
        let part = of(script, part)?;
        let instance = part.parent.map(|_| part.instance).ok_or(NOT_SUPPORTED)?;
        // SAFETY: the caller gives room for its answer.
        unsafe { put(id, instance) }
    })
}
