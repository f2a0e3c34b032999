//! Where what is recorded once goes: energies of calls to metrics, statistics and one event; durations of ticks.

use std::time::Duration;

use llmperf_core::{
    Instrumentation, Meters, Side,
    opentelemetry::KeyValue,
    stats::{Figure, SeriesKind},
};

use crate::{
    GpuWindow, LocalModel,
    ledger::Settled,
    metrics::{Metric, name},
};

/// Records to an instrumentation, the global one unless another was given.
#[derive(Debug)]
pub(crate) struct Outlet {
    instrumentation: Option<Instrumentation>,
    meters: Meters,
}

impl Outlet {
    pub(crate) fn new(instrumentation: Option<Instrumentation>, meters: Meters) -> Self {
        Self { instrumentation, meters }
    }

    /// The instruments in force now are asked for, so that a set-up that came late is found.
    pub(crate) fn meters(&self) -> &Meters {
        &self.meters
    }

    pub(crate) fn tick(&self, took: Duration) {
        self.meters.current().0.record(Metric::TickDuration as usize, took.as_secs_f64(), &[]);
    }

    /// Tells the energy of a call: to the metrics whatever its quality, which they carry; to the statistics only if all
    /// of its energy is in it; as an event in any case.
    pub(crate) fn tell(&self, model: &LocalModel, call: &Settled, window: &GpuWindow) {
        if let Some(joules) = call.joules {
            let attributes = [
                KeyValue::new(name::MODEL, model.model.clone()),
                KeyValue::new(name::METHOD, model.method.as_str()),
                KeyValue::new(name::QUALITY, call.quality.as_str()),
            ];
            let instruments = self.meters.current().0;
            instruments.record(Metric::CallEnergy as usize, joules, &attributes);
            if let Some(per_token) = call.joules_per_token() {
                instruments.record(Metric::TokenEnergy as usize, per_token, &attributes);
            }
            if call.quality.is_whole() {
                self.note(model, call, joules);
            }
        }
        event(model, call, window);
    }

    fn note(&self, model: &LocalModel, call: &Settled, joules: f64) {
        let instrumentation = self.instrumentation.clone().unwrap_or_else(Instrumentation::global);
        let kind = if call.ended.side == Side::Server { SeriesKind::ServerCall } else { SeriesKind::Call };
        let mut figures = vec![(Figure::Energy, joules)];
        figures.extend(call.joules_per_token().map(|per_token| (Figure::TokenEnergy, per_token)));
        instrumentation.record_figures(kind, &call.ended.provider, &model.model, &figures);
    }
}

/// One event per call, with the ids of its span: the span itself has ended long since.
fn event(model: &LocalModel, call: &Settled, window: &GpuWindow) {
    tracing::event!(
        target: "llmperf",
        tracing::Level::DEBUG,
        trace_id = call.ended.trace.map(|(trace, _)| tracing::field::display(trace)),
        span_id = call.ended.trace.map(|(_, span)| tracing::field::display(span)),
        provider = &*call.ended.provider,
        model = &*model.model,
        energy_j = call.joules,
        idle_energy_j = call.idle_joules,
        energy_per_token_j = call.joules_per_token(),
        method = model.method.as_str(),
        quality = call.quality.as_str(),
        gpu_count = call.devices,
        samples = call.samples,
        overlap = call.overlap,
        gpu_utilization = window.utilization,
        gpu_memory_bytes = window.memory,
        "call energy"
    );
}
