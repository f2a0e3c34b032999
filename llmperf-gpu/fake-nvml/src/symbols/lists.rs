//! Lists of processes, whose size is asked before they are read.

use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlProcessInfo_t, nvmlProcessUtilizationSample_t};

use super::{of, put, slot};
use crate::script::{INSUFFICIENT_SIZE, INVALID_ARGUMENT, NOT_FOUND, Script, answer};

/// The value that means "not told".
const NOT_AVAILABLE: u64 = u64::MAX;

fn processes(script: &mut Script, device: nvmlDevice_t) -> Result<Vec<nvmlProcessInfo_t>, u32> {
    let device = of(script, device)?;
    let entry = |(pid, bytes): &(u32, Option<u64>)| nvmlProcessInfo_t {
        pid: *pid,
        usedGpuMemory: bytes.unwrap_or(NOT_AVAILABLE),
        gpuInstanceId: u32::MAX,
        computeInstanceId: u32::MAX,
    };
    Ok(device.processes.iter().map(entry).collect())
}

/// Answers the question for the size, or the one for the list.
///
/// # Safety
///
/// `count` is null or points to a number; `out` is null or points to room for so many.
unsafe fn put_list<T: Copy>(list: &[T], count: *mut u32, out: *mut T) -> Result<(), u32> {
    if count.is_null() {
        return Err(INVALID_ARGUMENT);
    }
    // SAFETY: as promised.
    unsafe {
        let room = if out.is_null() { 0 } else { *count as usize };
        count.write(u32::try_from(list.len()).unwrap_or(u32::MAX));
        if list.len() > room {
            return Err(INSUFFICIENT_SIZE);
        }
        out.copy_from_nonoverlapping(list.as_ptr(), list.len());
    }
    Ok(())
}

macro_rules! process_lists {
    ($($symbol:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $symbol(device: nvmlDevice_t, count: *mut u32, out: *mut nvmlProcessInfo_t) -> u32 {
            answer(stringify!($symbol), slot(device), |script| {
                let mut list = processes(script, device)?;
                let grown = script.grown.get(stringify!($symbol)).copied().unwrap_or(0);
                if !out.is_null() && let Some(last) = list.last().copied() {
                    list.extend((0..grown).map(|more| nvmlProcessInfo_t { pid: last.pid + 1 + more, ..last }));
                }
                if list.is_empty() {
                    // SAFETY: the caller gives room for the count.
                    return unsafe { put(count, 0) };
                }
                // SAFETY: the caller gives room for as many as it says.
                unsafe { put_list(&list, count, out) }
            })
        }
    )*};
}

process_lists! {
    nvmlDeviceGetComputeRunningProcesses_v3
    nvmlDeviceGetComputeRunningProcesses_v2
    nvmlDeviceGetGraphicsRunningProcesses_v3
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetProcessUtilization(
    device: nvmlDevice_t,
    out: *mut nvmlProcessUtilizationSample_t,
    count: *mut u32,
    _last_seen: u64,
) -> u32 {
    answer("nvmlDeviceGetProcessUtilization", slot(device), |script| {
        let usages = &of(script, device)?.usages;
        let list: Vec<nvmlProcessUtilizationSample_t> = usages
            .iter()
            .map(|(pid, at, sm, memory)| nvmlProcessUtilizationSample_t {
                pid: *pid,
                timeStamp: *at,
                smUtil: *sm,
                memUtil: *memory,
                encUtil: 0,
                decUtil: 0,
            })
            .collect();
        if list.is_empty() {
            return Err(NOT_FOUND);
        }
        // SAFETY: the caller gives room for as many as it says.
        unsafe { put_list(&list, count, out) }
    })
}
