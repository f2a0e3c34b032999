//! The one error of the export set-up.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error as ThisError;

/// What went wrong while telemetry was set up, flushed or shut down.
///
/// It is one opaque type: ask the `is_*` predicates what happened, print it for people, follow
/// [`source`](std::error::Error::source) for the cause. The text is not promised.
#[derive(ThisError)]
#[error(transparent)]
pub struct Error(#[from] Kind);

/// The sentence and its causes: what `main` prints that gives up with it.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let causes = std::iter::successors(std::error::Error::source(self), |cause| cause.source());
        causes.take(8).try_for_each(|cause| write!(f, ": {cause}"))
    }
}

#[derive(Debug, ThisError)]
pub(super) enum Kind {
    #[error("`{endpoint}` cannot be used as an OTLP endpoint; write it like `http://localhost:4317`")]
    Endpoint { endpoint: String, source: BoxError },
    #[error("{name} is `{value}`, but it must be {expected}")]
    Setting { name: String, value: String, expected: &'static str },
    #[error("`{name}` is no protocol that this build can speak; {hint}")]
    Protocol { name: String, hint: &'static str },
    #[error("{0}")]
    Conflict(&'static str),
    #[error("`/metrics` cannot be served at {address}")]
    Address { address: SocketAddr, source: io::Error },
    #[error("telemetry is already installed in this process; shut the other guard down first")]
    Installed,
    #[error("{what} could not be started")]
    Start { what: &'static str, source: BoxError },
    #[error("telemetry was not flushed within {limit:?}; what was left is lost")]
    Timeout { limit: Duration },
    #[error("the last {signal} could not be exported: {reason}")]
    Lost { signal: &'static str, reason: String },
}

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    /// The endpoint is no URL, has a scheme that OTLP does not know, or asks for TLS in a build without the
    /// feature `tls`.
    #[must_use]
    pub fn is_bad_endpoint(&self) -> bool {
        matches!(self.0, Kind::Endpoint { .. })
    }

    /// A setting, given by code or by the environment, has a value that cannot be understood.
    #[must_use]
    pub fn is_bad_setting(&self) -> bool {
        matches!(self.0, Kind::Setting { .. })
    }

    /// `OTEL_EXPORTER_OTLP_PROTOCOL` names a protocol that is unknown or not compiled in.
    #[must_use]
    pub fn is_unknown_protocol(&self) -> bool {
        matches!(self.0, Kind::Protocol { .. })
    }

    /// Two settings exclude each other: exponential histograms and `/metrics`, or OTLP's settings on a set-up that
    /// does not speak OTLP.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self.0, Kind::Conflict(_))
    }

    /// `/metrics` cannot be served at the address: it is in use, or not ours.
    #[must_use]
    pub fn is_address_unavailable(&self) -> bool {
        matches!(self.0, Kind::Address { .. })
    }

    /// An installed guard still lives in this process.
    #[must_use]
    pub fn is_already_installed(&self) -> bool {
        matches!(self.0, Kind::Installed)
    }

    /// Flush or shutdown did not end within its limit.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.0, Kind::Timeout { .. })
    }

    pub(super) fn lost_signal(&self) -> &'static str {
        match self.0 {
            Kind::Lost { signal, .. } => signal,
            _ => "telemetry",
        }
    }

    /// Flush or shutdown ended, but the receiver did not take everything.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self.0, Kind::Lost { .. })
    }
}
