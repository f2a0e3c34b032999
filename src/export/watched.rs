//! Says once that exports fail, once that they work again, and stops them when shutdown has given up.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::logs::{LogBatch, LogExporter};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// Closed when shutdown has run out of time: what the SDK's threads still hold then fails at once, instead of waiting
/// batch by batch for a receiver that does not answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Gate(Arc<GateState>);

#[derive(Debug, Default)]
struct GateState {
    closed: AtomicBool,
    /// Why the last export failed that did, in the receiver's or the transport's words.
    failure: Mutex<Option<String>>,
}

impl Gate {
    pub(super) fn close(&self) {
        self.0.closed.store(true, Ordering::Relaxed);
    }

    /// Why the last export failed, if one did.
    pub(super) fn failure(&self) -> Option<String> {
        self.0.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn pass(&self) -> OTelSdkResult {
        if self.0.closed.load(Ordering::Relaxed) {
            return Err(OTelSdkError::AlreadyShutdown);
        }
        Ok(())
    }

    fn failed(&self, error: &OTelSdkError) {
        *self.0.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
    }
}

/// An exporter of any signal, watched.
pub(super) struct Watched<E> {
    exporter: E,
    signal: &'static str,
    gate: Gate,
    failing: AtomicBool,
}

impl<E> Watched<E> {
    pub(super) fn new(exporter: E, signal: &'static str, gate: &Gate) -> Self {
        Self { exporter, signal, gate: gate.clone(), failing: AtomicBool::new(false) }
    }

    /// The SDK suppresses telemetry on its threads, so these events are printed but not exported.
    fn note(&self, result: OTelSdkResult) -> OTelSdkResult {
        let failed = result.as_ref().err();
        if let Some(error) = failed {
            self.gate.failed(error);
        }
        let before = self.failing.swap(failed.is_some(), Ordering::Relaxed);
        match (before, failed) {
            (false, Some(error)) => tracing::warn!(
                target: "llmperf",
                signal = self.signal,
                error = %error,
                "exporting telemetry fails; this is said once until it works again"
            ),
            (true, None) => tracing::info!(target: "llmperf", signal = self.signal, "exporting telemetry works again"),
            _ => {}
        }
        result
    }
}

impl<E> fmt::Debug for Watched<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("signal", &self.signal).field("failing", &self.failing).finish_non_exhaustive()
    }
}

impl<E: SpanExporter> SpanExporter for Watched<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.gate.pass()?;
        self.note(self.exporter.export(batch).await)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl<E: LogExporter> LogExporter for Watched<E> {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        self.gate.pass()?;
        self.note(self.exporter.export(batch).await)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl<E: PushMetricExporter> PushMetricExporter for Watched<E> {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        self.gate.pass()?;
        self.note(self.exporter.export(metrics).await)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}

#[cfg(test)]
mod tests;
