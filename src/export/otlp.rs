//! OTLP over gRPC or HTTP: what the code says of it, and the exporters that come of it.

use std::fmt;
use std::time::Duration;

use opentelemetry_otlp::{LogExporter, MetricExporter, SpanExporter};
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::{logs, trace as spans};

use super::builder::{Destination, Export};
use super::driver::Driver;
use super::env::Env;
use super::error::Error;
use super::pipeline;

#[cfg(feature = "otlp-grpc")]
mod grpc;
#[cfg(feature = "otlp-http")]
mod http;
mod route;

use route::Route;

/// How OTLP travels. Always named by us: the exporter's own default depends on what other crates switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    #[cfg(feature = "otlp-grpc")]
    Grpc,
    #[cfg(feature = "otlp-http")]
    Http,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Traces,
    Metrics,
    Logs,
}

/// What the code said; `None` leaves it to the environment.
#[derive(Default, Clone)]
pub(super) struct Options {
    pub(super) protocol: Option<Protocol>,
    pub(super) endpoint: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) timeout: Option<Duration>,
}

/// Header values are often keys: their names are shown, they are not.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Options")
            .field("protocol", &self.protocol)
            .field("endpoint", &self.endpoint)
            .field("headers", &headers)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// The settings that only OTLP knows; on a set-up of another kind they are an error.
impl Export {
    /// Sends to this endpoint, for instance `http://localhost:4317`; over HTTP the path of each signal is added.
    pub fn endpoint(self, endpoint: impl Into<String>) -> Self {
        self.with_options(|options| options.endpoint = Some(endpoint.into()))
    }

    /// Adds a header to every request, for instance a key; its value is never printed.
    pub fn header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.with_options(|options| options.headers.push((name.into(), value.into())))
    }

    /// Gives one export, its retries included, this long.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with_options(|options| options.timeout = Some(timeout))
    }

    fn with_options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        match &mut self.destination {
            Destination::Otlp(options) => change(options),
            #[cfg(any(feature = "stdout", feature = "prometheus"))]
            _ => self.misplaced = true,
        }
        self
    }
}

impl Options {
    pub(super) fn by(protocol: Protocol) -> Self {
        Self { protocol: Some(protocol), ..Self::default() }
    }
}

/// The OTLP exporters of a set-up.
pub(super) struct Sink<'a> {
    options: &'a Options,
    env: &'a Env<'a>,
    driver: &'a Driver,
}

impl<'a> Sink<'a> {
    pub(super) fn new(options: &'a Options, env: &'a Env<'a>, driver: &'a Driver) -> Self {
        Self { options, env, driver }
    }
}

impl pipeline::Sink for Sink<'_> {
    fn spans(&self) -> Result<impl spans::SpanExporter + 'static, Error> {
        self.options.route(Signal::Traces, self.env)?.spans(self.driver)
    }

    fn metrics(&self) -> Result<impl PushMetricExporter, Error> {
        self.options.route(Signal::Metrics, self.env)?.metrics(self.driver)
    }

    fn logs(&self) -> Result<impl logs::LogExporter + 'static, Error> {
        self.options.route(Signal::Logs, self.env)?.logs(self.driver)
    }
}

impl Route {
    fn spans(&self, driver: &Driver) -> Result<SpanExporter, Error> {
        match self.protocol {
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => grpc::spans(self, driver),
            #[cfg(feature = "otlp-http")]
            Protocol::Http => http::spans(self, driver),
        }
    }

    fn metrics(&self, driver: &Driver) -> Result<MetricExporter, Error> {
        match self.protocol {
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => grpc::metrics(self, driver),
            #[cfg(feature = "otlp-http")]
            Protocol::Http => http::metrics(self, driver),
        }
    }

    fn logs(&self, driver: &Driver) -> Result<LogExporter, Error> {
        match self.protocol {
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => grpc::logs(self, driver),
            #[cfg(feature = "otlp-http")]
            Protocol::Http => http::logs(self, driver),
        }
    }
}

#[cfg(test)]
mod tests;
