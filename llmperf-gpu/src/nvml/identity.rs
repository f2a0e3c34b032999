//! What a device is: asked when devices are listed, once a minute.

use nvml_wrapper::{Device, Nvml};

use super::{fault, raw::Handle};
use crate::{BackendError, DeviceId, DeviceInfo, Fault, Found};

/// A device that the driver lists, or a part of one.
pub(super) struct Listed {
    pub(super) found: Found,
    /// Its handle, if it answers; with its parent's and its number within it, if it is a part.
    pub(super) handle: Option<(Handle, Option<(Handle, u32)>)>,
}

/// The devices that there are, each followed by its parts.
pub(super) fn list(nvml: &Nvml) -> Result<Vec<Listed>, BackendError> {
    let count = nvml.device_count().map_err(|error| BackendError::from(fault(&error)))?;
    let driver = nvml.sys_driver_version().ok().filter(|version| !version.is_empty());
    let mut listed = Vec::new();
    for index in 0..count {
        let known = nvml.device_by_index(index).map_err(|error| fault(&error)).and_then(|device| {
            let info = describe(&device, index, driver.clone())?;
            Ok((device, info))
        });
        match known {
            Err(fault) => listed.push(Listed { found: Found::silent(index, fault), handle: None }),
            Ok((device, info)) => {
                let parts = if info.partitioned { parts(nvml, &device, &info) } else { Vec::new() };
                listed.push(Listed { found: Found::device(info), handle: Some((Handle::of(&device), None)) });
                listed.extend(parts);
            }
        }
    }
    Ok(listed)
}

fn describe(device: &Device<'_>, index: u32, driver: Option<String>) -> Result<DeviceInfo, Fault> {
    let id: DeviceId = device.uuid().map_err(|error| fault(&error))?.into();
    let name = device.name().unwrap_or_else(|_| "NVIDIA GPU".into());
    let watts = |milliwatts: u32| f64::from(milliwatts) / 1e3;
    Ok(DeviceInfo {
        index,
        pci_address: device.pci_info().ok().map(|pci| pci.bus_id),
        driver_version: driver,
        power_limit_watts: device.enforced_power_limit().ok().map(watts).filter(|watts| *watts > 0.0),
        persistence: persistence(device),
        partitioned: device.mig_mode().is_ok_and(|mode| mode.current == 1),
        ..DeviceInfo::new(id, name)
    })
}

#[cfg(target_os = "linux")]
fn persistence(device: &Device<'_>) -> Option<bool> {
    device.is_in_persistent_mode().ok()
}

#[cfg(not(target_os = "linux"))]
fn persistence(_: &Device<'_>) -> Option<bool> {
    None
}

/// The parts of a device: the driver tells how many there may be, and has holes where there are none.
fn parts(nvml: &Nvml, parent: &Device<'_>, whole: &DeviceInfo) -> Vec<Listed> {
    let most = parent.mig_device_count().unwrap_or(0);
    let part = |index| {
        let device = parent.mig_device_by_index(index).ok()?;
        let handle = Handle::of(&device);
        let info = DeviceInfo {
            index: whole.index,
            parent: Some(whole.id.clone()),
            pci_address: whole.pci_address.clone(),
            driver_version: whole.driver_version.clone(),
            ..DeviceInfo::new(device.uuid().ok()?, device.name().unwrap_or_else(|_| format!("{} MIG", whole.name)))
        };
        let instance = super::raw::gpu_instance(nvml, handle).ok();
        let within = instance.map(|instance| (Handle::of(parent), instance));
        Some(Listed { found: Found::device(info), handle: Some((handle, within)) })
    };
    (0..most).filter_map(part).collect()
}
