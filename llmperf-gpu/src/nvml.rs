//! NVIDIA GPUs through NVML, by nvml-wrapper.
//!
//! One instance of NVML at a time lives in a [`Session`], with the handles of its devices. Closing drops all of it, so
//! that the library is unloaded: a driver that was upgraded is found by the next `open`, and one that is to be unloaded
//! is not held.

mod identity;
mod library;
mod monitors;
mod processes;
mod raw;
mod session;

use std::{
    fmt,
    path::{Path, PathBuf},
};

use nvml_wrapper::error::NvmlError;

use crate::{BackendError, DeviceId, DeviceSample, Fault, Fields, Found, GpuBackend, Incident};
use session::Session;

/// The GPUs that NVML knows of.
pub struct NvmlGpus {
    library: Option<PathBuf>,
    proc: PathBuf,
    watch: bool,
    session: Option<Session>,
}

impl NvmlGpus {
    /// NVML, wherever its library usually lies.
    #[must_use]
    pub fn new() -> Self {
        Self { library: None, proc: "/proc".into(), watch: false, session: None }
    }

    /// NVML of this library, and no other.
    #[must_use]
    pub fn library(mut self, path: impl Into<PathBuf>) -> Self {
        self.library = Some(path.into());
        self
    }

    /// Where the kernel tells of processes, instead of `/proc`.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn proc(mut self, folder: impl Into<PathBuf>) -> Self {
        self.proc = folder.into();
        self
    }
}

impl Default for NvmlGpus {
    fn default() -> Self {
        Self::new()
    }
}

impl GpuBackend for NvmlGpus {
    fn name(&self) -> &'static str {
        "nvml"
    }

    fn open(&mut self) -> Result<(), BackendError> {
        self.close();
        let nvml = library::open(self.library.as_deref())?;
        self.session = Some(Session::new(nvml, &self.proc, self.watch));
        Ok(())
    }

    fn devices(&mut self) -> Result<Vec<Found>, BackendError> {
        self.session.as_mut().ok_or(Fault::Uninitialized)?.devices()
    }

    fn sample(&mut self, device: &DeviceId, plan: Fields) -> DeviceSample {
        match &mut self.session {
            Some(session) => session.sample(device, plan),
            None => DeviceSample::failed(plan, Fault::Uninitialized),
        }
    }

    fn incidents(&mut self) -> Vec<Incident> {
        self.session.as_mut().map(Session::incidents).unwrap_or_default()
    }

    fn watch_incidents(&mut self) {
        self.watch = true;
    }

    fn forget(&mut self, device: &DeviceId) {
        if let Some(session) = &mut self.session {
            session.forget(device);
        }
    }

    fn close(&mut self) {
        self.session = None;
    }
}

impl fmt::Debug for NvmlGpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let library: Option<&Path> = self.library.as_deref();
        f.debug_struct("NvmlGpus").field("library", &library).field("open", &self.session.is_some()).finish()
    }
}

/// Our word for an error of the wrapper's.
fn fault(error: &NvmlError) -> Fault {
    match error {
        NvmlError::FailedToLoadSymbol(_) => Fault::MissingSymbol,
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => Fault::LibraryNotFound,
        NvmlError::FunctionNotFound => Fault::FunctionNotFound,
        // Codes that the wrapper has no variant for come as they are.
        NvmlError::UnexpectedVariant(code) => Fault::from_code(*code),
        NvmlError::Uninitialized => Fault::Uninitialized,
        NvmlError::InvalidArg => Fault::InvalidArgument,
        NvmlError::NotSupported => Fault::NotSupported,
        NvmlError::NoPermission => Fault::NoPermission,
        NvmlError::NotFound => Fault::NotFound,
        NvmlError::InsufficientSize(_) => Fault::InsufficientSize,
        NvmlError::InsufficientPower => Fault::InsufficientPower,
        NvmlError::DriverNotLoaded => Fault::DriverNotLoaded,
        NvmlError::Timeout => Fault::Timeout,
        NvmlError::IrqIssue => Fault::Interrupt,
        NvmlError::CorruptedInfoROM => Fault::CorruptedInfoRom,
        NvmlError::GpuLost => Fault::GpuLost,
        NvmlError::ResetRequired => Fault::ResetRequired,
        NvmlError::OperatingSystem => Fault::OperatingSystem,
        NvmlError::LibRmVersionMismatch => Fault::VersionMismatch,
        NvmlError::InUse => Fault::InUse,
        NvmlError::InsufficientMemory => Fault::InsufficientMemory,
        NvmlError::NoData => Fault::NoData,
        NvmlError::Unknown => Fault::Unknown,
        NvmlError::Utf8Error(_) | NvmlError::NulError(_) | NvmlError::StringTooLong { .. } => Fault::Malformed,
        _ => Fault::Other(u32::MAX),
    }
}
