//! The processes of a device, as far as what the driver tells of them can be believed.

use std::{collections::BTreeMap, fs, path::Path};

use nvml_wrapper::{
    Device,
    enums::device::UsedGpuMemory,
    error::NvmlError,
    struct_wrappers::device::{ProcessInfo, ProcessUtilizationSample},
};

use super::session::read;
use crate::{GpuProcess, Processes, Reading};

/// How often a list that grows while it is read is read again.
const TRIES: usize = 3;
/// What Linux calls the namespace that is not inside another.
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// The processes, with what they hold and how busy they kept the device since the newest sample that was seen before.
pub(super) fn of(device: &Device<'_>, last_seen: &mut u64, proc: &Path) -> Reading<Processes> {
    let listed = read(list(device))?;
    let mut processes: BTreeMap<u32, GpuProcess> = BTreeMap::new();
    for process in listed {
        let memory = match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(bytes),
            UsedGpuMemory::Unavailable => None,
        };
        processes.insert(process.pid, GpuProcess { memory, ..GpuProcess::new(process.pid) });
    }
    let rejected = match device.process_utilization_stats(*last_seen) {
        Ok(samples) => take_in(&samples, &mut processes, last_seen),
        // No process has used the device since; or it does not tell.
        Err(_) => 0,
    };
    let attributable = is_attributable(processes.keys(), proc);
    Ok(Processes { list: processes.into_values().collect(), attributable, rejected })
}

/// By the newest function that the driver has. A list that outgrew its room is read again.
fn list(device: &Device<'_>) -> Result<Vec<ProcessInfo>, NvmlError> {
    let mut answer = Ok(Vec::new());
    for _ in 0..TRIES {
        answer = match device.running_compute_processes() {
            Err(NvmlError::FailedToLoadSymbol(_)) => device.running_compute_processes_v2(),
            answer => answer,
        };
        match &answer {
            Err(NvmlError::InsufficientSize(_)) => {}
            Err(NvmlError::NotFound) => return Ok(Vec::new()),
            _ => break,
        }
    }
    answer
}

/// Takes in the newest sample of each process; tells how many were stale, impossible, or of nobody.
fn take_in(
    samples: &[ProcessUtilizationSample],
    processes: &mut BTreeMap<u32, GpuProcess>,
    last_seen: &mut u64,
) -> u64 {
    let (mut newest, mut rejected) = (BTreeMap::new(), 0);
    for sample in samples {
        let believable = sample.timestamp > *last_seen && sample.sm_util <= 100 && processes.contains_key(&sample.pid);
        if !believable {
            rejected += 1;
            continue;
        }
        let (at, percent) = newest.entry(sample.pid).or_insert((sample.timestamp, sample.sm_util));
        if sample.timestamp > *at {
            (*at, *percent) = (sample.timestamp, sample.sm_util);
        }
    }
    for (pid, (at, percent)) in newest {
        *last_seen = at.max(*last_seen);
        if let Some(process) = processes.get_mut(&pid) {
            process.utilization = Some(f64::from(percent) / 100.0);
        }
    }
    rejected
}

/// The driver tells ids of the machine; they are ours only if we are not in a namespace inside it, or find ourselves.
fn is_attributable<'a>(mut pids: impl Iterator<Item = &'a u32>, proc: &Path) -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    let namespace = fs::read_link(proc.join("self").join("ns").join("pid"));
    let own = std::process::id();
    namespace.is_ok_and(|namespace| namespace.as_os_str() == INITIAL_NAMESPACE) || pids.any(|pid| *pid == own)
}
