//! What a process has only once: the globals, the subscriber, the environment. Each case runs in a child process, which
//! is this test binary asked for one ignored test.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use llmperf::export;
use opentelemetry::global;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{Tracer as _, TracerProvider as _};
use tracing_subscriber::prelude::*;

use super::collector::Collector;

/// Runs `case` with the variables given and no other `OTEL_*`.
fn run(case: &str, variables: &[(&str, &str)]) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("OTEL_") || name == "RUST_LOG") {
        child.env_remove(name);
    }
    child.args([&format!("process::{case}"), "--exact", "--ignored"]).envs(variables.iter().copied());
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn names(collector: &Collector) -> Vec<String> {
    collector.spans().into_iter().map(|span| span.name).collect()
}

#[test]
fn install_sets_globals_and_subscriber() {
    let collector = Collector::start();
    run("child_installs", &[("COLLECTOR", &collector.url())]);
    assert_eq!(names(&collector), ["by tracing", "by the API"]);
    let logs: Vec<String> = collector.logs().into_iter().map(|log| log.name).collect();
    assert_eq!(logs, ["served"]);
    assert!(collector.metrics().iter().any(|metric| metric.name == "llmperf.client.calls"));
}

#[test]
#[ignore = "run by `install_sets_globals_and_subscriber`"]
fn child_installs() {
    let url = std::env::var("COLLECTOR").unwrap();
    let telemetry = export::otlp_grpc().endpoint(&url).logs(true).install().unwrap();

    let refused = export::otlp_http().endpoint(&url).install().unwrap_err();
    assert!(refused.is_already_installed(), "{refused:?}");

    tracing::info_span!("by tracing").in_scope(|| tracing::info!("served"));
    drop(global::tracer("test").start("by the API"));
    global::meter("test").u64_counter("llmperf.client.calls").build().add(1, &[]);
    let mut headers = std::collections::HashMap::<String, String>::new();
    let fields = global::get_text_map_propagator(|propagator| {
        propagator.inject_context(&opentelemetry::Context::current(), &mut headers);
        propagator.fields().map(str::to_owned).collect::<Vec<_>>()
    });
    assert!(fields.contains(&"traceparent".to_owned()), "{fields:?}");
    telemetry.shutdown().unwrap();

    // The place is free again.
    export::otlp_http().endpoint(&url).install().unwrap().shutdown().unwrap();
}

/// The filter lets through all that hyper, h2 and tonic say at TRACE.
#[test]
fn the_exporters_do_not_export_themselves() {
    for protocol in ["grpc", "http/protobuf"] {
        let collector = Collector::start();
        let variables = [("COLLECTOR", collector.url()), ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol.to_owned())];
        run("child_traces_everything", &variables.each_ref().map(|(name, value)| (*name, value.as_str())));
        assert_eq!(names(&collector), ["request", "request"], "{protocol}");
        let logs: Vec<String> = collector.logs().into_iter().map(|log| log.name).collect();
        assert_eq!(logs, ["served", "served"], "{protocol}");
    }
}

#[test]
#[ignore = "run by `the_exporters_do_not_export_themselves`"]
fn child_traces_everything() {
    let url = std::env::var("COLLECTOR").unwrap();
    let telemetry = export::otlp().endpoint(url).logs(true).filter("trace").install().unwrap();
    for _ in 0..2 {
        tracing::info_span!("request").in_scope(|| tracing::info!("served"));
        telemetry.force_flush().unwrap();
    }
    telemetry.shutdown().unwrap();
}

#[test]
fn a_subscriber_that_is_set_stays() {
    let collector = Collector::start();
    run("child_has_a_subscriber", &[("COLLECTOR", &collector.url())]);
    assert_eq!(names(&collector), ["by the API"]);
}

#[test]
#[ignore = "run by `a_subscriber_that_is_set_stays`"]
fn child_has_a_subscriber() {
    tracing_subscriber::registry().init();
    let telemetry = export::otlp_http().endpoint(std::env::var("COLLECTOR").unwrap()).install().unwrap();
    tracing::info_span!("by tracing").in_scope(|| {});
    drop(global::tracer("test").start("by the API"));
    telemetry.shutdown().unwrap();
}

#[test]
fn an_application_can_add_the_layer_to_its_own() {
    let collector = Collector::start();
    run("child_adds_the_layer", &[("COLLECTOR", &collector.url())]);
    assert_eq!(names(&collector), ["by tracing"]);
}

/// A layer with nothing to export must not keep the layers beside it from hearing.
#[test]
fn a_layer_that_is_switched_off_leaves_the_others_alone() {
    run("child_logs_elsewhere", &[("OTEL_SDK_DISABLED", "true")]);
    run("child_logs_elsewhere", &[("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")]);
}

#[test]
#[ignore = "run by `a_layer_that_is_switched_off_leaves_the_others_alone`"]
fn child_logs_elsewhere() {
    let telemetry = export::otlp_http().without_subscriber().install().unwrap();
    let others = tracing_subscriber::registry().with(telemetry.layer()).with(Heard);
    others.init();
    tracing::debug!("heard");
    assert_eq!(HEARD.load(Ordering::Relaxed), 1);
    telemetry.shutdown().unwrap();
}

static HEARD: AtomicUsize = AtomicUsize::new(0);

struct Heard;

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Heard {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        if event.metadata().target() == module_path!() {
            HEARD.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
#[ignore = "run by `an_application_can_add_the_layer_to_its_own`"]
fn child_adds_the_layer() {
    let export = export::otlp_http().endpoint(std::env::var("COLLECTOR").unwrap());
    let telemetry = export.without_subscriber().install().unwrap();
    tracing_subscriber::registry().with(telemetry.layer()).init();
    tracing::info_span!("by tracing").in_scope(|| {});
    telemetry.shutdown().unwrap();
}

#[test]
fn the_environment_decides_what_code_leaves_open() {
    let collector = Collector::start();
    let base = format!("{}/", collector.url());
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", base.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-env=a%20b,x-both=env"),
        ("OTEL_SERVICE_NAME", "from-env"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.version=0,deployment.environment=test"),
    ];
    run("child_reads_the_environment", &variables);
    let (path, headers) = collector.requests().remove(0);
    assert_eq!(path, "/v1/traces");
    assert_eq!(headers["x-env"], "a b");
    assert_eq!(headers["x-both"], "code");
    let resource = collector.span_resource();
    let value = |key: &str| resource.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    assert_eq!(value("service.name"), Some("from-env"));
    assert_eq!(value("service.version"), Some("1"));
    assert_eq!(value("deployment.environment"), Some("test"));
}

/// The exporter under ours reads the headers of the process too, and must not have the last word over gRPC either.
#[test]
fn code_beats_the_environment_over_grpc_too() {
    let collector = Collector::start();
    let url = collector.url();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()), ("OTEL_EXPORTER_OTLP_HEADERS", "x-both=env")];
    run("child_reads_the_environment", &variables);
    let (path, headers) = collector.requests().remove(0);
    assert!(path.ends_with("TraceService/Export"), "{path}");
    assert_eq!(headers.get_all("x-both").iter().collect::<Vec<_>>(), ["code"]);
}

#[test]
#[ignore = "run by `the_environment_decides_what_code_leaves_open` and its like"]
fn child_reads_the_environment() {
    let telemetry = export::otlp().header("x-both", "code").service_version("1").metrics(false).build().unwrap();
    drop(telemetry.tracer_provider().unwrap().tracer("test").start("call"));
    telemetry.shutdown().unwrap();
}

#[test]
fn the_sdk_can_be_switched_off() {
    run("child_is_switched_off", &[("OTEL_SDK_DISABLED", "true")]);
}

#[test]
#[ignore = "run by `the_sdk_can_be_switched_off`"]
fn child_is_switched_off() {
    let telemetry = export::otlp_grpc().logs(true).prometheus(([127, 0, 0, 1], 0)).install().unwrap();
    assert!(telemetry.tracer_provider().is_none() && telemetry.meter_provider().is_none());
    assert_eq!(telemetry.metrics_address(), None);
    telemetry.shutdown().unwrap();
}

#[test]
fn stdout_prints_spans_and_metrics() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["process::child_prints", "--exact", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}");
    assert!(said.contains("printed span") && said.contains("llmperf.client.calls"), "{said}");
}

#[test]
#[ignore = "run by `stdout_prints_spans_and_metrics`"]
fn child_prints() {
    let telemetry = export::stdout().build().unwrap();
    drop(telemetry.tracer_provider().unwrap().tracer("test").start("printed span"));
    let meter = telemetry.meter_provider().unwrap().meter("test");
    meter.u64_counter("llmperf.client.calls").build().add(1, &[]);
    telemetry.shutdown().unwrap();
}
