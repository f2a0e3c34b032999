//! What a driver's refusal means: one small `Copy` enum for the codes of NVML and for what we find wrong ourselves.

use std::fmt;

macro_rules! faults {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// Why a driver gave no value: NVML's return codes, and what is wrong with a value that it did give.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Fault {
            $($(#[$doc])* $variant,)*
            /// A library has no function of that name: an older driver, or no driver's library at all.
            MissingSymbol,
            /// The value lies outside of what the quantity can be; it is not passed on.
            OutOfRange,
            /// A text could not be read.
            Malformed,
            /// Nobody answers at the address that is scraped.
            Unreachable,
            /// The backend panicked.
            Panicked,
            /// A code that is not known here.
            Other(u32),
        }

        impl Fault {
            /// The fault of an NVML return code.
            #[must_use]
            pub fn from_code(code: u32) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    other => Self::Other(other),
                }
            }

            /// Its name, as it stands in `error.type`: from a closed list.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::MissingSymbol => "missing_symbol",
                    Self::OutOfRange => "out_of_range",
                    Self::Malformed => "malformed",
                    Self::Unreachable => "unreachable",
                    Self::Panicked => "panic",
                    Self::Other(_) => "_OTHER",
                }
            }
        }
    };
}

faults! {
    /// The library was not initialised, or was shut down.
    Uninitialized = 1, "uninitialized";
    /// An argument was refused.
    InvalidArgument = 2, "invalid_argument";
    /// The device cannot tell this.
    NotSupported = 3, "not_supported";
    /// This user, or this container, may not ask.
    NoPermission = 4, "no_permission";
    /// There is nothing of the kind.
    NotFound = 6, "not_found";
    /// A list grew between the question for its size and the question for it.
    InsufficientSize = 7, "insufficient_size";
    /// The power cables of the card are not attached.
    InsufficientPower = 8, "insufficient_power";
    /// The kernel driver is not loaded.
    DriverNotLoaded = 9, "driver_not_loaded";
    /// The driver took too long.
    Timeout = 10, "timeout";
    /// The kernel has a problem with the card's interrupts.
    Interrupt = 11, "interrupt";
    /// The library was not found, or could not be loaded.
    LibraryNotFound = 12, "library_not_found";
    /// The library lacks a function that it needs itself.
    FunctionNotFound = 13, "function_not_found";
    /// The card's own memory of settings is corrupt.
    CorruptedInfoRom = 14, "corrupted_inforom";
    /// The card fell off the bus.
    GpuLost = 15, "gpu_lost";
    /// The card must be reset before it can be used again.
    ResetRequired = 16, "reset_required";
    /// The operating system keeps the driver from the device.
    OperatingSystem = 17, "operating_system";
    /// Library and kernel driver are of different versions: an upgrade without a reboot.
    VersionMismatch = 18, "version_mismatch";
    /// The device is in use.
    InUse = 19, "in_use";
    /// The driver ran out of memory.
    InsufficientMemory = 20, "insufficient_memory";
    /// There is no data yet.
    NoData = 21, "no_data";
    /// The driver ran out of resources.
    InsufficientResources = 23, "insufficient_resources";
    /// The library does not know this version of a structure.
    ArgumentVersion = 25, "argument_version";
    /// The function was removed from the driver.
    Deprecated = 26, "deprecated";
    /// The device is not ready.
    NotReady = 27, "not_ready";
    /// There is no such GPU any more.
    GpuNotFound = 28, "gpu_not_found";
    /// The device is in a state that does not allow this.
    InvalidState = 29, "invalid_state";
    /// The driver does not say.
    Unknown = 999, "unknown";
}

impl Fault {
    /// The device, or this driver, cannot tell such a thing at all. Asking again soon is of no use.
    #[must_use]
    pub fn is_unsupported(self) -> bool {
        let missing = matches!(self, Self::MissingSymbol | Self::FunctionNotFound | Self::Deprecated);
        missing || matches!(self, Self::NotSupported | Self::ArgumentVersion)
    }

    /// It may be told, but not to us.
    #[must_use]
    pub fn is_denied(self) -> bool {
        self == Self::NoPermission
    }

    /// The device is gone; its handle must not be used again.
    #[must_use]
    pub fn is_lost(self) -> bool {
        matches!(self, Self::GpuLost | Self::ResetRequired | Self::GpuNotFound)
    }

    /// There is no driver here: a normal state of a machine.
    #[must_use]
    pub fn is_no_driver(self) -> bool {
        matches!(self, Self::LibraryNotFound | Self::DriverNotLoaded | Self::MissingSymbol | Self::FunctionNotFound)
    }

    /// If *everything* fails like this, the access to the driver was lost, not a figure of it.
    pub(crate) fn is_of_access(self) -> bool {
        matches!(
            self,
            Self::Uninitialized
                | Self::InvalidArgument
                | Self::NoPermission
                | Self::DriverNotLoaded
                | Self::OperatingSystem
                | Self::VersionMismatch
                | Self::Unknown
                | Self::Other(_)
                | Self::Timeout
                | Self::Malformed
                | Self::Unreachable
                | Self::LibraryNotFound
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(code) => write!(f, "code {code}"),
            named => f.pad(&named.as_str().replace('_', " ")),
        }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_the_wrapper_has_no_name_for_have_one_here() {
        let names = (23..=30).map(|code| Fault::from_code(code).as_str());
        assert_eq!(
            names.collect::<Vec<_>>(),
            [
                "insufficient_resources",
                "_OTHER",
                "argument_version",
                "deprecated",
                "not_ready",
                "gpu_not_found",
                "invalid_state",
                "_OTHER"
            ]
        );
    }

    #[test]
    fn a_fault_is_of_one_kind_at_most() {
        for code in 0..1_000 {
            let fault = Fault::from_code(code);
            let kinds = [fault.is_unsupported(), fault.is_denied(), fault.is_lost()];
            assert!(kinds.into_iter().filter(|kind| *kind).count() <= 1, "{fault:?}");
        }
    }
}
