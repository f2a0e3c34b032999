//! Where the library lies, and what came of each place.

use std::{ffi::OsStr, path::Path};

use nvml_wrapper::{Nvml, error::NvmlError};

use super::{fault, raw};
use crate::{BackendError, Fault};

/// The places that are tried, best first. A name without a folder is looked for by the system's loader.
#[cfg(target_os = "linux")]
const PLACES: &[&str] = &[
    "libnvidia-ml.so.1",
    "libnvidia-ml.so",
    // Windows' driver, seen from a Linux inside it.
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    // A driver that runs in a container of its own.
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
    "/run/nvidia/driver/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
    "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
];
#[cfg(not(target_os = "linux"))]
const PLACES: &[&str] = &["nvml.dll", "C:\\Program Files\\NVIDIA Corporation\\NVSMI\\nvml.dll"];

/// Opens the library at this place, or at the first of the usual ones where there is one, and initialises it.
///
/// # Errors
///
/// With every attempt and what came of it, if none has a library; with the driver's refusal, if one has.
pub(super) fn open(given: Option<&Path>) -> Result<Nvml, BackendError> {
    let places: Vec<&OsStr> = match given {
        Some(path) => vec![path.as_os_str()],
        None => PLACES.iter().map(OsStr::new).collect(),
    };
    let mut attempts = Vec::new();
    let mut worst = Fault::LibraryNotFound;
    for place in places {
        let error = match Nvml::builder().lib_path(place).init() {
            Ok(nvml) => return usable(nvml),
            Err(error) => error,
        };
        let attempt = format!("{}: {}", place.display(), words(&error));
        let found = fault(&error);
        if !matches!(found, Fault::LibraryNotFound | Fault::MissingSymbol) {
            // A library that answers, be it with a refusal, is the one.
            return Err(BackendError::new(found, attempt));
        }
        if found == Fault::MissingSymbol {
            worst = found;
        }
        attempts.push(attempt);
    }
    Err(BackendError::new(worst, attempts.join("; ")))
}

/// A library that cannot be shut down would panic in the wrapper when it is dropped.
fn usable(nvml: Nvml) -> Result<Nvml, BackendError> {
    if raw::can_shut_down(&nvml) {
        return Ok(nvml);
    }
    std::mem::forget(nvml);
    Err(BackendError::new(Fault::MissingSymbol, "the library has no nvmlShutdown"))
}

/// Loaders explain themselves at length, on one line.
fn words(error: &NvmlError) -> String {
    let mut words = error.to_string();
    if let NvmlError::LibloadingError(loader) = error {
        words = std::error::Error::source(loader).map_or_else(|| loader.to_string(), ToString::to_string);
    }
    words.lines().next().unwrap_or_default().to_owned()
}
