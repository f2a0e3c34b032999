//! What a device is: its identity, which never changes, and what is asked once and remembered.

use std::{fmt, sync::Arc};

/// Identifies a device everywhere: NVML's UUID (`GPU-…`, `MIG-…`), which holds across reboots and orders of
/// enumeration. It is the `hw.id` of all metrics.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(Arc<str>);

impl DeviceId {
    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for DeviceId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for DeviceId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What is known of a device apart from its readings; asked when devices are enumerated, not at each tick.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its identity.
    pub id: DeviceId,
    /// Its product name.
    pub name: String,
    /// Its vendor.
    pub vendor: &'static str,
    /// The index in the driver's own order, which is not CUDA's and may change at a reboot. For people only.
    pub index: u32,
    /// The device that this one is a part of (a MIG instance).
    pub parent: Option<DeviceId>,
    /// Its address on the PCI bus (`00000000:3b:00.0`), where known.
    pub pci_address: Option<String>,
    /// The version of its driver.
    pub driver_version: Option<String>,
    /// The power that it is held to, in watts.
    pub power_limit_watts: Option<f64>,
    /// Whether the driver stays loaded while nobody uses the device; each open is slow if not.
    pub persistence: Option<bool>,
    /// Whether it is split into MIG instances: they carry memory figures of their own, and it has no utilisation.
    pub partitioned: bool,
}

impl DeviceInfo {
    /// A device with an identity and a name, and nothing else known.
    #[must_use]
    pub fn new(id: impl Into<DeviceId>, name: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            vendor: "NVIDIA",
            index: 0,
            parent: None,
            pci_address: None,
            driver_version: None,
            power_limit_watts: None,
            persistence: None,
            partitioned: false,
        }
    }
}

/// What became of one device at the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// It answers.
    Ok,
    /// It has not one figure to tell: it has none at all (some embedded GPUs), or it fails at each of them.
    NoFigures,
    /// It fell off the bus or needs a reset: it is not asked again until the driver lists it anew.
    Lost,
    /// It is suspended to save power, and is left alone.
    Asleep,
}

impl Condition {
    /// The value of `hw.state`.
    #[must_use]
    pub fn hw_state(self) -> &'static str {
        match self {
            Self::Ok | Self::Asleep => "ok",
            Self::NoFigures => "degraded",
            Self::Lost => "failed",
        }
    }

    /// Whether the sampler counts it as one that does not work.
    pub(crate) fn is_bad(self) -> bool {
        matches!(self, Self::NoFigures | Self::Lost)
    }
}
