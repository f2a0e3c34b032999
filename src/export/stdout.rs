//! Prints what would be exported.

use opentelemetry_sdk::logs::LogExporter;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::SpanExporter;

use super::error::Error;
use super::pipeline::Sink;

/// The SDK's own printers.
pub(super) struct Stdout;

impl Sink for Stdout {
    fn spans(&self) -> Result<impl SpanExporter + 'static, Error> {
        Ok(opentelemetry_stdout::SpanExporter::default())
    }

    fn metrics(&self) -> Result<impl PushMetricExporter, Error> {
        Ok(opentelemetry_stdout::MetricExporter::default())
    }

    fn logs(&self) -> Result<impl LogExporter + 'static, Error> {
        Ok(opentelemetry_stdout::LogExporter::default())
    }
}
