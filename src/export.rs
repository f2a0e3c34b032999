//! Export set-up: one call that sends traces, metrics and logs where they are wanted, and a guard that ends it well.
//!
//! This is for applications. A library measures with the parts and sets nothing up; an application that has OpenTelemetry
//! providers of its own uses none of this, and everything else works on those.
//!
//! ```no_run
//! # #[cfg(all(feature = "otlp-grpc", feature = "prometheus"))]
//! # fn main() -> Result<(), llmperf::export::Error> {
//! let telemetry = llmperf::export::otlp_grpc()
//!     .service("travel-desk")
//!     .service_version("1.2.0")
//!     .prometheus(([127, 0, 0, 1], 9464))
//!     .install()?;
//!
//! // … the application …
//!
//! telemetry.drain(std::time::Duration::from_secs(2)); // lets live calls end
//! telemetry.shutdown()?; // the last batch leaves here
//! # Ok(())
//! # }
//! # #[cfg(not(all(feature = "otlp-grpc", feature = "prometheus")))]
//! # fn main() {}
//! ```
//!
//! # What decides
//!
//! Code beats the environment, the environment beats the default. A variable that is read and cannot be understood is an
//! error, not a silent default.
//!
//! | variable | builder | default |
//! |---|---|---|
//! | `OTEL_SDK_DISABLED` (`true`: nothing is exported or served) | | `false` |
//! | `OTEL_SERVICE_NAME` | `service` | `unknown_service:` and the program's name |
//! | `OTEL_RESOURCE_ATTRIBUTES` | `resource`, `service_version` | `telemetry.sdk.*`, a random `service.instance.id` |
//! | `OTEL_EXPORTER_OTLP_PROTOCOL` (`grpc`, `http/protobuf`) | `otlp_grpc()`, `otlp_http()`; only `otlp()` reads it | gRPC if compiled in, else HTTP |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | `endpoint` | `http://localhost:4317` for gRPC, `http://localhost:4318` for HTTP |
//! | `OTEL_EXPORTER_OTLP_INSECURE` (gRPC endpoint without a scheme) | | `false` |
//! | `OTEL_EXPORTER_OTLP_HEADERS` | `header` | none |
//! | `OTEL_EXPORTER_OTLP_TIMEOUT` (ms, one request with its retries) | `timeout` | 10,000 |
//! | `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE` | | `cumulative` |
//! | `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER` (`none`: off) | `traces`, `metrics` | on |
//! | `OTEL_LOGS_EXPORTER` (anything but `none`: on) | `logs` | off |
//! | `OTEL_TRACES_SAMPLER`, `OTEL_TRACES_SAMPLER_ARG` | `ratio` | `parentbased_always_on` |
//! | `OTEL_METRIC_EXPORT_INTERVAL` (ms) | `metric_interval` | 60,000 |
//! | `OTEL_BSP_MAX_QUEUE_SIZE` | | 2,048 spans, at most 1,000,000 |
//! | `OTEL_BSP_SCHEDULE_DELAY`, `OTEL_BSP_MAX_EXPORT_BATCH_SIZE`, `OTEL_BLRP_*`, `OTEL_SPAN_*_COUNT_LIMIT` | | as in the SDK, which reads them |
//! | `RUST_LOG` | `filter` | exported: `info,llmperf=debug`; printed: `info` |
//!
//! Each `OTEL_EXPORTER_OTLP_*` variable also has the forms `OTEL_EXPORTER_OTLP_TRACES_*`, `_METRICS_*` and `_LOGS_*`,
//! which beat the general one for their signal. Over HTTP, `/v1/traces`, `/v1/metrics` and `/v1/logs` are added to a
//! general endpoint, by code or variable; a signal's own endpoint is taken as it is. Nothing is
//! compressed, and variables for compression, certificates and proxies are not supported.
//!
//! # When the receiver is away
//!
//! At most [2,048 spans](self#what-decides) wait, the rest is dropped, so memory stays bounded; [`Telemetry::dropped_spans`]
//! counts them. A WARN event says once that exports fail, an INFO event that they work again, and shutdown says what was
//! lost in all. Cumulative metrics lose nothing but resolution; log records that find no room are not counted.
//!
//! # What `/metrics` is called
//!
//! Names follow the OTel specification for Prometheus: `llmperf.client.time_to_first_token` in seconds is
//! `llmperf_client_time_to_first_token_seconds`, counters end in `_total`. Prometheus gives the same names to what it
//! receives over OTLP.
//!
//! # With your own subscriber
//!
//! If no `tracing` subscriber is set, [`Export::install`] sets one that exports spans, and with [`Export::logs`] events. To
//! keep your own, install first with [`Export::without_subscriber`] and add [`Telemetry::layer`] to it.

#![cfg_attr(
    not(all(feature = "_otlp", feature = "prometheus")),
    allow(dead_code, reason = "not every way out is compiled in; with all of them everything is used")
)]

mod bounded;
mod builder;
#[cfg(feature = "_driver")]
mod driver;
mod env;
mod error;
mod filter;
mod install;
mod ledger;
#[cfg(feature = "_otlp")]
mod otlp;
mod pipeline;
#[cfg(feature = "prometheus")]
mod scrape;
mod settings;
#[cfg(feature = "stdout")]
mod stdout;
mod telemetry;
mod watched;

use builder::Destination;

pub use builder::Export;
pub use error::Error;
pub use telemetry::Telemetry;

/// Exports over OTLP, by the protocol that `OTEL_EXPORTER_OTLP_PROTOCOL` names; gRPC, if compiled in, where it names
/// none.
#[cfg(feature = "_otlp")]
pub fn otlp() -> Export {
    Export::to(Destination::Otlp(otlp::Options::default()))
}

/// Exports over OTLP/gRPC.
#[cfg(feature = "otlp-grpc")]
pub fn otlp_grpc() -> Export {
    Export::to(Destination::Otlp(otlp::Options::by(otlp::Protocol::Grpc)))
}

/// Exports over OTLP/HTTP, as protobuf.
#[cfg(feature = "otlp-http")]
pub fn otlp_http() -> Export {
    Export::to(Destination::Otlp(otlp::Options::by(otlp::Protocol::Http)))
}

/// Serves metrics at `address` for Prometheus to scrape, and exports nothing else.
///
/// ```
/// let telemetry = llmperf::export::prometheus(([127, 0, 0, 1], 0)).build()?;
/// let port = telemetry.metrics_address().map(|address| address.port());
/// assert!(port.is_some_and(|port| port != 0), "a free one was taken");
/// telemetry.shutdown()?;
/// # Ok::<(), llmperf::export::Error>(())
/// ```
#[cfg(feature = "prometheus")]
pub fn prometheus(address: impl Into<std::net::SocketAddr>) -> Export {
    Export::to(Destination::Scraped).prometheus(address)
}

/// Prints spans, metrics and logs to standard output, for a first look.
#[cfg(feature = "stdout")]
pub fn stdout() -> Export {
    Export::to(Destination::Stdout)
}
