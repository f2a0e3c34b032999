//! With the collector up, everything arrives, labelled as it was set up.

use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use tracing_subscriber::prelude::*;

use super::collector::Collector;
use super::{by, end_spans};

#[test]
fn spans_metrics_and_logs_arrive_over_both_protocols() {
    for protocol in ["grpc", "http"] {
        let collector = Collector::start();
        let telemetry = by(protocol).endpoint(collector.url()).logs(true).build().unwrap();
        let subscriber = tracing_subscriber::registry().with(telemetry.layer());
        tracing::subscriber::with_default(subscriber, || {
            let _request = tracing::info_span!("request").entered();
            tracing::info!("served");
        });
        let meter = telemetry.meter_provider().unwrap().meter("test");
        meter.u64_counter("llmperf.client.calls").build().add(3, &[]);
        telemetry.shutdown().unwrap();

        let spans = collector.spans();
        assert_eq!(spans.iter().map(|span| span.name.as_str()).collect::<Vec<_>>(), ["request"], "{protocol}");
        let logs = collector.logs();
        assert_eq!(logs.len(), 1, "{protocol}: {logs:?}");
        assert_eq!(logs[0].name, "served");
        assert_eq!((&logs[0].trace_id, &logs[0].span_id), (&spans[0].trace_id, &spans[0].span_id));
        let names: Vec<String> = collector.metrics().into_iter().map(|metric| metric.name).collect();
        assert_eq!(names, ["llmperf.client.calls"], "{protocol}");
    }
}

#[test]
fn the_resource_says_who_sends() {
    let collector = Collector::start();
    let export = by("http").service("travel-desk").service_version("1.2").resource("deployment.environment", "test");
    let telemetry = export.endpoint(collector.url()).build().unwrap();
    end_spans(&telemetry, 1);
    telemetry.shutdown().unwrap();

    let resource = collector.span_resource();
    let value = |key: &str| resource.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    assert_eq!(value("service.name"), Some("travel-desk"));
    assert_eq!(value("service.version"), Some("1.2"));
    assert_eq!(value("deployment.environment"), Some("test"));
    assert_eq!(value("telemetry.sdk.language"), Some("rust"));
    assert_eq!(value("service.instance.id").map(str::len), Some(36));
}

#[test]
fn headers_go_with_every_request() {
    for protocol in ["grpc", "http"] {
        let collector = Collector::start();
        let export = by(protocol).endpoint(collector.url()).header("x-api-key", "secret");
        assert!(!format!("{export:?}").contains("secret"), "a key must not be printed");
        let telemetry = export.build().unwrap();
        end_spans(&telemetry, 1);
        telemetry.shutdown().unwrap();

        let requests = collector.requests();
        assert!(!requests.is_empty(), "{protocol}");
        for (path, headers) in requests {
            let keys: Vec<_> = headers.get_all("x-api-key").iter().collect();
            assert_eq!(keys, ["secret"], "{protocol} {path}");
        }
    }
}

#[test]
fn a_guard_that_is_dropped_flushes() {
    let collector = Collector::start();
    let telemetry = by("http").endpoint(collector.url()).build().unwrap();
    end_spans(&telemetry, 3);
    drop(telemetry);
    assert_eq!(collector.spans().len(), 3);
}

#[test]
fn a_flush_sends_what_waits_and_goes_on() {
    let collector = Collector::start();
    let telemetry = by("grpc").endpoint(collector.url()).build().unwrap();
    end_spans(&telemetry, 2);
    telemetry.force_flush().unwrap();
    assert_eq!((collector.spans().len(), telemetry.exported_spans()), (2, 2));
    end_spans(&telemetry, 1);
    telemetry.shutdown().unwrap();
    assert_eq!(collector.spans().len(), 3);
}

#[test]
fn tracing_spans_and_ours_nest_in_each_other() {
    let collector = Collector::start();
    let telemetry = by("http").endpoint(collector.url()).build().unwrap();
    let tracer = telemetry.tracer_provider().unwrap().tracer("ours");
    let subscriber = tracing_subscriber::registry().with(telemetry.layer());
    tracing::subscriber::with_default(subscriber, || {
        let _outer = tracing::info_span!("outer").entered();
        let ours = opentelemetry::Context::current_with_span(tracer.start("ours"));
        let _attached = ours.attach();
        let _inner = tracing::info_span!("inner").entered();
    });
    telemetry.shutdown().unwrap();

    let spans = collector.spans();
    let named = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    assert_eq!(named("ours").parent_id, named("outer").span_id);
    assert_eq!(named("inner").parent_id, named("ours").span_id);
    assert!(spans.iter().all(|span| span.trace_id == named("outer").trace_id), "{spans:?}");
}

#[test]
fn exponential_histograms_are_sent_when_asked_for() {
    for asked in [false, true] {
        let collector = Collector::start();
        let export = by("http").endpoint(collector.url()).metric_interval(Duration::from_secs(3600));
        let export = if asked { export.exponential_histograms() } else { export };
        let telemetry = export.build().unwrap();
        let meter = telemetry.meter_provider().unwrap().meter("test");
        let histogram = meter.f64_histogram("llmperf.client.duration").with_boundaries(vec![0.1, 1.0]).build();
        histogram.record(0.25, &[]);
        telemetry.shutdown().unwrap();

        let metrics = collector.metrics();
        let exponential = matches!(metrics[0].data, Some(Data::ExponentialHistogram(_)));
        assert_eq!(exponential, asked, "{metrics:?}");
    }
}

#[test]
fn a_ratio_of_zero_keeps_spans_at_home() {
    let collector = Collector::start();
    let telemetry = by("http").endpoint(collector.url()).ratio(0.0).build().unwrap();
    end_spans(&telemetry, 5);
    assert_eq!(telemetry.dropped_spans(), 0, "an unsampled span is not a dropped one");
    telemetry.shutdown().unwrap();
    assert_eq!(collector.spans().len(), 0);
}

#[test]
fn limits_without_end_deliver_too() {
    for protocol in ["grpc", "http"] {
        let collector = Collector::start();
        let export = by(protocol).endpoint(collector.url()).timeout(Duration::MAX).metric_interval(Duration::MAX);
        let telemetry = export.shutdown_limit(Duration::from_secs(30)).build().unwrap();
        end_spans(&telemetry, 3);
        telemetry.shutdown().unwrap();
        assert_eq!(collector.spans().len(), 3, "{protocol}");
    }
}
