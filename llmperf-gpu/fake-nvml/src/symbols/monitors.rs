//! GPM: the performance monitors of newer devices. A sample's handle says which device it was taken of.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlGpmMetricsGet_t, nvmlGpmSample_t, nvmlGpmSupport_t};

use super::{of, put, slot};
use crate::script::{INVALID_ARGUMENT, answer};

/// Samples are boxes of the slot that they were taken of; one more than the slot, 0 where nothing was taken.
type Taken = usize;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmQueryDeviceSupport(device: nvmlDevice_t, out: *mut nvmlGpmSupport_t) -> u32 {
    answer("nvmlGpmQueryDeviceSupport", slot(device), |script| {
        let supported = of(script, device)?.value("gpm").unwrap_or(0);
        if out.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller gives a structure that says its version.
        unsafe { (*out).isSupportedDevice = u32::from(supported != 0) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleAlloc(sample: *mut nvmlGpmSample_t) -> u32 {
    answer("nvmlGpmSampleAlloc", None, |_| {
        let taken: Box<Taken> = Box::new(0);
        // SAFETY: the caller gives room for its answer, and gives the sample back to be freed.
        unsafe { put(sample, Box::into_raw(taken).cast()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleFree(sample: nvmlGpmSample_t) -> u32 {
    answer("nvmlGpmSampleFree", None, |_| {
        if !sample.is_null() {
            // SAFETY: it was made by `nvmlGpmSampleAlloc` and is freed once.
            drop(unsafe { Box::from_raw(sample.cast::<Taken>()) });
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmSampleGet(device: nvmlDevice_t, sample: nvmlGpmSample_t) -> u32 {
    answer("nvmlGpmSampleGet", slot(device), |script| {
        of(script, device)?.value("gpm")?;
        // SAFETY: it was made by `nvmlGpmSampleAlloc`.
        unsafe { put(sample.cast::<Taken>(), slot(device).unwrap_or(0) + 1) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmMigSampleGet(device: nvmlDevice_t, instance: u32, sample: nvmlGpmSample_t) -> u32 {
    answer("nvmlGpmMigSampleGet", slot(device), |script| {
        of(script, device)?.value("gpm")?;
        let is_it = |part: &crate::script::Device| part.parent == slot(device) && part.instance == instance;
        let part = script.devices.iter().position(is_it).ok_or(INVALID_ARGUMENT)?;
        // SAFETY: it was made by `nvmlGpmSampleAlloc`.
        unsafe { put(sample.cast::<Taken>(), part + 1) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlGpmMetricsGet(request: *mut nvmlGpmMetricsGet_t) -> u32 {
    answer("nvmlGpmMetricsGet", None, |script| {
        if request.is_null() {
            return Err(INVALID_ARGUMENT);
        }
        // SAFETY: the caller gives a request with two samples that were made here.
        let (request, taken) = unsafe { (&mut *request, *(*request).sample2.cast::<Taken>()) };
        let device = taken.checked_sub(1).and_then(|slot| script.devices.get_mut(slot)).ok_or(INVALID_ARGUMENT)?;
        for metric in request.metrics.iter_mut().take(request.numMetrics as usize) {
            let key = match metric.metricId {
                1 => "gpm_graphics",
                2 => "gpm_sm",
                3 => "gpm_occupancy",
                5 => "gpm_tensor",
                10 => "gpm_dram",
                _ => "",
            };
            match device.value(key) {
                Ok(percent) => (metric.nvmlReturn, metric.value) = (0, percent as f64),
                Err(code) => metric.nvmlReturn = code,
            }
        }
        Ok(())
    })
}
