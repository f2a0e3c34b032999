//! A `libnvidia-ml.so.1` of our own: exports the C functions of NVML and answers as a script says.
//!
//! Built as a dynamic library and opened by the unmodified nvml-wrapper, it puts everything between our code and the C
//! ABI to the test without a GPU: loading, symbols, layouts, error codes, lifetimes. Scripted at run time by lines of
//! text ([`FakeNvml::tell`], or a file beside the library, `<library>.script`, which is read when it is first used):
//!
//! | line | effect |
//! |---|---|
//! | `device SLOT UUID NAME…` | adds a device; `pci SLOT ADDRESS` gives it an address |
//! | `instance SLOT UUID PARENT GI NAME…` | adds a MIG instance of a device that has `mig SLOT on` |
//! | `set SLOT KEY VALUE…` | the value of a figure; several are told one after the other, the last one for ever |
//! | `unset SLOT KEY` | it is not supported (as all are that were never set) |
//! | `integrate SLOT` | the energy counter follows the power over real time |
//! | `error SYMBOL CODE [SLOT]` | the function fails with this code; `*` is every function of a device; 0 ends it |
//! | `block SYMBOL`, `release` | calls of the function wait until all are released |
//! | `sleep SYMBOL MILLISECONDS` | calls of the function take so long |
//! | `lose SLOT`, `return SLOT` | the device fell off the bus, and is back |
//! | `unplug SLOT`, `plug SLOT` | the driver does not list it, and lists it again |
//! | `driver VERSION` | the driver's version |
//! | `process SLOT PID BYTES`, `processes SLOT clear` | a process, `na` for bytes that are not told |
//! | `usage SLOT PID TIMESTAMP SM MEMORY`, `usages SLOT clear` | a sample of a process' utilisation |
//! | `grow SYMBOL COUNT` | a list is so much longer when it is read than when its size was asked |
//! | `xid SLOT CODE` | the driver reports an error of a device |
//!
//! Keys: `util mem_util mem_total mem_used power power_limit energy temperature sm_clock mem_clock throttle persistence
//! encoder decoder pcie_tx pcie_rx ecc_corrected ecc_uncorrected nvlink_tx nvlink_rx gpm gpm_graphics gpm_sm
//! gpm_occupancy gpm_tensor gpm_dram`, in NVML's units.

mod control;
mod script;
mod symbols;

pub use control::FakeNvml;
