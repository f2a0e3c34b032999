//! Skeleton.

#[cfg(feature = "_export")]
pub mod export;
