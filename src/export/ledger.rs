//! Counts the spans that ended and were never exported: the SDK's batch processor drops them without a word.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor};

/// Every sampled span that ends is pending, then exported or dropped.
#[derive(Debug)]
pub(super) struct Ledger {
    limit: usize,
    ended: AtomicU64,
    pending: AtomicUsize,
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl Ledger {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            ended: AtomicU64::new(0),
            pending: AtomicUsize::new(0),
            exported: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        })
    }

    /// Spans that waited in vain: the queue was full, or the export failed.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Spans that the receiver took.
    pub(super) fn exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Spans that ended and were not exported: dropped, or still waiting. After shutdown that is what was lost.
    pub(super) fn unexported(&self) -> u64 {
        let exported = self.exported();
        self.ended.load(Ordering::Relaxed).saturating_sub(exported)
    }

    /// Says whether there is room for one more; the queue behind it holds as many, so it never overflows.
    fn admit(&self) -> bool {
        self.ended.fetch_add(1, Ordering::Relaxed);
        let admitted = self.pending.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |pending| {
            (pending < self.limit).then_some(pending + 1)
        });
        if admitted.is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        admitted.is_ok()
    }

    fn settle(&self, spans: usize, exported: bool) {
        let outcome = if exported { &self.exported } else { &self.dropped };
        outcome.fetch_add(spans as u64, Ordering::Relaxed);
        self.pending.fetch_sub(spans, Ordering::Relaxed);
    }
}

/// The SDK's batch processor behind the ledger's door.
#[derive(Debug)]
pub(super) struct Counted {
    ledger: Arc<Ledger>,
    batches: BatchSpanProcessor,
}

impl Counted {
    pub(super) fn new<E: SpanExporter + 'static>(ledger: &Arc<Ledger>, exporter: E) -> Self {
        let settled = Settled { ledger: Arc::clone(ledger), exporter };
        let config = BatchConfigBuilder::default().with_max_queue_size(ledger.limit).build();
        Self { ledger: Arc::clone(ledger), batches: BatchSpanProcessor::new(settled, config) }
    }
}

impl SpanProcessor for Counted {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    /// A span that records but is not sampled is for processors in this process, not for export.
    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.ledger.admit() {
            self.batches.on_end(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Writes down how each batch went.
#[derive(Debug)]
struct Settled<E> {
    ledger: Arc<Ledger>,
    exporter: E,
}

impl<E: SpanExporter> SpanExporter for Settled<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let result = self.exporter.export(batch).await;
        self.ledger.settle(spans, result.is_ok());
        result
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
