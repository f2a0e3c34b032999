//! OTLP: which protocol, which endpoint, which headers, for each signal.

use std::fmt;
use std::time::Duration;

use opentelemetry_otlp::{LogExporter, MetricExporter, SpanExporter};
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::{logs, trace as spans};

use super::builder::{Destination, Export};
use super::driver::Driver;
use super::env::{Env, bad_setting, pairs};
use super::error::{BoxError, Error, Kind};
use super::pipeline;

#[cfg(feature = "otlp-grpc")]
mod grpc;
#[cfg(feature = "otlp-http")]
mod http;

const TIMEOUT: Duration = Duration::from_secs(10);

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

/// Where one signal goes, decided.
pub(super) struct Route {
    pub(super) protocol: Protocol,
    pub(super) endpoint: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) timeout: Duration,
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

    /// Code, then the variable of the signal, then the general one, then the default.
    pub(super) fn route(&self, signal: Signal, env: &Env<'_>) -> Result<Route, Error> {
        let protocol = match self.protocol {
            Some(protocol) => protocol,
            None => protocol_from(setting(signal, "PROTOCOL", env))?,
        };
        Ok(Route {
            protocol,
            endpoint: self.endpoint(signal, protocol, env)?,
            headers: self.headers(signal, env),
            timeout: self.timeout(signal, env)?,
        })
    }

    /// Over HTTP each signal has its path below the base; only the signal's own variable is taken as it is.
    fn endpoint(&self, signal: Signal, protocol: Protocol, env: &Env<'_>) -> Result<String, Error> {
        let own = env.text(&variable(signal, "ENDPOINT"));
        let base = self.endpoint.clone().or_else(|| match own {
            Some(_) => None,
            None => env.text("OTEL_EXPORTER_OTLP_ENDPOINT"),
        });
        match protocol {
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => {
                let endpoint = base.or(own).unwrap_or_else(|| "http://localhost:4317".to_owned());
                let insecure =
                    setting(signal, "INSECURE", env).is_some_and(|(_, value)| value.eq_ignore_ascii_case("true"));
                checked(with_scheme(endpoint, insecure))
            }
            #[cfg(feature = "otlp-http")]
            Protocol::Http => match (base, own) {
                (None, Some(own)) => checked(own),
                (base, _) => {
                    let base = base.unwrap_or_else(|| "http://localhost:4318".to_owned());
                    checked(format!("{}{}", base.trim_end_matches('/'), signal.path()))
                }
            },
        }
    }

    fn headers(&self, signal: Signal, env: &Env<'_>) -> Vec<(String, String)> {
        let listed = setting(signal, "HEADERS", env).map(|(_, list)| list).unwrap_or_default();
        let mut headers: Vec<(String, String)> = pairs(&listed).collect();
        headers.retain(|(name, _)| !self.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)));
        headers.extend(self.headers.iter().cloned());
        headers
    }

    fn timeout(&self, signal: Signal, env: &Env<'_>) -> Result<Duration, Error> {
        if let Some(timeout) = self.timeout {
            return Ok(timeout);
        }
        let expected = "a number of milliseconds";
        let own = env.parsed(&variable(signal, "TIMEOUT"), expected)?;
        let timeout = match own {
            Some(timeout) => Some(timeout),
            None => env.parsed("OTEL_EXPORTER_OTLP_TIMEOUT", expected)?,
        };
        Ok(timeout.map_or(TIMEOUT, Duration::from_millis))
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
    pub(super) fn spans(&self, driver: &Driver) -> Result<SpanExporter, Error> {
        match self.protocol {
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => {
                let _runtime = driver.handle().enter();
                let builder = grpc::configure(SpanExporter::builder().with_tonic(), self)?;
                builder.build().map_err(|source| self.refused(source))
            }
            #[cfg(feature = "otlp-http")]
            Protocol::Http => {
                let builder = http::configure(SpanExporter::builder().with_http(), self, driver)?;
                builder.build().map_err(|source| self.refused(source))
            }
        }
    }

    pub(super) fn metrics(&self, driver: &Driver) -> Result<MetricExporter, Error> {
        match self.protocol {
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => {
                let _runtime = driver.handle().enter();
                let builder = grpc::configure(MetricExporter::builder().with_tonic(), self)?;
                builder.build().map_err(|source| self.refused(source))
            }
            #[cfg(feature = "otlp-http")]
            Protocol::Http => {
                let builder = http::configure(MetricExporter::builder().with_http(), self, driver)?;
                builder.build().map_err(|source| self.refused(source))
            }
        }
    }

    pub(super) fn logs(&self, driver: &Driver) -> Result<LogExporter, Error> {
        match self.protocol {
            #[cfg(feature = "otlp-grpc")]
            Protocol::Grpc => {
                let _runtime = driver.handle().enter();
                let builder = grpc::configure(LogExporter::builder().with_tonic(), self)?;
                builder.build().map_err(|source| self.refused(source))
            }
            #[cfg(feature = "otlp-http")]
            Protocol::Http => {
                let builder = http::configure(LogExporter::builder().with_http(), self, driver)?;
                builder.build().map_err(|source| self.refused(source))
            }
        }
    }

    fn refused(&self, source: impl Into<BoxError>) -> Error {
        bad_endpoint(&self.endpoint, Some(source.into()))
    }

    /// The names and values in the types of `http`, which both transports use.
    fn header_map(&self) -> Result<Vec<(::http::HeaderName, ::http::HeaderValue)>, Error> {
        let parse = |(name, value): &(String, String)| {
            let expected = "a header with a name and a value that HTTP allows";
            let bad = || bad_setting("header", name, expected);
            let mut value = ::http::HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            Ok((::http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?, value))
        };
        self.headers.iter().map(parse).collect()
    }
}

impl Signal {
    fn infix(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
            Self::Logs => "LOGS",
        }
    }

    #[cfg(feature = "otlp-http")]
    fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
            Self::Logs => "/v1/logs",
        }
    }
}

fn variable(signal: Signal, name: &str) -> String {
    format!("OTEL_EXPORTER_OTLP_{}_{name}", signal.infix())
}

fn setting(signal: Signal, name: &str, env: &Env<'_>) -> Option<(String, String)> {
    [variable(signal, name), format!("OTEL_EXPORTER_OTLP_{name}")]
        .into_iter()
        .find_map(|variable| env.text(&variable).map(|value| (variable, value)))
}

fn protocol_from(named: Option<(String, String)>) -> Result<Protocol, Error> {
    let Some((_, name)) = named else {
        #[cfg(feature = "otlp-grpc")]
        return Ok(Protocol::Grpc);
        #[cfg(not(feature = "otlp-grpc"))]
        return Ok(Protocol::Http);
    };
    match name.as_str() {
        #[cfg(feature = "otlp-grpc")]
        "grpc" => Ok(Protocol::Grpc),
        #[cfg(feature = "otlp-http")]
        "http/protobuf" => Ok(Protocol::Http),
        _ => {
            let hint = match name.as_str() {
                "grpc" => "switch on the feature `otlp-grpc`",
                "http/protobuf" => "switch on the feature `otlp-http`",
                _ => "say `grpc` or `http/protobuf`",
            };
            Err(Kind::Protocol { name, hint }.into())
        }
    }
}

/// A gRPC endpoint may come without a scheme; the specification then means TLS unless told otherwise.
#[cfg(feature = "otlp-grpc")]
fn with_scheme(endpoint: String, insecure: bool) -> String {
    match (endpoint.contains("://"), insecure) {
        (true, _) => endpoint,
        (false, true) => format!("http://{endpoint}"),
        (false, false) => format!("https://{endpoint}"),
    }
}

fn checked(endpoint: String) -> Result<String, Error> {
    let uri: ::http::Uri =
        endpoint.parse().map_err(|source: ::http::uri::InvalidUri| bad_endpoint(&endpoint, Some(source.into())))?;
    let reason = match uri.scheme_str() {
        _ if uri.host().is_none_or(str::is_empty) => Some("it names no host"),
        Some("http") => None,
        Some("https") if cfg!(feature = "tls") => None,
        Some("https") => Some("TLS is not compiled in: switch on the feature `tls`"),
        _ => Some("only http:// and https:// are known"),
    };
    match reason {
        None => Ok(endpoint),
        Some(reason) => Err(bad_endpoint(&endpoint, Some(reason.into()))),
    }
}

fn bad_endpoint(endpoint: &str, source: Option<BoxError>) -> Error {
    Kind::Endpoint { endpoint: endpoint.to_owned(), source }.into()
}

#[cfg(test)]
mod tests;
