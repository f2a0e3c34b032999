//! Runs code under a probe, and reads what it measured.

use std::{fmt, future::Future};

use llmperf::testing::Probe;

/// An error that is nothing but its name.
#[derive(Debug, PartialEq)]
pub(crate) struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused")
    }
}

impl std::error::Error for Refused {}

/// What many applications have for an error.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An error as `anyhow` has one: no `Error` itself, made of any.
#[derive(Debug)]
pub(crate) struct Anyhow(BoxError);

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Anyhow {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl AsRef<dyn std::error::Error + Send + Sync + 'static> for Anyhow {
    fn as_ref(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }
}

/// The value of some code, and the tree of the spans that it left.
pub(crate) fn measured<T>(code: impl FnOnce() -> T) -> (T, String) {
    let probe = Probe::new();
    let value = probe.instrumentation().sync_scope(code);
    (value, probe.tree())
}

/// The value of a future, and the tree of the spans that it left. The future is made inside, too.
pub(crate) fn awaited<F: Future>(make: impl FnOnce() -> F) -> (F::Output, String) {
    let probe = Probe::new();
    let value = on(&probe, make);
    (value, probe.tree())
}

/// Awaits a future under a probe.
pub(crate) fn on<F: Future>(probe: &Probe, make: impl FnOnce() -> F) -> F::Output {
    futures::executor::block_on(probe.instrumentation().scope(async { make().await }))
}
