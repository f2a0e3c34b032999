//! Where each signal goes: protocol, endpoint, headers and timeout, by code, environment and default.

use std::time::Duration;

use http::uri::InvalidUri;
use http::{HeaderName, HeaderValue, Uri};

use super::{Options, Protocol, Signal};
use crate::export::env::{Env, bad_setting, pairs};
use crate::export::error::{BoxError, Error, Kind};

const TIMEOUT: Duration = Duration::from_secs(10);

/// Where one signal goes, decided.
pub(super) struct Route {
    pub(super) protocol: Protocol,
    pub(super) endpoint: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) timeout: Duration,
}

impl Options {
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
                let insecure = setting(signal, "INSECURE", env).is_some_and(|value| value.eq_ignore_ascii_case("true"));
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
        let listed = setting(signal, "HEADERS", env).unwrap_or_default();
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

impl Route {
    /// The exporter would not be built: only its endpoint can be the reason, the rest is checked.
    pub(super) fn refused(&self, source: impl Into<BoxError>) -> Error {
        bad_endpoint(&self.endpoint, source.into())
    }

    /// The names and values in the types of `http`, which both transports use.
    pub(super) fn header_map(&self) -> Result<Vec<(HeaderName, HeaderValue)>, Error> {
        let parse = |(name, value): &(String, String)| {
            let expected = "a header with a name and a value that HTTP allows";
            let bad = || bad_setting("header", name, expected);
            let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?, value))
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

/// The signal's own variable, or the general one.
fn setting(signal: Signal, name: &str, env: &Env<'_>) -> Option<String> {
    env.text(&variable(signal, name)).or_else(|| env.text(&format!("OTEL_EXPORTER_OTLP_{name}")))
}

fn protocol_from(named: Option<String>) -> Result<Protocol, Error> {
    let Some(name) = named else {
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
    let uri: Uri = endpoint.parse().map_err(|source: InvalidUri| bad_endpoint(&endpoint, source.into()))?;
    let reason = match uri.scheme_str() {
        _ if uri.host().is_none_or(str::is_empty) => Some("it names no host"),
        Some("http") => None,
        Some("https") if cfg!(feature = "tls") => None,
        Some("https") => Some("TLS is not compiled in: switch on the feature `tls`"),
        _ => Some("only http:// and https:// are known"),
    };
    match reason {
        None => Ok(endpoint),
        Some(reason) => Err(bad_endpoint(&endpoint, reason.into())),
    }
}

pub(super) fn bad_endpoint(endpoint: &str, source: BoxError) -> Error {
    Kind::Endpoint { endpoint: endpoint.to_owned(), source }.into()
}
