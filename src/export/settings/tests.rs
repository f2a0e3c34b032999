//! Code beats environment beats default, for everything that does not depend on the destination.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use opentelemetry::{Key, KeyValue, Value};
use opentelemetry_sdk::trace::Sampler;
use tracing::Level;

use super::Settings;
use crate::export::builder::{Destination, Export};
use crate::export::env::Env;
use crate::export::error::Error;

fn export() -> Export {
    Export::to(Destination::Stdout)
}

fn resolve(export: &Export, variables: &[(&str, &str)]) -> Result<Settings, Error> {
    let lookup = |name: &str| variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned());
    Settings::resolve(export, &Env::new(&lookup))
}

fn attribute(settings: &Settings, key: &'static str) -> Option<String> {
    settings.resource.get(&Key::from_static_str(key)).as_ref().map(Value::to_string)
}

#[test]
fn defaults() {
    let settings = resolve(&export(), &[]).unwrap();
    assert!(settings.enabled && settings.traces && settings.metrics && !settings.logs);
    assert_eq!(settings.span_queue, 2048);
    assert_eq!(settings.metric_interval, Duration::from_secs(60));
    assert_eq!(format!("{:?}", settings.sampler), "ParentBased(AlwaysOn)");
    assert!(attribute(&settings, "service.name").unwrap().starts_with("unknown_service:"));
    assert_eq!(attribute(&settings, "telemetry.sdk.name").as_deref(), Some("opentelemetry"));
}

#[test]
fn the_service_is_named_by_code_then_variable_then_list() {
    let both = [("OTEL_SERVICE_NAME", "variable"), ("OTEL_RESOURCE_ATTRIBUTES", "service.name=list")];
    let name =
        |export: &Export, variables: &[_]| attribute(&resolve(export, variables).unwrap(), "service.name").unwrap();
    assert_eq!(name(&export().service("code"), &both), "code");
    assert_eq!(name(&export(), &both), "variable");
    assert_eq!(name(&export(), &both[1..]), "list");
}

#[test]
fn resource_attributes_are_percent_decoded_and_overridden_by_code() {
    let variables = [("OTEL_RESOURCE_ATTRIBUTES", "team=search%2Cchat, region = eu ,broken,=x")];
    let settings = resolve(&export().resource("region", "us"), &variables).unwrap();
    assert_eq!(attribute(&settings, "team").as_deref(), Some("search,chat"));
    assert_eq!(attribute(&settings, "region").as_deref(), Some("us"));
    assert_eq!(attribute(&settings, "broken"), None);
}

#[test]
fn the_instance_id_is_a_random_uuid_unless_given() {
    let id = |variables: &[_]| attribute(&resolve(&export(), variables).unwrap(), "service.instance.id").unwrap();
    let first = id(&[]);
    assert_ne!(first, id(&[]));
    let groups: Vec<usize> = first.split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12], "{first}");
    assert_eq!(&first[14..15], "4", "{first}");
    assert!(matches!(&first[19..20], "8" | "9" | "a" | "b"), "{first}");
    assert_eq!(id(&[("OTEL_RESOURCE_ATTRIBUTES", "service.instance.id=pod-1")]), "pod-1");
}

#[test]
fn signals_are_switched_by_code_then_variable() {
    let none = [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none"), ("OTEL_LOGS_EXPORTER", "otlp")];
    let settings = resolve(&export(), &none).unwrap();
    assert!(!settings.traces && !settings.metrics && settings.logs);
    let settings = resolve(&export().traces(true).metrics(true).logs(false), &none).unwrap();
    assert!(settings.traces && settings.metrics && !settings.logs);
    assert!(!resolve(&export(), &[("OTEL_SDK_DISABLED", "TRUE")]).unwrap().enabled);
    assert!(resolve(&export(), &[("OTEL_SDK_DISABLED", "1")]).unwrap().enabled);
}

#[test]
fn every_sampler_of_the_specification_is_known() {
    let ratio = Sampler::TraceIdRatioBased(0.25);
    for (name, expected) in [
        ("always_on", Sampler::AlwaysOn),
        ("always_off", Sampler::AlwaysOff),
        ("traceidratio", ratio.clone()),
        ("parentbased_always_on", Sampler::ParentBased(Box::new(Sampler::AlwaysOn))),
        ("parentbased_always_off", Sampler::ParentBased(Box::new(Sampler::AlwaysOff))),
        ("parentbased_traceidratio", Sampler::ParentBased(Box::new(ratio.clone()))),
    ] {
        let variables = [("OTEL_TRACES_SAMPLER", name), ("OTEL_TRACES_SAMPLER_ARG", "0.25")];
        let settings = resolve(&export(), &variables).unwrap();
        assert_eq!(format!("{:?}", settings.sampler), format!("{expected:?}"), "{name}");
        let by_code = resolve(&export().ratio(0.5), &variables).unwrap();
        assert_eq!(format!("{:?}", by_code.sampler), "ParentBased(TraceIdRatioBased(0.5))", "{name}");
    }
}

#[test]
fn an_empty_variable_is_an_unset_one() {
    let variables = [("OTEL_TRACES_SAMPLER", ""), ("OTEL_METRIC_EXPORT_INTERVAL", " "), ("RUST_LOG", "")];
    let settings = resolve(&export(), &variables).unwrap();
    assert_eq!(settings.metric_interval, Duration::from_secs(60));
}

#[test]
fn numbers_come_from_the_environment() {
    let variables = [("OTEL_METRIC_EXPORT_INTERVAL", "1500"), ("OTEL_BSP_MAX_QUEUE_SIZE", "64")];
    let settings = resolve(&export(), &variables).unwrap();
    assert_eq!((settings.metric_interval, settings.span_queue), (Duration::from_millis(1500), 64));
    let by_code = resolve(&export().metric_interval(Duration::from_secs(5)), &variables).unwrap();
    assert_eq!(by_code.metric_interval, Duration::from_secs(5));
}

#[test]
fn what_cannot_be_understood_is_an_error_that_names_it() {
    for (name, value) in [
        ("OTEL_TRACES_SAMPLER", "sometimes"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1s"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-1"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "18446744073709551615"),
        ("RUST_LOG", "my_app=loud"),
    ] {
        let error = resolve(&export(), &[(name, value)]).unwrap_err();
        assert!(error.is_bad_setting(), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
    }
    for ratio in [f64::NAN, -0.1, 1.1] {
        assert!(resolve(&export().ratio(ratio), &[]).unwrap_err().is_bad_setting());
    }
    let logs = [("OTEL_BLRP_MAX_QUEUE_SIZE", "99999999999")];
    assert!(resolve(&export().logs(true), &logs).unwrap_err().is_bad_setting());
    assert!(resolve(&export(), &logs).is_ok(), "nobody reads it");
    let out_of_range = [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "2")];
    assert!(resolve(&export(), &out_of_range).unwrap_err().is_bad_setting());
}

#[test]
fn calls_are_exported_but_not_printed_unless_asked() {
    let filter = resolve(&export(), &[]).unwrap().filter;
    assert!(filter.exported.would_enable("llmperf", &Level::DEBUG));
    assert!(!filter.printed.would_enable("llmperf", &Level::DEBUG));
    assert!(filter.printed.would_enable("my_app", &Level::INFO));

    let filter = resolve(&export(), &[("RUST_LOG", "my_app=trace")]).unwrap().filter;
    assert!(filter.exported.would_enable("my_app", &Level::TRACE));
    assert!(!filter.exported.would_enable("llmperf", &Level::DEBUG));
    let filter = resolve(&export().filter("error"), &[("RUST_LOG", "my_app=trace")]).unwrap().filter;
    assert!(!filter.exported.would_enable("my_app", &Level::WARN));
}

#[test]
fn what_the_sdk_says_is_printed_but_never_exported() {
    for target in ["opentelemetry", "opentelemetry_sdk", "opentelemetry-otlp"] {
        let filter = resolve(&export().filter("trace"), &[]).unwrap().filter;
        assert!(!filter.exported.would_enable(target, &Level::ERROR), "{target}");
        assert!(filter.printed.would_enable(target, &Level::ERROR), "{target}");
    }
}

#[test]
fn attributes_given_twice_keep_the_last() {
    let export = export().resource("team", "a").resource("team", "b").service_version("2");
    let settings = resolve(&export, &[]).unwrap();
    assert_eq!(attribute(&settings, "team").as_deref(), Some("b"));
    assert_eq!(export.attributes[2], KeyValue::new("service.version", "2"));
}
