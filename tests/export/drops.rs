//! What never arrives is counted, and memory stays bounded.

use std::sync::{Arc, Mutex};

use opentelemetry::KeyValue;
use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::collector;
use super::{by, end_spans};

#[test]
fn what_is_dropped_is_counted_to_the_last_span() {
    let collector = collector::hanging();
    let telemetry = by("http").endpoint(collector.url()).build().unwrap();
    end_spans(&telemetry, 10_000);
    // Nothing arrives, and no more than the queue holds waits, batch in flight included.
    assert_eq!(telemetry.dropped_spans(), 10_000 - 2_048);
    assert_eq!(telemetry.exported_spans(), 0);
}

#[test]
fn a_failed_export_counts_as_dropped() {
    for protocol in ["grpc", "http"] {
        let endpoint = collector::refusing();
        let telemetry = by(protocol).endpoint(endpoint).build().unwrap();
        end_spans(&telemetry, 7);
        let error = telemetry.force_flush().unwrap_err();
        assert!(error.is_lost(), "{protocol}: {error:?}");
        assert_eq!((telemetry.dropped_spans(), telemetry.exported_spans()), (7, 0), "{protocol}");
    }
}

/// Remembers the numbers that `llmperf` events carry.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(String, u64)>>>);

impl<S: tracing::Subscriber> Layer<S> for Heard {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "llmperf" {
            event.record(&mut self.clone());
        }
    }
}

impl Visit for Heard {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.lock().unwrap().push((field.name().to_owned(), value));
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

#[test]
fn shutdown_says_once_what_was_lost() {
    let heard = Heard::default();
    let subscriber = tracing_subscriber::registry().with(heard.clone());
    tracing::subscriber::with_default(subscriber, || {
        let telemetry = by("http").endpoint(collector::refusing()).build().unwrap();
        end_spans(&telemetry, 3);
        telemetry.shutdown().unwrap_err();
    });
    let heard = heard.0.lock().unwrap().clone();
    assert_eq!(heard, [("dropped_spans".to_owned(), 3), ("exported_spans".to_owned(), 0)]);
}

/// Unbounded, 100,000 of these spans would hold 200 MB.
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_bounded_over_100_000_calls_with_a_dead_collector() {
    let collector = collector::hanging();
    let telemetry = by("http").endpoint(collector.url()).build().unwrap();
    let tracer = telemetry.tracer_provider().unwrap().tracer("test");
    let end_spans = |count: usize| {
        for _ in 0..count {
            let mut span = tracer.start("call");
            span.set_attribute(KeyValue::new("text", "x".repeat(2048)));
        }
    };
    end_spans(10_000);
    let before = resident_bytes();
    end_spans(90_000);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "grew by {grown} bytes");
    assert_eq!(telemetry.dropped_spans(), 100_000 - 2_048);
}

#[cfg(target_os = "linux")]
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kilobytes * 1024
}
