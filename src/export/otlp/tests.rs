//! Protocol, endpoint, headers and timeout of each signal.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use super::{Options, Protocol, Route, Signal};
use crate::export::env::Env;
use crate::export::error::Error;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";

fn route(options: &Options, signal: Signal, variables: &[(&str, &str)]) -> Result<Route, Error> {
    let lookup = |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned());
    options.route(signal, &Env::new(&lookup))
}

fn at(protocol: Protocol, endpoint: &str) -> Options {
    Options { endpoint: Some(endpoint.to_owned()), ..Options::by(protocol) }
}

#[test]
fn the_protocol_is_grpc_unless_named() {
    let protocol =
        |options: &Options, variables: &[_]| route(options, Signal::Traces, variables).map(|route| route.protocol);
    let any = Options::default();
    let http = [(PROTOCOL, "http/protobuf")];
    assert_eq!(protocol(&any, &[]).unwrap(), Protocol::Grpc);
    assert_eq!(protocol(&any, &http).unwrap(), Protocol::Http);
    assert_eq!(protocol(&any, &[(PROTOCOL, "grpc")]).unwrap(), Protocol::Grpc);
    assert_eq!(protocol(&Options::by(Protocol::Grpc), &http).unwrap(), Protocol::Grpc, "code wins");
    let own = [http[0], ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc")];
    assert_eq!(protocol(&any, &own).unwrap(), Protocol::Grpc, "the signal's own wins");
    let error = protocol(&any, &[(PROTOCOL, "http/json")]).unwrap_err();
    assert!(error.is_unknown_protocol(), "{error:?}");
    assert!(error.to_string().contains("http/json"), "{error}");
}

#[test]
fn endpoints_over_grpc() {
    let endpoint =
        |options: &Options, variables: &[_]| route(options, Signal::Traces, variables).map(|route| route.endpoint);
    let grpc = Options::by(Protocol::Grpc);
    let general = (ENDPOINT, "http://general:4317");
    let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://own:4317");
    assert_eq!(endpoint(&grpc, &[]).unwrap(), "http://localhost:4317");
    assert_eq!(endpoint(&grpc, &[general]).unwrap(), "http://general:4317");
    assert_eq!(endpoint(&grpc, &[general, own]).unwrap(), "http://own:4317");
    assert_eq!(endpoint(&at(Protocol::Grpc, "http://code:1"), &[general, own]).unwrap(), "http://code:1");
    let insecure = [(ENDPOINT, "general:4317"), ("OTEL_EXPORTER_OTLP_INSECURE", "true")];
    assert_eq!(endpoint(&grpc, &insecure).unwrap(), "http://general:4317");
}

#[test]
fn endpoints_over_http_get_the_path_of_the_signal() {
    let endpoint = |options: &Options, signal, variables: &[_]| route(options, signal, variables).unwrap().endpoint;
    let http = Options::by(Protocol::Http);
    assert_eq!(endpoint(&http, Signal::Traces, &[]), "http://localhost:4318/v1/traces");
    assert_eq!(endpoint(&http, Signal::Metrics, &[]), "http://localhost:4318/v1/metrics");
    assert_eq!(endpoint(&http, Signal::Logs, &[]), "http://localhost:4318/v1/logs");
    let general = (ENDPOINT, "http://general/otlp/");
    assert_eq!(endpoint(&http, Signal::Logs, &[general]), "http://general/otlp/v1/logs");
    let own = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://own/intake");
    assert_eq!(endpoint(&http, Signal::Logs, &[general, own]), "http://own/intake", "taken as it is");
    assert_eq!(endpoint(&http, Signal::Traces, &[general, own]), "http://general/otlp/v1/traces");
    let code = at(Protocol::Http, "http://code");
    assert_eq!(endpoint(&code, Signal::Logs, &[general, own]), "http://code/v1/logs");
}

#[test]
fn an_endpoint_that_is_none_is_refused() {
    for endpoint in ["localhost:4318", "ftp://localhost", "http://", "http://a b", "/v1/traces"] {
        let error = route(&at(Protocol::Http, endpoint), Signal::Traces, &[]).err().unwrap();
        assert!(error.is_bad_endpoint(), "{endpoint}: {error:?}");
        assert!(std::error::Error::source(&error).is_some(), "{endpoint}");
    }
}

#[cfg(not(feature = "tls"))]
#[test]
fn https_needs_the_feature_and_says_so() {
    for options in [at(Protocol::Http, "https://localhost"), at(Protocol::Grpc, "localhost:4317")] {
        let error = route(&options, Signal::Traces, &[]).err().unwrap();
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(error.is_bad_endpoint() && source.contains("`tls`"), "{source}");
    }
}

#[test]
fn headers_of_code_replace_those_of_the_environment() {
    let options =
        Options { headers: vec![("Authorization".to_owned(), "code".to_owned())], ..Options::by(Protocol::Http) };
    let variables = [("OTEL_EXPORTER_OTLP_HEADERS", "authorization=env,x-tenant=a%3Db")];
    let headers = route(&options, Signal::Traces, &variables).unwrap().headers;
    let expected = [("x-tenant", "a=b"), ("Authorization", "code")];
    assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert!(!format!("{options:?}").contains("\"code\""));
}

#[test]
fn a_header_that_http_does_not_allow_is_refused() {
    for (name, value) in [("bad name", "x"), ("x-key", "line\nbreak")] {
        let options = Options { headers: vec![(name.to_owned(), value.to_owned())], ..Options::by(Protocol::Http) };
        let error = route(&options, Signal::Traces, &[]).unwrap().header_map().unwrap_err();
        assert!(error.is_bad_setting(), "{error:?}");
        assert!(!error.to_string().contains("line"), "a value may be a key: {error}");
    }
}

#[test]
fn the_timeout_is_code_then_signal_then_general() {
    let timeout = |options: &Options, variables: &[_]| route(options, Signal::Metrics, variables).unwrap().timeout;
    let general = ("OTEL_EXPORTER_OTLP_TIMEOUT", "2000");
    let own = ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "3000");
    let http = Options::by(Protocol::Http);
    assert_eq!(timeout(&http, &[]), Duration::from_secs(10));
    assert_eq!(timeout(&http, &[general]), Duration::from_secs(2));
    assert_eq!(timeout(&http, &[general, own]), Duration::from_secs(3));
    let code = Options { timeout: Some(Duration::from_secs(1)), ..http };
    assert_eq!(timeout(&code, &[general, own]), Duration::from_secs(1));
    let bad = route(&Options::by(Protocol::Http), Signal::Metrics, &[("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")]);
    assert!(bad.err().unwrap().is_bad_setting());
}
