//! The application's backend behind a wall: a panic in it is an error of the backend, and ends nothing of ours.

use std::{
    fmt,
    panic::{self, AssertUnwindSafe},
};

use crate::{BackendError, DeviceId, DeviceSample, Fault, Fields, Found, GpuBackend, Incident};

type Backend = dyn GpuBackend;

/// A backend that does not panic.
pub(crate) struct Guarded {
    backend: Box<Backend>,
    name: &'static str,
    panicked: bool,
}

impl Guarded {
    pub(crate) fn new(backend: impl GpuBackend + 'static) -> Self {
        let mut guarded = Self { backend: Box::new(backend), name: "backend", panicked: false };
        if let Some(name) = guarded.call("name", |backend| backend.name()) {
            guarded.name = name;
        }
        guarded
    }

    /// Its name, as it was when it was given to us.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it panicked where it cannot tell of an error, since this was last asked.
    pub(crate) fn take_panic(&mut self) -> Result<(), BackendError> {
        if std::mem::take(&mut self.panicked) { Err(panicked()) } else { Ok(()) }
    }

    pub(crate) fn open(&mut self) -> Result<(), BackendError> {
        self.call("open", GpuBackend::open).unwrap_or_else(|| Err(panicked()))
    }

    pub(crate) fn devices(&mut self) -> Result<Vec<Found>, BackendError> {
        self.call("devices", GpuBackend::devices).unwrap_or_else(|| Err(panicked()))
    }

    /// A sample; absent if it panicked.
    pub(crate) fn sample(&mut self, device: &DeviceId, plan: Fields) -> Option<DeviceSample> {
        self.noted("sample", |backend| backend.sample(device, plan))
    }

    pub(crate) fn incidents(&mut self) -> Vec<Incident> {
        self.noted("incidents", GpuBackend::incidents).unwrap_or_default()
    }

    pub(crate) fn watch_incidents(&mut self) {
        self.call("watch_incidents", GpuBackend::watch_incidents);
    }

    pub(crate) fn forget(&mut self, device: &DeviceId) {
        self.noted("forget", |backend| backend.forget(device));
    }

    /// Closes it. If it panics meanwhile there is nothing more that could be done.
    pub(crate) fn close(&mut self) {
        self.call("close", GpuBackend::close);
    }

    fn noted<T>(&mut self, method: &str, call: impl FnOnce(&mut Backend) -> T) -> Option<T> {
        let answer = self.call(method, call);
        self.panicked |= answer.is_none();
        answer
    }

    fn call<T>(&mut self, method: &str, call: impl FnOnce(&mut Backend) -> T) -> Option<T> {
        let answer = panic::catch_unwind(AssertUnwindSafe(|| call(&mut *self.backend))).ok();
        if answer.is_none() {
            tracing::warn!(target: "llmperf", backend = self.name, method, "the GPU sampler's backend panicked");
        }
        answer
    }
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Guarded").field(&self.name).finish()
    }
}

fn panicked() -> BackendError {
    Fault::Panicked.into()
}
