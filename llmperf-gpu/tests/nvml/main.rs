//! The sampler on the unmodified nvml-wrapper and a driver library of our own.
#![cfg(all(target_os = "linux", feature = "nvml", feature = "testing"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod abi;
mod bench;
mod contract;
mod failures;
mod groups;
mod library;
mod thread;
