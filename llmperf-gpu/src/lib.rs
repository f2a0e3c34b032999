#![doc = include_str!("../README.md")]

mod backend;
mod calls;
mod capability;
mod check;
mod clock;
#[cfg(feature = "dcgm")]
mod dcgm;
mod device;
mod energy;
mod engine;
mod fault;
mod guarded;
mod history;
mod ledger;
mod machine;
pub mod metrics;
#[cfg(feature = "nvml")]
mod nvml;
mod observed;
mod outlet;
mod reading;
mod roster;
mod sampler;
#[cfg(any(test, feature = "testing"))]
mod scripted;
mod settings;
mod share;
mod sleeper;
mod snapshot;
mod tracked;
mod visible;

pub use backend::{BackendError, Found, GpuBackend, Incident};
pub use clock::Clock;
#[cfg(feature = "dcgm")]
pub use dcgm::DcgmExporter;
pub use device::{Condition, DeviceId, DeviceInfo};
pub use energy::EnergySource;
pub use fault::Fault;
pub use history::GpuWindow;
pub use ledger::Quality;
pub use machine::SamplerState;
#[cfg(feature = "nvml")]
pub use nvml::NvmlGpus;
pub use reading::{
    Absence, Activity, Codec, DeviceSample, Ecc, Field, Fields, GpuProcess, Memory, Processes, Reading, Throttle,
    Traffic, Utilization,
};
#[cfg(feature = "testing")]
pub use sampler::ByHand;
pub use sampler::{Sampler, Sampling};
#[cfg(any(test, feature = "testing"))]
pub use scripted::ScriptedGpus;
pub use settings::{Group, LocalModel, Selection};
pub use share::Method;
pub use snapshot::{DeviceSnapshot, FleetAverage, GpuSnapshot, Health, Incidents};
