//! A sampler that was started before the application set its meter provider, in a process of its own: it is global.
#![cfg(feature = "testing")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use llmperf_core::opentelemetry::global;
use llmperf_gpu::{ByHand, Clock, DeviceInfo, Sampler, ScriptedGpus, Selection};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider, data::ResourceMetrics};

/// A meter provider and what it exported.
struct Meters(SdkMeterProvider, InMemoryMetricExporter);

impl Meters {
    fn new() -> Self {
        let exporter = InMemoryMetricExporter::default();
        let reader = PeriodicReader::builder(exporter.clone()).with_interval(Duration::from_secs(3_600)).build();
        Self(SdkMeterProvider::builder().with_reader(reader).build(), exporter)
    }

    fn names(&self) -> Vec<String> {
        self.1.reset();
        self.0.force_flush().unwrap();
        let exported = self.1.get_finished_metrics().unwrap();
        let scopes = exported.iter().flat_map(ResourceMetrics::scope_metrics);
        scopes.flat_map(|scope| scope.metrics().map(|metric| metric.name().to_owned())).collect()
    }
}

fn tick(sampler: &mut ByHand, clock: &Clock) {
    clock.advance(Duration::from_secs(1));
    sampler.tick();
}

#[test]
fn metrics_go_to_whichever_provider_is_in_force_and_end_with_the_sampler() {
    let (gpus, clock) = (ScriptedGpus::new(), Clock::manual());
    gpus.plug(DeviceInfo::new("GPU-0", "Test"));
    gpus.tell("GPU-0", |sample| sample.power_watts = Ok(300.0));
    let mut sampler = Sampler::new(gpus).devices(Selection::All).clock(&clock).by_hand();
    tick(&mut sampler, &clock);

    let first = Meters::new();
    global::set_meter_provider(first.0.clone());
    tick(&mut sampler, &clock);
    assert!(first.names().contains(&"hw.power".to_owned()));
    assert!(first.names().contains(&"llmperf.gpu.sample.duration".to_owned()));

    let second = Meters::new();
    global::set_meter_provider(second.0.clone());
    tick(&mut sampler, &clock);
    assert!(second.names().contains(&"hw.power".to_owned()), "a provider that comes later is found");

    drop(sampler);
    assert!(!second.names().contains(&"hw.power".to_owned()), "nobody is there to tell");
}
