//! The builder: what is exported, where to, and how.

#[cfg(feature = "prometheus")]
use std::net::SocketAddr;
use std::time::Duration;

use opentelemetry::{Key, KeyValue, Value};

use super::env::{self, Env};
use super::error::{Error, Kind};
use super::install;
#[cfg(feature = "_otlp")]
use super::otlp;
use super::pipeline;
use super::telemetry::Telemetry;

const SHUTDOWN_LIMIT: Duration = Duration::from_secs(5);

/// An export set-up in the making; see the [module](super) for what is decided by code, environment and default.
#[must_use = "a set-up does nothing before `install` or `build`"]
#[derive(Debug, Clone)]
pub struct Export {
    pub(super) destination: Destination,
    /// OTLP was configured on a set-up that is not OTLP.
    pub(super) misplaced: bool,
    #[cfg(feature = "prometheus")]
    pub(super) prometheus: Option<SocketAddr>,
    pub(super) service: Option<String>,
    pub(super) attributes: Vec<KeyValue>,
    pub(super) traces: Option<bool>,
    pub(super) metrics: Option<bool>,
    pub(super) logs: Option<bool>,
    pub(super) ratio: Option<f64>,
    pub(super) metric_interval: Option<Duration>,
    pub(super) exponential: bool,
    pub(super) filter: Option<String>,
    pub(super) console: bool,
    pub(super) subscriber: bool,
    pub(super) shutdown_limit: Duration,
    /// Counts the calls that live in this process: those of the global instrumentation.
    pub(super) live_calls: fn() -> usize,
}

/// Where spans and logs go, and metrics that are pushed.
#[derive(Debug, Clone)]
pub(super) enum Destination {
    #[cfg(feature = "_otlp")]
    Otlp(otlp::Options),
    #[cfg(feature = "stdout")]
    Stdout,
    /// Nowhere: metrics wait to be scraped.
    #[cfg(feature = "prometheus")]
    Scraped,
}

impl Export {
    pub(super) fn to(destination: Destination) -> Self {
        Self {
            destination,
            misplaced: false,
            #[cfg(feature = "prometheus")]
            prometheus: None,
            service: None,
            attributes: Vec::new(),
            traces: None,
            metrics: None,
            logs: None,
            ratio: None,
            metric_interval: None,
            exponential: false,
            filter: None,
            console: false,
            subscriber: true,
            shutdown_limit: SHUTDOWN_LIMIT,
            live_calls: || llmperf_core::Instrumentation::global().live_calls(),
        }
    }

    /// Names the service (`service.name`).
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.service = Some(name.into());
        self
    }

    /// Says which release of the service this is (`service.version`).
    pub fn service_version(self, version: impl Into<String>) -> Self {
        self.resource("service.version", version.into())
    }

    /// Adds a resource attribute, which describes everything that this process sends.
    pub fn resource(mut self, key: impl Into<Key>, value: impl Into<Value>) -> Self {
        self.attributes.push(KeyValue::new(key, value));
        self
    }

    /// Exports spans or not; they are by default.
    pub fn traces(mut self, on: bool) -> Self {
        self.traces = Some(on);
        self
    }

    /// Pushes metrics or not; they are by default. `/metrics` is served either way.
    pub fn metrics(mut self, on: bool) -> Self {
        self.metrics = Some(on);
        self
    }

    /// Exports `tracing` events as log records, each with the trace and span it happened in; off by default.
    pub fn logs(mut self, on: bool) -> Self {
        self.logs = Some(on);
        self
    }

    /// Samples this share of the traces that begin here, 0 to 1; a trace that began elsewhere is sampled as its caller
    /// decided. Metrics do not depend on it.
    pub fn ratio(mut self, ratio: f64) -> Self {
        self.ratio = Some(ratio);
        self
    }

    /// Pushes metrics this often; every 60 seconds by default.
    pub fn metric_interval(mut self, interval: Duration) -> Self {
        self.metric_interval = Some(interval);
        self
    }

    /// Exports every histogram in base-2 exponential buckets, which fit any range within a few percent.
    ///
    /// It cannot be had together with `/metrics`: views hold for the whole provider, and the Prometheus exporter
    /// leaves exponential histograms out.
    pub fn exponential_histograms(mut self) -> Self {
        self.exponential = true;
        self
    }

    /// Chooses what of `tracing` is exported and printed, in the manner of `RUST_LOG`: `info,my_app=debug`.
    pub fn filter(mut self, directives: impl Into<String>) -> Self {
        self.filter = Some(directives.into());
        self
    }

    /// Prints `tracing` events to standard error too, if it is `install` that sets the subscriber; off by default.
    pub fn console(mut self, on: bool) -> Self {
        self.console = on;
        self
    }

    /// Leaves the `tracing` subscriber to the application, which adds [`Telemetry::layer`] to its own.
    pub fn without_subscriber(mut self) -> Self {
        self.subscriber = false;
        self
    }

    /// Gives [`Telemetry::shutdown`] and [`Telemetry::force_flush`] this long; 5 seconds by default.
    pub fn shutdown_limit(mut self, limit: Duration) -> Self {
        self.shutdown_limit = limit;
        self
    }

    /// Builds the providers and makes them the process's own: the OTel globals, the W3C propagators and, if none is
    /// set yet, a `tracing` subscriber.
    ///
    /// A subscriber that is already set stays; add [`Telemetry::layer`] to it by installing first.
    ///
    /// # Errors
    ///
    /// If an installed guard still lives, if a setting cannot be used, or if `/metrics` cannot be served.
    pub fn install(self) -> Result<Telemetry, Error> {
        let slot = install::Slot::claim()?;
        let (subscriber, console) = (self.subscriber, self.console);
        let telemetry = self.build()?;
        Ok(install::install(telemetry, slot, subscriber, console))
    }

    /// Builds the providers and sets nothing global: for tests, and for applications that hand providers around.
    ///
    /// What measures is then told of them, or it keeps to the global ones:
    ///
    /// ```
    /// # #[cfg(feature = "stdout")]
    /// # fn main() -> Result<(), llmperf::export::Error> {
    /// let telemetry = llmperf::export::stdout().build()?;
    /// let mut instrumentation = llmperf::Instrumentation::builder();
    /// if let Some(tracers) = telemetry.tracer_provider() {
    ///     instrumentation = instrumentation.tracer_provider(tracers);
    /// }
    /// if let Some(meters) = telemetry.meter_provider() {
    ///     instrumentation = instrumentation.meter_provider(meters.clone());
    /// }
    /// let call = instrumentation.build().chat("openai", "gpt-4o-mini");
    /// # drop(call);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "stdout"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    ///
    /// If a setting cannot be used, or if `/metrics` cannot be served.
    pub fn build(self) -> Result<Telemetry, Error> {
        pipeline::build(&self, &Env::new(&env::process))
    }

    /// Settings that exclude each other.
    pub(super) fn check(&self) -> Result<(), Error> {
        #[cfg(feature = "prometheus")]
        if self.exponential && self.prometheus.is_some() {
            return Err(Kind::Conflict(
                "exponential histograms and `/metrics` exclude each other: the Prometheus exporter would leave the histograms out",
            )
            .into());
        }
        if self.misplaced {
            return Err(Kind::Conflict(
                "`endpoint`, `header` and `timeout` are for OTLP, and this set-up exports elsewhere",
            )
            .into());
        }
        Ok(())
    }
}

#[cfg(feature = "prometheus")]
impl Export {
    /// Serves `/metrics` at `address` for Prometheus to scrape, beside what is pushed.
    ///
    /// Nothing protects it: bind a loopback or private address. Port 0 takes a free one,
    /// [`Telemetry::metrics_address`] tells which.
    pub fn prometheus(mut self, address: impl Into<SocketAddr>) -> Self {
        self.prometheus = Some(address.into());
        self
    }
}
