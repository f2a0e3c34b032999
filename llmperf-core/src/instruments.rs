//! Instruments of a table of metrics: made on first use, found late, rebuilt when the provider changes.
//!
//! OpenTelemetry's global meter provider is a snapshot: an instrument made before the application sets it never
//! records. So a handle keeps no instrument of its own; each call asks [`Meters::current`], which compares the global
//! provider by pointer with the one its instruments came from. A live call keeps the instruments it started with.

use std::{
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use arc_swap::ArcSwapOption;
use opentelemetry::{
    InstrumentationScope, KeyValue, global,
    metrics::{Counter, Gauge, Histogram, Meter, MeterProvider, ObservableGauge, UpDownCounter},
};

use crate::{
    metrics::{Definition, Kind},
    semconv::{self, GenAiNames},
};

type Provider = Arc<dyn MeterProvider + Send + Sync>;

/// Where the metrics of a table go: the global meter provider, whichever it is by then, or one that was given.
///
/// A part of llmperf has one of its own table and scope: [`Instrumentation::meters`](crate::Instrumentation::meters).
pub struct Meters {
    given: Option<Provider>,
    scope: InstrumentationScope,
    table: &'static [Definition],
    shape: Shape,
    current: ArcSwapOption<Bound>,
}

/// How instruments of a table are made: their names and what boundaries are put in the place of the table's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) names: GenAiNames,
    /// Boundaries by metric name.
    pub(crate) boundaries: Vec<(&'static str, Vec<f64>)>,
    /// Limits of declared SLOs by metric name: they become bounds.
    pub(crate) limits: Vec<(&'static str, f64)>,
}

impl Shape {
    fn boundaries(&self, definition: &Definition, of_table: &[f64]) -> Vec<f64> {
        let overridden = self.boundaries.iter().rev().find(|(name, _)| *name == definition.name);
        let mut bounds = overridden.map_or_else(|| of_table.to_vec(), |(_, bounds)| bounds.clone());
        bounds.extend(self.limits.iter().filter(|(name, _)| *name == definition.name).map(|(_, limit)| limit));
        bounds.retain(|bound| bound.is_finite());
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        bounds
    }
}

struct Bound {
    provider: Weak<dyn MeterProvider + Send + Sync>,
    instruments: Arc<Instruments>,
}

impl Meters {
    pub(crate) fn new(given: Option<Provider>, table: &'static [Definition], shape: Shape) -> Self {
        Self { given, scope: semconv::scope(), table, shape, current: ArcSwapOption::empty() }
    }

    /// The same destination and settings for the table of a part.
    pub(crate) fn of_part(&self, scope: InstrumentationScope, table: &'static [Definition]) -> Self {
        let (given, shape) = (self.given.clone(), self.shape.clone());
        Self { given, scope, table, shape, current: ArcSwapOption::empty() }
    }

    /// The instruments of the provider that is in force now, and whether they were made for it just now: then what is
    /// observed, not recorded, has to be made anew from [`Instruments::meter`].
    pub fn current(&self) -> (Arc<Instruments>, bool) {
        let current = self.current.load();
        if let Some(bound) = current.as_ref()
            && (self.given.is_some()
                || std::ptr::addr_eq(bound.provider.as_ptr(), Arc::as_ptr(&global::meter_provider())))
        {
            return (Arc::clone(&bound.instruments), false);
        }
        drop(current);
        let provider = self.given.clone().unwrap_or_else(global::meter_provider);
        let instruments = Arc::new(Instruments::new(&provider, self.scope.clone(), self.table, self.shape.clone()));
        let bound = Bound { provider: Arc::downgrade(&provider), instruments: Arc::clone(&instruments) };
        self.current.store(Some(Arc::new(bound)));
        (instruments, true)
    }
}

impl fmt::Debug for Meters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meters").field("given", &self.given.is_some()).finish_non_exhaustive()
    }
}

/// The instruments of one table and one provider. Each is made when it is first recorded to: one that a process never
/// uses costs nothing (the SDK sets aside some 137 kB for each histogram). Metrics go by their place in the table.
pub struct Instruments {
    meter: Meter,
    table: &'static [Definition],
    shape: Shape,
    made: Box<[OnceLock<Instrument>]>,
    /// The attributes of the info metric.
    shown: OnceLock<Arc<[KeyValue]>>,
}

enum Instrument {
    Histogram(Histogram<f64>),
    CountHistogram(Histogram<u64>),
    Counter(Counter<u64>),
    Sum(Counter<f64>),
    Gauge(Gauge<f64>),
    UpDown(UpDownCounter<i64>),
    /// Observed whenever metrics are collected; held here, recorded to by nobody.
    Info {
        _gauge: ObservableGauge<u64>,
    },
}

impl Instruments {
    fn new(provider: &Provider, scope: InstrumentationScope, table: &'static [Definition], shape: Shape) -> Self {
        let meter = provider.meter_with_scope(scope);
        Self { meter, table, shape, made: table.iter().map(|_| OnceLock::new()).collect(), shown: OnceLock::new() }
    }

    /// The meter that they are made from, for instruments that are observed instead of recorded to.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Records seconds, a rate or an amount of money.
    pub fn record(&self, metric: usize, value: f64, attributes: &[KeyValue]) {
        match self.get(metric) {
            Some(Instrument::Histogram(histogram)) => histogram.record(value, attributes),
            Some(Instrument::Gauge(gauge)) => gauge.record(value, attributes),
            Some(Instrument::Sum(sum)) => sum.add(value, attributes),
            _ => debug_assert!(false, "metric {metric} takes no f64"),
        }
    }

    /// Records or adds a count.
    pub fn count(&self, metric: usize, value: u64, attributes: &[KeyValue]) {
        match self.get(metric) {
            Some(Instrument::Counter(counter)) => counter.add(value, attributes),
            Some(Instrument::CountHistogram(histogram)) => histogram.record(value, attributes),
            _ => debug_assert!(false, "metric {metric} takes no u64"),
        }
    }

    /// Shows an info metric with these attributes from now on.
    pub(crate) fn show(&self, metric: usize, attributes: &[KeyValue]) {
        if self.shown.set(attributes.into()).is_ok() {
            self.get(metric);
        }
    }

    /// Moves an up-down counter.
    pub fn shift(&self, metric: usize, by: i64, attributes: &[KeyValue]) {
        match self.get(metric) {
            Some(Instrument::UpDown(counter)) => counter.add(by, attributes),
            _ => debug_assert!(false, "metric {metric} does not go up and down"),
        }
    }

    #[inline]
    fn get(&self, metric: usize) -> Option<&Instrument> {
        let definition = self.table.get(metric)?;
        Some(self.made.get(metric)?.get_or_init(|| self.make(definition)))
    }

    /// The SDK asks it at each collection: a gauge that was recorded once would be gone with delta temporality.
    fn info(&self, definition: &Definition, name: &'static str) -> Instrument {
        let attributes: Arc<[KeyValue]> = self.shown.get().map_or_else(|| Arc::from([]), Arc::clone);
        let builder = self.meter.u64_observable_gauge(name).with_unit(definition.unit);
        let builder = builder.with_description(definition.description);
        Instrument::Info { _gauge: builder.with_callback(move |info| info.observe(1, &attributes)).build() }
    }

    fn make(&self, definition: &Definition) -> Instrument {
        let name = definition.name_in(self.shape.names);
        // Rows that share a name in a set of names are one instrument only if they share its description too.
        let namesake = self.table.iter().find(|other| other.name_in(self.shape.names) == name);
        let description = namesake.unwrap_or(definition).description;
        macro_rules! build {
            ($builder:ident) => {
                self.meter.$builder(name).with_unit(definition.unit).with_description(description).build()
            };
            ($builder:ident, $bounds:expr) => {
                self.meter
                    .$builder(name)
                    .with_unit(definition.unit)
                    .with_description(description)
                    .with_boundaries(self.shape.boundaries(definition, $bounds))
                    .build()
            };
        }
        match definition.kind {
            Kind::Histogram(bounds) => Instrument::Histogram(build!(f64_histogram, bounds)),
            Kind::CountHistogram(bounds) => Instrument::CountHistogram(build!(u64_histogram, bounds)),
            Kind::Counter => Instrument::Counter(build!(u64_counter)),
            Kind::Sum => Instrument::Sum(build!(f64_counter)),
            Kind::Gauge => Instrument::Gauge(build!(f64_gauge)),
            Kind::UpDown => Instrument::UpDown(build!(i64_up_down_counter)),
            Kind::Info => self.info(definition, name),
        }
    }
}

impl fmt::Debug for Instruments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = self.made.iter().filter(|made| made.get().is_some()).count();
        f.debug_struct("Instruments").field("made", &made).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Definition = Definition::new("llmperf.test", Kind::Histogram(&[1.0, 2.0]), "s", "");

    #[test]
    fn a_declared_limit_becomes_a_bound() {
        let shape = Shape { limits: vec![("llmperf.test", 1.5), ("llmperf.other", 7.0)], ..Shape::default() };
        assert_eq!(shape.boundaries(&ROW, &[1.0, 2.0]), [1.0, 1.5, 2.0]);
    }

    #[test]
    fn boundaries_of_the_set_up_win_and_stay_usable() {
        let bounds = vec![3.0, 1.0, f64::NAN, 3.0];
        let shape = Shape { boundaries: vec![("llmperf.test", bounds)], ..Shape::default() };
        assert_eq!(shape.boundaries(&ROW, &[9.0]), [1.0, 3.0]);
    }
}
