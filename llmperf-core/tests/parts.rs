//! What a part of llmperf uses of core: instruments of its own table, and a place in the local statistics.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use llmperf_core::{
    metrics::{Definition, Kind},
    opentelemetry::{InstrumentationScope, KeyValue},
    stats::{Figure, SeriesKind, Window},
    testing::Probe,
};

const HEIGHT: usize = 0;
const LEVEL: usize = 1;
const TABLE: &[Definition] = &[
    Definition::new("llmperf.test.height", Kind::Histogram(&[1.0, 2.0]), "m", "How high"),
    Definition::new("llmperf.test.level", Kind::Gauge, "m", "How high now"),
];

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("llmperf-test").build()
}

#[test]
fn a_part_records_to_the_provider_and_with_the_boundaries_of_the_instrumentation() {
    let probe = Probe::with(|builder| builder.boundaries("llmperf.test.height", [5.0]));
    let (instruments, new) = probe.instrumentation().meters(scope(), TABLE).current();
    assert!(new);
    instruments.record(HEIGHT, 1.5, &[KeyValue::new("where", "here")]);
    instruments.record(LEVEL, 3.0, &[]);
    instruments.record(LEVEL, 4.0, &[]);
    let heights = probe.points("llmperf.test.height");
    assert_eq!((heights[0].count, heights[0].bounds.as_slice()), (1, [5.0].as_slice()));
    assert_eq!(probe.points("llmperf.test.level")[0].sum, 4.0);
}

#[test]
fn a_part_is_told_once_per_provider_that_its_instruments_are_new() {
    let probe = Probe::new();
    let meters = probe.instrumentation().meters(scope(), TABLE);
    assert!(meters.current().1);
    assert!(!meters.current().1);
    let observed = meters.current().0;
    let _gauge =
        observed.meter().f64_observable_gauge("llmperf.test.seen").with_callback(|seen| seen.observe(1.0, &[])).build();
    assert_eq!(probe.count("llmperf.test.seen"), 1.0);
}

#[test]
fn figures_of_a_part_stand_beside_those_of_the_calls() {
    let probe = Probe::new();
    drop(probe.chat("local", "llama").start());
    let record = |energy| {
        let figures = [(Figure::Energy, energy), (Figure::TokenEnergy, energy / 1_000.0)];
        probe.instrumentation().record_figures(SeriesKind::Call, "local", "llama", &figures);
    };
    [70.0, 140.0, f64::NAN, -1.0].into_iter().for_each(record);
    probe.clock().advance(Duration::from_secs(1));
    let snapshot = probe.instrumentation().snapshot();
    let series = snapshot.call("local", "llama").unwrap();
    let energy = series.figure(Window::SinceStart, Figure::Energy).unwrap();
    assert_eq!((energy.count, energy.min, energy.max, energy.mean), (2, 70.0, 140.0, 105.0));
    assert_eq!(series.figure(Window::SinceStart, Figure::TokenEnergy).unwrap().max, 0.14);
    let table = snapshot.to_string();
    assert!(
        table.contains("energy                        2     105 J    70.1 J     140 J     140 J     140 J"),
        "{table}"
    );
    assert!(table.contains(" mJ"), "{table}");
}

#[test]
fn units_of_figures_are_those_of_their_values() {
    let units = [Figure::Duration, Figure::OutputTokenRate, Figure::Energy, Figure::TokenEnergy].map(Figure::unit);
    assert_eq!(units, ["s", "{token}/s", "J", "J/{token}"]);
}
