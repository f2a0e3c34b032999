//! Handles that were made before the application set its providers, in a process of their own: the providers are global.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use llmperf_core::{Output, Recorder, chat, model};
use opentelemetry::global;
use opentelemetry_sdk::{
    metrics::{
        InMemoryMetricExporter, PeriodicReader, SdkMeterProvider,
        data::{AggregatedMetrics, MetricData, ResourceMetrics},
    },
    trace::{InMemorySpanExporter, SdkTracerProvider},
};

/// A meter provider and what it exported.
struct Meters(SdkMeterProvider, InMemoryMetricExporter);

impl Meters {
    fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(exporter.clone()).with_interval(Duration::from_secs(3_600)).build();
        Self(SdkMeterProvider::builder().with_reader(reader).build(), exporter)
    }

    /// Calls that were counted.
    fn calls(&self) -> u64 {
        self.sum("llmperf.client.calls")
    }

    fn sum(&self, name: &str) -> u64 {
        self.1.reset();
        self.0.force_flush().unwrap();
        let exported = self.1.get_finished_metrics().unwrap();
        let metrics = exported
            .iter()
            .flat_map(ResourceMetrics::scope_metrics)
            .flat_map(opentelemetry_sdk::metrics::data::ScopeMetrics::metrics);
        let sums = metrics.filter(|metric| metric.name() == name).map(|metric| match metric.data() {
            AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                sum.data_points().map(opentelemetry_sdk::metrics::data::SumDataPoint::value).sum()
            }
            AggregatedMetrics::I64(MetricData::Sum(sum)) => {
                sum.data_points().map(|point| u64::try_from(point.value()).unwrap()).sum()
            }
            _ => 0,
        });
        sums.sum()
    }
}

fn finish(mut call: Recorder) {
    call.on_chunk(Output::text("hi"));
    assert!(call.finish().outcome.is_some());
}

#[test]
fn a_handle_made_before_set_up_is_live_after_it_and_follows_each_provider() {
    let handle = model("openai", "gpt-4o-mini");
    finish(handle.chat().start()); // nobody listens yet
    let across = handle.chat().start();

    let first = Meters::new();
    let spans = InMemorySpanExporter::default();
    global::set_meter_provider(first.0.clone());
    global::set_tracer_provider(SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build());
    finish(handle.chat().start());
    finish(chat("openai", "gpt-4o-mini").start());
    assert_eq!(first.calls(), 2);
    assert_eq!(spans.get_finished_spans().unwrap().len(), 2);

    finish(across);
    assert_eq!(first.calls(), 2, "a live call keeps the instruments that it started with");

    let kept = handle.chat().start();
    assert_eq!(first.sum("llmperf.client.active_calls"), 1);
    let second = Meters::new();
    global::set_meter_provider(second.0.clone());
    finish(handle.chat().start());
    assert_eq!((first.calls(), second.calls()), (2, 1));
    finish(kept);
    assert_eq!((first.calls(), second.calls()), (3, 1));
    assert_eq!(first.sum("llmperf.client.active_calls"), 0, "and so it goes back to where it was counted");
    assert_eq!(spans.get_finished_spans().unwrap().len(), 4);
}
