//! What the sampler needs of a source of GPU figures: small, fallible, a status for each field.

use std::{error::Error, fmt, time::SystemTime};

use crate::{DeviceId, DeviceInfo, DeviceSample, Fault, Fields};

/// A source of GPU figures: a driver on this machine, an exporter somewhere else, a script in a test.
///
/// One thread owns it and calls it, so it may block; a call that never returns costs that thread and nothing else. It
/// reports what it cannot tell field by field, as a [`Fault`]; it never makes up a zero. A panic in it is caught: it is
/// closed, and opened anew after a wait.
pub trait GpuBackend: Send {
    /// Its name, for logs.
    fn name(&self) -> &'static str;

    /// Opens the driver. Called again, after [`close`](Self::close), for as long as it fails.
    ///
    /// # Errors
    ///
    /// If there is no driver, or it refuses.
    fn open(&mut self) -> Result<(), BackendError>;

    /// The devices that there are now, parts of devices included. Called after `open` and every minute.
    ///
    /// # Errors
    ///
    /// If they cannot be listed at all. A device that is listed but does not answer is an entry with its fault.
    fn devices(&mut self) -> Result<Vec<Found>, BackendError>;

    /// What a device tells now, of the fields of the plan and no others.
    fn sample(&mut self, device: &DeviceId, plan: Fields) -> DeviceSample;

    /// Errors that the driver has reported since this was last asked, if asked to `watch` for them.
    fn incidents(&mut self) -> Vec<Incident> {
        Vec::new()
    }

    /// Asks for [`incidents`](Self::incidents) from the next `open` on.
    fn watch_incidents(&mut self) {}

    /// The device is gone: whatever is held for it must not be used again.
    fn forget(&mut self, device: &DeviceId);

    /// Gives up everything of the driver, so that it can be unloaded, replaced and opened anew.
    fn close(&mut self);
}

/// One entry of the list of devices.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// Its place in the list, the only thing that is known of a device that does not answer.
    pub index: u32,
    /// What it is, or why it does not say.
    pub device: Result<DeviceInfo, Fault>,
}

impl Found {
    /// A device that answers.
    #[must_use]
    pub fn device(device: DeviceInfo) -> Self {
        Self { index: device.index, device: Ok(device) }
    }

    /// A device that does not.
    #[must_use]
    pub fn silent(index: u32, fault: Fault) -> Self {
        Self { index, device: Err(fault) }
    }
}

/// An error that a driver reported of a device by itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Incident {
    /// The device.
    pub device: DeviceId,
    /// The driver's number for this kind of error (NVIDIA: XID).
    pub xid: u64,
    /// When it was seen.
    pub at: SystemTime,
}

impl Incident {
    /// An incident that is seen now.
    #[must_use]
    pub fn now(device: DeviceId, xid: u64) -> Self {
        Self { device, xid, at: SystemTime::now() }
    }
}

/// Why a backend could not be opened or asked for its devices.
#[derive(Clone, Debug)]
pub struct BackendError {
    fault: Fault,
    detail: Option<String>,
}

impl BackendError {
    /// An error with words for people: what was tried, and what came of it.
    #[must_use]
    pub fn new(fault: Fault, detail: impl Into<String>) -> Self {
        Self { fault, detail: Some(detail.into()) }
    }

    /// What kind of error it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        self.fault
    }

    /// Whether this machine just has no driver, which is a normal state of a machine.
    #[must_use]
    pub fn is_no_driver(&self) -> bool {
        self.fault.is_no_driver()
    }
}

impl From<Fault> for BackendError {
    fn from(fault: Fault) -> Self {
        Self { fault, detail: None }
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

impl Error for BackendError {}
