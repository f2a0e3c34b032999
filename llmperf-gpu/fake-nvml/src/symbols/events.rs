//! Errors that the driver reports by itself.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t, nvmlEventTypeXidCriticalError};

use super::{handle, of, put, slot};
use crate::script::answer;

/// There is one set; who has it does not matter.
const SET: usize = 0x2000;
const TIMEOUT: u32 = 10;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetCreate(set: *mut nvmlEventSet_t) -> u32 {
    answer("nvmlEventSetCreate", None, |_| {
        // SAFETY: the caller gives room for its answer.
        unsafe { put(set, SET as nvmlEventSet_t) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetFree(_set: nvmlEventSet_t) -> u32 {
    answer("nvmlEventSetFree", None, |script| {
        script.devices.iter_mut().for_each(|device| device.watched = false);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceRegisterEvents(device: nvmlDevice_t, _types: u64, _set: nvmlEventSet_t) -> u32 {
    answer("nvmlDeviceRegisterEvents", slot(device), |script| {
        of(script, device)?.watched = true;
        Ok(())
    })
}

/// Does not wait: what is not there by now is a timeout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlEventSetWait_v2(_set: nvmlEventSet_t, data: *mut nvmlEventData_t, _millis: u32) -> u32 {
    answer("nvmlEventSetWait_v2", None, |script| {
        let (slot, code) = script.events.pop_front().ok_or(TIMEOUT)?;
        let event = nvmlEventData_t {
            device: handle(slot),
            eventType: u64::from(nvmlEventTypeXidCriticalError),
            eventData: code,
            gpuInstanceId: u32::MAX,
            computeInstanceId: u32::MAX,
        };
        // SAFETY: the caller gives room for its answer.
        unsafe { put(data, event) }
    })
}
