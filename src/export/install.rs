//! Makes a set-up the process's own.

use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry::global;
use opentelemetry::propagation::TextMapCompositePropagator;
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt};

use super::error::{Error, Kind};
use super::telemetry::Telemetry;

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// The right to be the installed set-up; given back when dropped.
#[derive(Debug)]
pub(super) struct Slot(());

impl Slot {
    pub(super) fn claim() -> Result<Self, Error> {
        if INSTALLED.swap(true, Ordering::AcqRel) {
            return Err(Kind::Installed.into());
        }
        Ok(Self(()))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        INSTALLED.store(false, Ordering::Release);
    }
}

pub(super) fn install(telemetry: Telemetry, slot: Slot, subscriber: bool, console: bool) -> Telemetry {
    if let Some(tracers) = telemetry.tracer_provider() {
        global::set_tracer_provider(tracers.clone());
    }
    if let Some(meters) = telemetry.meter_provider() {
        global::set_meter_provider(meters.clone());
    }
    global::set_text_map_propagator(TextMapCompositePropagator::new(vec![
        Box::new(TraceContextPropagator::new()),
        Box::new(BaggagePropagator::new()),
    ]));
    if subscriber {
        set_subscriber(&telemetry, console);
    }
    telemetry.holding(slot)
}

/// A subscriber that is already set stays, and hears how to get its spans exported.
fn set_subscriber(telemetry: &Telemetry, console: bool) {
    let printed = telemetry.filter().printed.clone();
    let console = console.then(|| fmt::layer().with_writer(std::io::stderr).with_filter(printed));
    let subscriber = Registry::default().with(telemetry.layer()).with(console);
    if tracing::subscriber::set_global_default(subscriber).is_err() {
        tracing::info!(
            target: "llmperf",
            "a tracing subscriber was set before the export set-up: its spans are exported only if it has `Telemetry::layer`"
        );
    }
}
