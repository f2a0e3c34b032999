//! The guard: holds the providers, flushes them, shuts them down in bounded time.

use std::fmt;
#[cfg(feature = "prometheus")]
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Identity;
use tracing_subscriber::registry::LookupSpan;

use super::bounded::{self, Job};
use super::builder::Export;
#[cfg(feature = "_driver")]
use super::driver::Driver;
use super::error::Error;
use super::filter::Filter;
use super::install::Slot;
use super::ledger::Ledger;
use super::pipeline::Providers;
use super::watched::Gate;

/// The most that a guard which is dropped without [`Telemetry::shutdown`] takes to flush.
const DROP_LIMIT: Duration = Duration::from_secs(1);
/// For the SDK's own limits: ours is the only one, and it is kept by not waiting.
const NO_LIMIT: Duration = Duration::MAX;
const DRAIN_STEP: Duration = Duration::from_millis(5);

/// Telemetry that is set up; keep it until the process ends, then call [`shutdown`](Self::shutdown).
#[must_use = "dropping the guard shuts telemetry down at once; keep it until the process ends"]
pub struct Telemetry {
    tracers: Option<SdkTracerProvider>,
    meters: Option<SdkMeterProvider>,
    loggers: Option<SdkLoggerProvider>,
    ledger: Arc<Ledger>,
    gate: Gate,
    filter: Filter,
    limit: Duration,
    live_calls: fn() -> usize,
    closed: bool,
    #[cfg(feature = "prometheus")]
    metrics_address: Option<SocketAddr>,
    #[cfg(feature = "_driver")]
    driver: Option<Driver>,
    slot: Option<Slot>,
}

impl Telemetry {
    pub(super) fn new(providers: Providers, meters: Option<SdkMeterProvider>, export: &Export) -> Self {
        Self {
            tracers: providers.tracers,
            meters,
            loggers: providers.loggers,
            ledger: providers.ledger,
            gate: providers.gate,
            filter: providers.settings.filter,
            limit: export.shutdown_limit,
            live_calls: export.live_calls,
            closed: false,
            #[cfg(feature = "prometheus")]
            metrics_address: None,
            #[cfg(feature = "_driver")]
            driver: None,
            slot: None,
        }
    }

    #[cfg(feature = "_driver")]
    pub(super) fn driven_by(mut self, driver: Driver) -> Self {
        self.driver = Some(driver);
        self
    }

    #[cfg(feature = "prometheus")]
    pub(super) fn scraped_at(mut self, address: Option<SocketAddr>) -> Self {
        self.metrics_address = address;
        self
    }

    pub(super) fn holding(mut self, slot: Slot) -> Self {
        self.slot = Some(slot);
        self
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The layer that exports `tracing` spans, and events as logs if they are on, for a subscriber of the
    /// application's own.
    ///
    /// Its spans and ours nest in each other: one provider is behind both, and an entered `tracing` span is the
    /// current OTel context. Add it directly, not inside `tracing_subscriber::reload`, which hides it from ours.
    ///
    /// ```no_run
    /// # #[cfg(feature = "stdout")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use tracing_subscriber::prelude::*;
    ///
    /// let telemetry = llmperf::export::stdout().without_subscriber().install()?;
    /// tracing_subscriber::registry().with(telemetry.layer()).with(tracing_subscriber::fmt::layer()).init();
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "stdout"))]
    /// # fn main() {}
    /// ```
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + 'static + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        // Not `Option`s stacked on each other: an absent layer would hide that the present one has a filter of its own.
        let mut layers: Vec<Box<dyn Layer<S> + Send + Sync>> = Vec::new();
        if let Some(provider) = &self.tracers {
            let spans =
                tracing_opentelemetry::layer().with_tracer(provider.tracer("tracing")).with_context_activation(true);
            layers.push(spans.with_filter(self.filter.exported.clone()).boxed());
        }
        if let Some(provider) = &self.loggers {
            let logs = OpenTelemetryTracingBridge::new(provider);
            layers.push(logs.with_filter(self.filter.exported.clone()).boxed());
        }
        if layers.is_empty() {
            // An empty list would switch off the layers around it.
            layers.push(Identity::new().boxed());
        }
        layers
    }

    /// The provider of spans; none if traces are off.
    #[must_use]
    pub fn tracer_provider(&self) -> Option<&SdkTracerProvider> {
        self.tracers.as_ref()
    }

    /// The provider of metrics; none if they are neither pushed nor served.
    #[must_use]
    pub fn meter_provider(&self) -> Option<&SdkMeterProvider> {
        self.meters.as_ref()
    }

    /// Where `/metrics` is served: the address asked for, with the port that was free if it was 0.
    #[cfg(feature = "prometheus")]
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// How many spans the receiver took so far.
    #[must_use]
    pub fn exported_spans(&self) -> u64 {
        self.ledger.exported()
    }

    /// How many spans ended and will never arrive: the queue was full, or their export failed.
    #[must_use]
    pub fn dropped_spans(&self) -> u64 {
        self.ledger.dropped()
    }

    /// Waits until no call of the global instrumentation is live, but no longer than `limit`; returns how many still
    /// are.
    ///
    /// It blocks the thread: on a current-thread runtime the calls cannot get on meanwhile, so let them end first.
    pub fn drain(&self, limit: Duration) -> usize {
        let start = Instant::now();
        loop {
            let live = (self.live_calls)();
            let left = limit.saturating_sub(start.elapsed());
            if live == 0 || left.is_zero() {
                return live;
            }
            thread::sleep(left.min(DRAIN_STEP));
        }
    }

    /// Sends what is waiting, now.
    ///
    /// # Errors
    ///
    /// If the receiver did not take it all within the shutdown limit.
    pub fn force_flush(&self) -> Result<(), Error> {
        let tracers = self.tracers.clone().map(|provider| job("spans", move || provider.force_flush()));
        let loggers = self.loggers.clone().map(|provider| job("logs", move || provider.force_flush()));
        let meters = self.meters.clone().map(|provider| job("metrics", move || provider.force_flush()));
        bounded::run_all(tracers.into_iter().chain(loggers).chain(meters).collect(), self.limit)
    }

    /// Sends what is waiting and ends the export; returns within the shutdown limit, whatever the receiver does, from
    /// any thread and inside any runtime.
    ///
    /// # Errors
    ///
    /// If the receiver did not take everything that was still waiting, or not within the limit.
    pub fn shutdown(mut self) -> Result<(), Error> {
        self.close(self.limit)
    }

    fn close(&mut self, limit: Duration) -> Result<(), Error> {
        self.closed = true;
        let dropped_before = self.ledger.dropped();
        let tracers =
            self.tracers.take().map(|provider| job("spans", move || provider.shutdown_with_timeout(NO_LIMIT)));
        let loggers = self.loggers.take().map(|provider| job("logs", move || provider.shutdown_with_timeout(NO_LIMIT)));
        let meters =
            self.meters.take().map(|provider| job("metrics", move || provider.shutdown_with_timeout(NO_LIMIT)));
        let outcome = bounded::run_all(tracers.into_iter().chain(loggers).chain(meters).collect(), limit);

        self.gate.close();
        #[cfg(feature = "_driver")]
        drop(self.driver.take());
        drop(self.slot.take());

        let dropped = self.ledger.unexported();
        if dropped > 0 {
            let exported = self.ledger.exported();
            tracing::warn!(target: "llmperf", dropped_spans = dropped, exported_spans = exported, "spans were not exported");
        }
        // The SDK's span processor shuts down content even if its last export failed.
        let spans = dropped.saturating_sub(dropped_before);
        match outcome {
            Ok(()) if spans == 0 => Ok(()),
            Err(error) if error.is_lost() => Err(bounded::lost(error.lost_signal(), self.reason(spans))),
            Err(error) => Err(error),
            Ok(()) => Err(bounded::lost("spans", self.reason(spans))),
        }
    }

    /// Why something was lost, and how many spans of it.
    fn reason(&self, spans: u64) -> String {
        let why = self.gate.failure().unwrap_or_else(|| "the receiver did not take it".into());
        if spans == 0 { why } else { format!("{why}; {spans} spans are lost") }
    }
}

fn job(signal: &'static str, run: impl FnOnce() -> OTelSdkResult + Send + 'static) -> Job {
    Job { signal, run: Box::new(run) }
}

/// Flushes for a second at most, if nobody called [`Telemetry::shutdown`].
impl Drop for Telemetry {
    fn drop(&mut self) {
        if !self.closed {
            // What is lost was said by `close`; there is nobody to return it to.
            let _lost = self.close(self.limit.min(DROP_LIMIT));
        }
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry")
            .field("traces", &self.tracers.is_some())
            .field("metrics", &self.meters.is_some())
            .field("logs", &self.loggers.is_some())
            .field("installed", &self.slot.is_some())
            .field("ledger", &self.ledger)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
