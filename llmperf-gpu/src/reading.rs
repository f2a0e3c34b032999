//! Readings: what a device told at one moment, each field with a value or with the reason why there is none.

use std::fmt;

use crate::Fault;

/// A value, or why there is none. An absent value is never a zero.
pub type Reading<T> = Result<T, Absence>;

/// Why a field has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Absence {
    /// It was not asked for: not in the plan, or known not to be there.
    NotAsked,
    /// It was asked for, and this is what came.
    Fault(Fault),
}

impl Absence {
    /// What came instead of a value; absent if nothing was asked.
    #[must_use]
    pub fn fault(self) -> Option<Fault> {
        match self {
            Self::NotAsked => None,
            Self::Fault(fault) => Some(fault),
        }
    }
}

impl From<Fault> for Absence {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.pad("not asked"),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

macro_rules! fields {
    ($($(#[$doc:meta])* $field:ident = $name:literal;)*) => {
        /// A quantity that is asked for on its own, fails on its own and is given up on its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Field {
            $($(#[$doc])* $field,)*
        }

        impl Field {
            /// All fields.
            pub const ALL: &'static [Self] = &[$(Self::$field),*];

            /// Its name, as it stands in `llmperf.gpu.field`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$field => $name,)*
                }
            }
        }
    };
}

fields! {
    /// How busy the cores and the memory controller were.
    Utilization = "utilization";
    /// Memory in use and in all.
    Memory = "memory";
    /// Power draw.
    Power = "power";
    /// The energy counter.
    Energy = "energy";
    /// Temperature of the die.
    Temperature = "temperature";
    /// Clock of the multiprocessors.
    SmClock = "sm_clock";
    /// Clock of the memory.
    MemoryClock = "memory_clock";
    /// What holds the clocks down.
    Throttle = "throttle";
    /// How busy the encoder and the decoder were.
    Codec = "codec";
    /// Traffic on the PCI bus.
    Pcie = "pcie";
    /// Traffic on NVLink.
    NvLink = "nvlink";
    /// Memory errors.
    Ecc = "ecc";
    /// Fine-grained activity (Hopper and newer).
    Gpm = "gpm";
    /// The processes that use the device.
    Processes = "processes";
}

/// A set of fields.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Fields(u32);

impl Fields {
    /// No field.
    pub const NONE: Self = Self(0);

    /// What is asked at each tick unless said otherwise.
    #[must_use]
    pub fn standard() -> Self {
        use Field as F;
        [F::Utilization, F::Memory, F::Power, F::Energy, F::Temperature, F::SmClock, F::MemoryClock, F::Throttle]
            .into_iter()
            .collect()
    }

    /// Power and energy: what may be asked more often than the rest.
    #[must_use]
    pub fn of_energy() -> Self {
        [Field::Power, Field::Energy].into_iter().collect()
    }

    /// The set and this field.
    #[must_use]
    pub fn with(self, field: Field) -> Self {
        Self(self.0 | 1 << field as u32)
    }

    /// The set without this field.
    #[must_use]
    pub fn without(self, field: Field) -> Self {
        Self(self.0 & !(1 << field as u32))
    }

    /// What is in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the field is in it.
    #[must_use]
    pub fn contains(self, field: Field) -> bool {
        self.0 & 1 << field as u32 != 0
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is in it.
    pub fn iter(self) -> impl Iterator<Item = Field> {
        Field::ALL.iter().copied().filter(move |field| self.contains(*field))
    }
}

impl FromIterator<Field> for Fields {
    fn from_iter<I: IntoIterator<Item = Field>>(fields: I) -> Self {
        fields.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What one device told at one moment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceSample {
    /// How busy it was.
    pub utilization: Reading<Utilization>,
    /// Its memory.
    pub memory: Reading<Memory>,
    /// Power draw in watts. An average over the last second on most devices since Ampere.
    pub power_watts: Reading<f64>,
    /// The device's own energy counter in millijoules, since its driver was loaded.
    pub energy_millijoules: Reading<u64>,
    /// Temperature of the die in degrees Celsius.
    pub temperature_celsius: Reading<f64>,
    /// Clock of the multiprocessors in hertz.
    pub sm_clock_hertz: Reading<u64>,
    /// Clock of the memory in hertz.
    pub memory_clock_hertz: Reading<u64>,
    /// What holds the clocks down.
    pub throttle: Reading<Throttle>,
    /// How busy encoder and decoder were.
    pub codec: Reading<Codec>,
    /// Bytes per second on the PCI bus, over a window of 20 ms.
    pub pcie: Reading<Traffic>,
    /// Bytes on NVLink since the driver was loaded, all links together.
    pub nvlink: Reading<Traffic>,
    /// Memory errors since the driver was loaded.
    pub ecc: Reading<Ecc>,
    /// Fine-grained activity since the last sample.
    pub gpm: Reading<Activity>,
    /// The processes that use it.
    pub processes: Reading<Processes>,
}

impl DeviceSample {
    /// A sample in which nothing was asked.
    #[must_use]
    pub fn nothing() -> Self {
        Self::all(Absence::NotAsked)
    }

    /// A sample in which this came for every field of the plan.
    #[must_use]
    pub fn failed(plan: Fields, fault: Fault) -> Self {
        let mut sample = Self::nothing();
        plan.iter().for_each(|field| sample.withhold(field, fault.into()));
        sample
    }

    fn all(absence: Absence) -> Self {
        Self {
            utilization: Err(absence),
            memory: Err(absence),
            power_watts: Err(absence),
            energy_millijoules: Err(absence),
            temperature_celsius: Err(absence),
            sm_clock_hertz: Err(absence),
            memory_clock_hertz: Err(absence),
            throttle: Err(absence),
            codec: Err(absence),
            pcie: Err(absence),
            nvlink: Err(absence),
            ecc: Err(absence),
            gpm: Err(absence),
            processes: Err(absence),
        }
    }

    /// Whether a field has a value, or why not.
    pub fn status(&self, field: Field) -> Reading<()> {
        match field {
            Field::Utilization => status(&self.utilization),
            Field::Memory => status(&self.memory),
            Field::Power => status(&self.power_watts),
            Field::Energy => status(&self.energy_millijoules),
            Field::Temperature => status(&self.temperature_celsius),
            Field::SmClock => status(&self.sm_clock_hertz),
            Field::MemoryClock => status(&self.memory_clock_hertz),
            Field::Throttle => status(&self.throttle),
            Field::Codec => status(&self.codec),
            Field::Pcie => status(&self.pcie),
            Field::NvLink => status(&self.nvlink),
            Field::Ecc => status(&self.ecc),
            Field::Gpm => status(&self.gpm),
            Field::Processes => status(&self.processes),
        }
    }

    /// Takes a value away, leaving the reason in its place.
    pub fn withhold(&mut self, field: Field, absence: Absence) {
        match field {
            Field::Utilization => self.utilization = Err(absence),
            Field::Memory => self.memory = Err(absence),
            Field::Power => self.power_watts = Err(absence),
            Field::Energy => self.energy_millijoules = Err(absence),
            Field::Temperature => self.temperature_celsius = Err(absence),
            Field::SmClock => self.sm_clock_hertz = Err(absence),
            Field::MemoryClock => self.memory_clock_hertz = Err(absence),
            Field::Throttle => self.throttle = Err(absence),
            Field::Codec => self.codec = Err(absence),
            Field::Pcie => self.pcie = Err(absence),
            Field::NvLink => self.nvlink = Err(absence),
            Field::Ecc => self.ecc = Err(absence),
            Field::Gpm => self.gpm = Err(absence),
            Field::Processes => self.processes = Err(absence),
        }
    }

    /// Puts what a faster, smaller sample told in the place of the older power and energy.
    pub(crate) fn refresh_energy(&mut self, newer: &Self) {
        self.power_watts = newer.power_watts;
        self.energy_millijoules = newer.energy_millijoules;
    }
}

fn status<T>(reading: &Reading<T>) -> Reading<()> {
    reading.as_ref().map(|_| ()).map_err(|absence| *absence)
}

/// How busy a device was over the driver's last sample period (1/6 s to 1 s), as fractions of that time. A fraction of
/// *time*, not of what the device could do.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Utilization {
    /// Time in which one or more kernels ran.
    pub compute: f64,
    /// Time in which device memory was read or written, where the driver tells it. Not the memory in use.
    pub memory_controller: Option<f64>,
}

impl Utilization {
    /// Both as fractions.
    #[must_use]
    pub fn new(compute: f64, memory_controller: Option<f64>) -> Self {
        Self { compute, memory_controller }
    }
}

/// Device memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// All there is.
    pub total: u64,
    /// What is in use.
    pub used: u64,
}

impl Memory {
    /// Both in bytes.
    #[must_use]
    pub fn new(total: u64, used: u64) -> Self {
        Self { total, used }
    }
}

/// How busy encoder and decoder were, as fractions of time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Codec {
    /// The encoder.
    pub encoder: f64,
    /// The decoder.
    pub decoder: f64,
}

impl Codec {
    /// Both as fractions.
    #[must_use]
    pub fn new(encoder: f64, decoder: f64) -> Self {
        Self { encoder, decoder }
    }
}

/// Bytes, or bytes per second, in both directions, seen from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// What it sent.
    pub sent: u64,
    /// What it received.
    pub received: u64,
}

impl Traffic {
    /// Both directions.
    #[must_use]
    pub fn new(sent: u64, received: u64) -> Self {
        Self { sent, received }
    }
}

/// Memory errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ecc {
    /// Those that were corrected.
    pub corrected: u64,
    /// Those that were not.
    pub uncorrected: u64,
}

impl Ecc {
    /// Both counts.
    #[must_use]
    pub fn new(corrected: u64, uncorrected: u64) -> Self {
        Self { corrected, uncorrected }
    }
}

/// Activity as the performance monitors count it, as fractions; each absent where the device does not tell it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Activity {
    /// Time in which the graphics or compute engine was busy.
    pub graphics: Option<f64>,
    /// Time in which a multiprocessor had work, over all of them.
    pub sm: Option<f64>,
    /// Warps in flight of those that fit.
    pub occupancy: Option<f64>,
    /// Time in which the tensor cores were busy.
    pub tensor: Option<f64>,
    /// Memory bandwidth used.
    pub dram: Option<f64>,
}

/// What holds the clocks down, as the driver's bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Throttle(u64);

impl Throttle {
    /// The reasons that are known by name. Idleness and clocks that the application chose are no throttling.
    pub const REASONS: [(&'static str, u64); 6] = [
        ("power_cap", 0x4),
        ("hardware_slowdown", 0x8),
        ("sync_boost", 0x10),
        ("thermal", 0x20),
        ("hardware_thermal", 0x40),
        ("power_brake", 0x80),
    ];

    /// Of the driver's bits. Bits that are not known here are left out.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self(bits & Self::REASONS.iter().fold(0, |all, (_, bit)| all | bit))
    }

    /// Whether a reason, by its bit, holds.
    #[must_use]
    pub fn contains(self, bit: u64) -> bool {
        self.0 & bit != 0
    }
}

/// The processes that use a device.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Processes {
    /// One entry per process id.
    pub list: Vec<GpuProcess>,
    /// Whether the ids can be those of processes that we know: not so in a container, where the driver tells ids of the
    /// host. Nothing is joined by id then.
    pub attributable: bool,
    /// Entries of the driver that were stale or impossible and left out.
    pub rejected: u64,
}

/// One process on a device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GpuProcess {
    /// Its id, as the driver says it.
    pub pid: u32,
    /// Device memory that it holds, in bytes; absent where the driver does not tell it.
    pub memory: Option<u64>,
    /// The fraction of time in which its kernels ran; absent without a sample since the last look.
    pub utilization: Option<f64>,
}

impl GpuProcess {
    /// A process of which only the id is known.
    #[must_use]
    pub fn new(pid: u32) -> Self {
        Self { pid, memory: None, utilization: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_can_be_withheld_and_says_why() {
        let mut sample = DeviceSample::nothing();
        for field in Field::ALL {
            assert_eq!(sample.status(*field), Err(Absence::NotAsked));
            sample.withhold(*field, Fault::Timeout.into());
            assert_eq!(sample.status(*field), Err(Absence::Fault(Fault::Timeout)), "{field:?}");
        }
    }

    #[test]
    fn a_set_holds_what_was_put_into_it() {
        let set: Fields = [Field::Power, Field::Processes].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [Field::Power, Field::Processes]);
        assert_eq!(set.without(Field::Power).iter().collect::<Vec<_>>(), [Field::Processes]);
        assert!(Fields::NONE.is_empty() && Fields::standard().and(Fields::of_energy()) == Fields::of_energy());
    }

    #[test]
    fn idleness_is_no_throttling_and_unknown_bits_are_left_out() {
        assert_eq!(Throttle::from_bits(0x1), Throttle::default());
        assert_eq!(Throttle::from_bits(u64::MAX), Throttle::from_bits(0xfc));
        assert!(Throttle::from_bits(0x24).contains(0x20));
    }
}
