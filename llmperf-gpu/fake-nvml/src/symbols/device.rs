//! Identity and figures of a device.

use std::os::raw::c_char;

use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlFieldValue_t, nvmlMemory_t, nvmlMemory_v2_t, nvmlPciInfo_t, nvmlTemperature_t, nvmlUtilization_t,
    nvmlValue_t,
};

use super::{figures, of, put, put_text, slot};
use crate::script::{INVALID_ARGUMENT, NOT_SUPPORTED, answer};

figures! {
    nvmlDeviceGetPowerUsage = "power", u32;
    nvmlDeviceGetEnforcedPowerLimit = "power_limit", u32;
    nvmlDeviceGetTotalEnergyConsumption = "energy", u64;
    nvmlDeviceGetPersistenceMode = "persistence", u32;
    nvmlDeviceGetCurrentClocksEventReasons = "throttle", u64;
    nvmlDeviceGetCurrentClocksThrottleReasons = "throttle", u64;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetName(device: nvmlDevice_t, name: *mut c_char, length: u32) -> u32 {
    answer("nvmlDeviceGetName", slot(device), |script| {
        // SAFETY: the caller gives so much room.
        unsafe { put_text(name, length, &of(script, device)?.name) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUUID(device: nvmlDevice_t, uuid: *mut c_char, length: u32) -> u32 {
    answer("nvmlDeviceGetUUID", slot(device), |script| {
        // SAFETY: the caller gives so much room.
        unsafe { put_text(uuid, length, &of(script, device)?.uuid) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPciInfo_v3(device: nvmlDevice_t, pci: *mut nvmlPciInfo_t) -> u32 {
    answer("nvmlDeviceGetPciInfo_v3", slot(device), |script| {
        let address = &of(script, device)?.pci;
        if address.is_empty() {
            return Err(NOT_SUPPORTED);
        }
        let mut info = nvmlPciInfo_t {
            busIdLegacy: [0; 16],
            domain: 0,
            bus: 0,
            device: 0,
            pciDeviceId: 0x2330_10de,
            pciSubSystemId: 0,
            busId: [0; 32],
        };
        // SAFETY: the array is as long as is said.
        unsafe { put_text(info.busId.as_mut_ptr(), 32, address)? };
        // SAFETY: the caller gives room for its answer.
        unsafe { put(pci, info) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetUtilizationRates(device: nvmlDevice_t, out: *mut nvmlUtilization_t) -> u32 {
    answer("nvmlDeviceGetUtilizationRates", slot(device), |script| {
        let device = of(script, device)?;
        let (gpu, memory) = (device.small("util")?, device.small("mem_util").unwrap_or(0));
        // SAFETY: the caller gives room for its answer.
        unsafe { put(out, nvmlUtilization_t { gpu, memory }) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: nvmlDevice_t, out: *mut nvmlMemory_v2_t) -> u32 {
    answer("nvmlDeviceGetMemoryInfo_v2", slot(device), |script| {
        let device = of(script, device)?;
        let (total, used) = (device.value("mem_total")?, device.value("mem_used")?);
        let free = total.saturating_sub(used);
        // SAFETY: the caller gives room for its answer, and has written the version of its structure there.
        unsafe {
            if out.is_null() || (*out).version != 0x0200_0028 {
                return Err(INVALID_ARGUMENT);
            }
            put(out, nvmlMemory_v2_t { version: (*out).version, total, reserved: 0, free, used })
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetMemoryInfo(device: nvmlDevice_t, out: *mut nvmlMemory_t) -> u32 {
    answer("nvmlDeviceGetMemoryInfo", slot(device), |script| {
        let device = of(script, device)?;
        let (total, used) = (device.value("mem_total")?, device.value("mem_used")?);
        // SAFETY: the caller gives room for its answer.
        unsafe { put(out, nvmlMemory_t { total, free: total.saturating_sub(used), used }) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperature(device: nvmlDevice_t, _sensor: u32, out: *mut u32) -> u32 {
    answer("nvmlDeviceGetTemperature", slot(device), |script| {
        let celsius = of(script, device)?.small("temperature")?;
        // SAFETY: the caller gives room for its answer.
        unsafe { put(out, celsius) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTemperatureV(device: nvmlDevice_t, out: *mut nvmlTemperature_t) -> u32 {
    answer("nvmlDeviceGetTemperatureV", slot(device), |script| {
        let celsius = of(script, device)?.small("temperature")?;
        if out.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller gives a structure that says its version and which sensor it asks.
        unsafe { (*out).temperature = i32::try_from(celsius).unwrap_or(i32::MAX) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetClockInfo(device: nvmlDevice_t, domain: u32, out: *mut u32) -> u32 {
    answer("nvmlDeviceGetClockInfo", slot(device), |script| {
        let key = if domain == 2 { "mem_clock" } else { "sm_clock" };
        let megahertz = of(script, device)?.small(key)?;
        // SAFETY: the caller gives room for its answer.
        unsafe { put(out, megahertz) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetEncoderUtilization(device: nvmlDevice_t, out: *mut u32, period: *mut u32) -> u32 {
    answer("nvmlDeviceGetEncoderUtilization", slot(device), |script| {
        let percent = of(script, device)?.small("encoder")?;
        // SAFETY: the caller gives room for its answers.
        unsafe { put(period, 167_000).and_then(|()| put(out, percent)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetDecoderUtilization(device: nvmlDevice_t, out: *mut u32, period: *mut u32) -> u32 {
    answer("nvmlDeviceGetDecoderUtilization", slot(device), |script| {
        let percent = of(script, device)?.small("decoder")?;
        // SAFETY: the caller gives room for its answers.
        unsafe { put(period, 167_000).and_then(|()| put(out, percent)) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetPcieThroughput(device: nvmlDevice_t, counter: u32, out: *mut u32) -> u32 {
    answer("nvmlDeviceGetPcieThroughput", slot(device), |script| {
        let kilobytes = of(script, device)?.small(if counter == 0 { "pcie_tx" } else { "pcie_rx" })?;
        // SAFETY: the caller gives room for its answer.
        unsafe { put(out, kilobytes) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: nvmlDevice_t,
    kind: u32,
    _since: u32,
    out: *mut u64,
) -> u32 {
    answer("nvmlDeviceGetTotalEccErrors", slot(device), |script| {
        let errors = of(script, device)?.value(if kind == 0 { "ecc_corrected" } else { "ecc_uncorrected" })?;
        // SAFETY: the caller gives room for its answer.
        unsafe { put(out, errors) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetFieldValues(
    device: nvmlDevice_t,
    count: i32,
    values: *mut nvmlFieldValue_t,
) -> u32 {
    answer("nvmlDeviceGetFieldValues", slot(device), |script| {
        let (device, count) = (of(script, device)?, usize::try_from(count).unwrap_or(0));
        if values.is_null() || count == 0 {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller gives so many values, with field and scope of each.
        for value in unsafe { std::slice::from_raw_parts_mut(values, count) } {
            let key = match (value.fieldId, value.scopeId) {
                (138, u32::MAX) => "nvlink_tx",
                (139, u32::MAX) => "nvlink_rx",
                _ => "",
            };
            match device.value(key) {
                // An unsigned long long.
                Ok(number) => (value.valueType, value.nvmlReturn, value.value) = (3, 0, nvmlValue_t { ullVal: number }),
                Err(code) => value.nvmlReturn = code,
            }
        }
        Ok(())
    })
}
