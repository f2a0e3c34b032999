//! What the application decides about sampling.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use llmperf_core::Side;

use crate::{DeviceId, Field, Fields, Method};

/// The shortest time between two ticks: drivers that are asked more often answer with zeros and errors.
pub(crate) const FLOOR: Duration = Duration::from_millis(100);

/// Figures that are asked only on the application's word, since each costs something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Group {
    /// Traffic on the PCI bus: the driver measures for 20 ms per direction and device, at each tick.
    Pcie,
    /// Traffic on NVLink.
    NvLink,
    /// Memory and utilisation per process: a series per process and device (at most 64).
    Processes,
    /// Memory errors.
    Ecc,
    /// Errors that the driver reports by itself (NVIDIA: XID).
    Incidents,
    /// Fine-grained activity (Hopper and newer): the only utilisation that there is of MIG instances.
    Gpm,
    /// Utilisation of encoder and decoder.
    Codec,
}

impl Group {
    pub(crate) fn field(self) -> Option<Field> {
        match self {
            Self::Pcie => Some(Field::Pcie),
            Self::NvLink => Some(Field::NvLink),
            Self::Processes => Some(Field::Processes),
            Self::Ecc => Some(Field::Ecc),
            Self::Gpm => Some(Field::Gpm),
            Self::Codec => Some(Field::Codec),
            Self::Incidents => None,
        }
    }
}

/// Which devices are sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// Those that `CUDA_VISIBLE_DEVICES` names, if it is set and it is clear which it means (ids, or indices with
    /// `CUDA_DEVICE_ORDER=PCI_BUS_ID`, or indices among devices that are all alike); else all, which is said once.
    #[default]
    Visible,
    /// All.
    All,
    /// These.
    Only(Vec<DeviceId>),
}

/// A model that runs on the GPUs of this machine: the application's word that what its calls cost is in their energy.
///
/// Nothing can find that out: the same model name may be served by this process, or by a provider far away. Without
/// such a word no call is given any energy.
#[derive(Clone, Debug)]
pub struct LocalModel {
    pub(crate) model: Arc<str>,
    pub(crate) devices: Option<Vec<DeviceId>>,
    pub(crate) method: Method,
    pub(crate) prefill_weight: f64,
    pub(crate) idle_watts: Option<f64>,
    pub(crate) side: Option<Side>,
}

impl LocalModel {
    /// Calls whose request model has this name run on all GPUs that are sampled.
    pub fn new(model: impl Into<Arc<str>>) -> Self {
        Self {
            model: model.into(),
            devices: None,
            method: Method::default(),
            prefill_weight: 1.0,
            idle_watts: None,
            side: None,
        }
    }

    /// They run on these devices only.
    #[must_use]
    pub fn on<D: Into<DeviceId>>(mut self, devices: impl IntoIterator<Item = D>) -> Self {
        self.devices = Some(devices.into_iter().map(Into::into).collect());
        self
    }

    /// How the energy is divided among its calls. Default: evenly.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// For [`Method::TokenShare`]: what a call weighs while it waits for its first token, as a multiple of the mean of
    /// those that stream at that moment. Default: 1.
    #[must_use]
    pub fn prefill_weight(mut self, weight: f64) -> Self {
        self.prefill_weight = if weight.is_finite() { weight.max(0.0) } else { 1.0 };
        self
    }

    /// Only calls of this side count: for a process that both serves the model and calls it, where each answer would
    /// count twice. Default: both sides.
    #[must_use]
    pub fn side(mut self, side: Side) -> Self {
        self.side = Some(side);
        self
    }

    /// The power that one of its devices draws while idle, in watts. Default: learnt while no call is in flight.
    #[must_use]
    pub fn idle_watts(mut self, watts: f64) -> Self {
        self.idle_watts = (watts.is_finite() && watts >= 0.0).then_some(watts);
        self
    }
}

/// What the application decided.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) every: Duration,
    pub(crate) energy_every: Option<Duration>,
    pub(crate) fields: Fields,
    pub(crate) incidents: bool,
    pub(crate) selection: Selection,
    pub(crate) serves: Vec<(DeviceId, Arc<str>)>,
    pub(crate) models: Vec<LocalModel>,
    /// Where the power state of PCI devices is read, if suspended devices are left alone.
    pub(crate) sleepers: Option<PathBuf>,
    pub(crate) visible: Visible,
}

/// The environment's word on which devices CUDA sees.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Visible {
    pub(crate) devices: Option<String>,
    pub(crate) order: Option<String>,
}

impl Visible {
    fn from_env() -> Self {
        Self { devices: std::env::var("CUDA_VISIBLE_DEVICES").ok(), order: std::env::var("CUDA_DEVICE_ORDER").ok() }
    }
}

impl fmt::Debug for Visible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} in order {:?}", self.devices, self.order)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(1),
            energy_every: None,
            fields: Fields::standard(),
            incidents: false,
            selection: Selection::default(),
            serves: Vec::new(),
            models: Vec::new(),
            sleepers: None,
            visible: Visible::from_env(),
        }
    }
}

impl Settings {
    /// What is older than this is not told any more.
    pub(crate) fn max_age(&self) -> Duration {
        self.every.saturating_mul(3).max(Duration::from_secs(3))
    }
}
