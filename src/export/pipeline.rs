//! Builds the three providers: settings in, a guard out.

use std::sync::Arc;

use opentelemetry_sdk::logs::{BatchLogProcessor, LogExporter, SdkLoggerProvider};
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{
    Aggregation, Instrument, InstrumentKind, MeterProviderBuilder, PeriodicReader, SdkMeterProvider, Stream,
};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanExporter};

use super::builder::{Destination, Export};
#[cfg(feature = "_driver")]
use super::driver::Driver;
use super::env::Env;
use super::error::Error;
use super::ledger::{Counted, Ledger};
use super::settings::Settings;
use super::telemetry::Telemetry;
use super::watched::{Gate, Watched};

/// Makes the exporters of one destination.
pub(super) trait Sink {
    fn spans(&self) -> Result<impl SpanExporter + 'static, Error>;
    fn metrics(&self) -> Result<impl PushMetricExporter, Error>;
    fn logs(&self) -> Result<impl LogExporter + 'static, Error>;
}

/// The providers as they come into being.
pub(super) struct Providers {
    pub(super) settings: Settings,
    pub(super) ledger: Arc<Ledger>,
    pub(super) gate: Gate,
    pub(super) tracers: Option<SdkTracerProvider>,
    pub(super) loggers: Option<SdkLoggerProvider>,
    meters: Option<MeterProviderBuilder>,
}

pub(super) fn build(export: &Export, env: &Env<'_>) -> Result<Telemetry, Error> {
    export.check()?;
    let settings = Settings::resolve(export, env)?;
    let mut providers = Providers::new(settings);
    if !providers.settings.enabled {
        return Ok(Telemetry::new(providers, None, export));
    }
    #[cfg(feature = "_driver")]
    let driver = Driver::start()?;
    match &export.destination {
        #[cfg(feature = "_otlp")]
        Destination::Otlp(options) => providers.push_to(&super::otlp::Sink::new(options, env, &driver), export)?,
        #[cfg(feature = "stdout")]
        Destination::Stdout => providers.push_to(&super::stdout::Stdout, export)?,
        #[cfg(feature = "prometheus")]
        Destination::Scraped => {}
    }
    #[cfg(feature = "prometheus")]
    let address = providers.scraped_at(export, &driver)?;

    let meters = providers.meters.take().map(MeterProviderBuilder::build);
    let telemetry = Telemetry::new(providers, meters, export);
    #[cfg(feature = "_driver")]
    let telemetry = telemetry.driven_by(driver);
    #[cfg(feature = "prometheus")]
    let telemetry = telemetry.scraped_at(address);
    Ok(telemetry)
}

impl Providers {
    fn new(settings: Settings) -> Self {
        Self {
            ledger: Ledger::new(settings.span_queue),
            gate: Gate::default(),
            tracers: None,
            loggers: None,
            meters: None,
            settings,
        }
    }

    fn push_to(&mut self, sink: &impl Sink, export: &Export) -> Result<(), Error> {
        if self.settings.traces {
            let exporter = Watched::new(sink.spans()?, "spans", &self.gate);
            let provider = SdkTracerProvider::builder()
                .with_resource(self.settings.resource.clone())
                .with_sampler(self.settings.sampler.clone())
                .with_span_processor(Counted::new(&self.ledger, exporter));
            self.tracers = Some(provider.build());
        }
        if self.settings.logs {
            let exporter = Watched::new(sink.logs()?, "logs", &self.gate);
            let provider = SdkLoggerProvider::builder()
                .with_resource(self.settings.resource.clone())
                .with_log_processor(BatchLogProcessor::builder(exporter).build());
            self.loggers = Some(provider.build());
        }
        if self.settings.metrics {
            let exporter = Watched::new(sink.metrics()?, "metrics", &self.gate);
            let reader = PeriodicReader::builder(exporter).with_interval(self.settings.metric_interval).build();
            self.meters = Some(self.meters(export).with_reader(reader));
        }
        Ok(())
    }

    #[cfg(feature = "prometheus")]
    fn scraped_at(&mut self, export: &Export, driver: &Driver) -> Result<Option<std::net::SocketAddr>, Error> {
        let Some(address) = export.prometheus else {
            return Ok(None);
        };
        let (reader, registry) = super::scrape::reader()?;
        self.meters = Some(self.meters(export).with_reader(reader));
        super::scrape::serve(address, registry, driver).map(Some)
    }

    /// The meter provider so far, or a new one: there is at most one, with one reader for each way out.
    fn meters(&mut self, export: &Export) -> MeterProviderBuilder {
        self.meters.take().unwrap_or_else(|| {
            let meters = SdkMeterProvider::builder().with_resource(self.settings.resource.clone());
            if export.exponential { meters.with_view(exponential) } else { meters }
        })
    }
}

/// The view that the OTel specification suggests: 160 buckets, as fine as the values allow.
fn exponential(instrument: &Instrument) -> Option<Stream> {
    if instrument.kind() != InstrumentKind::Histogram {
        return None;
    }
    let aggregation = Aggregation::Base2ExponentialHistogram { max_size: 160, max_scale: 20, record_min_max: true };
    Stream::builder().with_aggregation(aggregation).build().ok()
}
