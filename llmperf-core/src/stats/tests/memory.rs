//! What the statistics cost in memory, counted at the allocator.

use allocation_counter::measure;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::{super::*, MILLISECOND, SECOND};
use crate::{
    Outcome,
    journal::{Entry, Notes},
};

const KIB: i64 = 1024;

/// Records `seconds` of a busy series, `per_slice` values of each figure every ten seconds.
fn busy(series: &Series, figures: &[Figure], seconds: u64, per_slice: usize, mut value: impl FnMut() -> u64) {
    for slice in 0..seconds / 10 {
        for _ in 0..per_slice {
            let values: Vec<(Figure, u64)> = figures.iter().map(|figure| (*figure, value())).collect();
            let slow = SlowCall::new(value(), None, [1; 16]);
            series.record(slice * 10 * SECOND, values, Outcome::Complete, true, Some(slow));
        }
    }
}

/// The figures that a call can have: those of pipelines and agents stand behind them.
fn figures_of_calls() -> &'static [Figure] {
    let of_runs = Figure::ALL.iter().position(|figure| *figure == Figure::TimeToFirstOutput).unwrap();
    const { &Figure::ALL }.split_at(of_runs).0
}

/// Log-normal: most within a decade, the tails over four.
fn spread(random: &mut StdRng, median: u64) -> u64 {
    let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
    (median as f64 * normal.exp()) as u64
}

#[test]
fn a_busy_series_keeps_within_its_bar() {
    let registry = Registry::new(0);
    let mut random = StdRng::seed_from_u64(1);
    let held = measure(|| {
        let series = registry.series(SeriesKind::Call, "openai", "gpt");
        busy(series, figures_of_calls(), 2 * 3_600, 100, || spread(&mut random, 800 * MILLISECOND));
    });
    let snapshot = registry.snapshot(7_195 * SECOND);
    assert_eq!(snapshot.call("openai", "gpt").unwrap().windows[&Window::SinceStart].outcomes.all(), 72_000);
    assert!(held.bytes_current <= 1_280 * KIB, "{} KiB of 1,280", held.bytes_current / KIB);
}

#[test]
fn a_figure_with_values_of_every_size_keeps_within_its_bar() {
    let registry = Registry::new(0);
    let mut random = StdRng::seed_from_u64(2);
    let held = measure(|| {
        let series = registry.series(SeriesKind::Call, "openai", "gpt");
        let anything = || (random.random_range(10_f64..42.0).exp2()) as u64;
        busy(series, &[Figure::ChunkGap], 2 * 3_600, 2_000, anything);
    });
    assert!(held.bytes_current <= 160 * KIB, "{} KiB of 160", held.bytes_current / KIB);
}

#[test]
fn a_busy_series_of_runs_keeps_within_its_bar() {
    let registry = Registry::new(0);
    let mut random = StdRng::seed_from_u64(3);
    let stages: Vec<String> = (0..40).map(|stage| format!("stage number {stage}")).collect();
    let held = measure(|| {
        let series = registry.series(SeriesKind::Pipeline, "support", "");
        for run in 0..1_440_u64 {
            let mut notes = Notes::default();
            for (stage, began) in stages.iter().zip((0..).step_by(1_000)) {
                let title = Title::new(SeriesKind::Stage, stage.clone(), "");
                let within = random.random_range(1..40);
                notes.note(&Entry { title, id: began / 1_000 + 2, call: 0, within, began, ended: began + 900 });
            }
            let figures = [(Figure::Duration, spread(&mut random, SECOND)), (Figure::RetrievalShare, 4_000)];
            let slow = SlowCall::new(figures[0].1, None, [1; 16]).broken_down(Some(Breakdown::of(0, 50_000, notes)));
            series.record(5 * run * SECOND, figures, Outcome::Complete, false, Some(slow));
        }
    });
    let snapshot = registry.snapshot(7_199 * SECOND);
    let window = snapshot.series[0].window(Window::SinceStart).unwrap();
    assert_eq!((window.composition.as_ref().unwrap().parts.len(), window.slowest.len()), (32, 5));
    assert!(held.bytes_current <= 1_280 * KIB, "{} KiB of 1,280", held.bytes_current / KIB);
}

#[test]
fn nothing_is_allocated_before_the_first_value() {
    let registry = Registry::new(0);
    let made = measure(|| _ = registry.series(SeriesKind::Call, "openai", "gpt"));
    assert!(made.bytes_current <= KIB, "{} bytes for the series itself", made.bytes_current);
    let idle = measure(|| {
        let series = registry.series(SeriesKind::Call, "openai", "gpt");
        series.record_many(SECOND, Figure::ChunkGap, &[]);
    });
    assert_eq!(idle.count_total, 0);
    let series = registry.series(SeriesKind::Call, "openai", "gpt");
    let outcome = measure(|| series.record(SECOND, [], Outcome::Error, false, None));
    let figure = measure(|| series.record(SECOND, [(Figure::Duration, SECOND)], Outcome::Complete, true, None));
    assert!(outcome.bytes_current <= KIB, "{} bytes for a call without figures", outcome.bytes_current);
    assert!(figure.count_total > 0, "the control: the first value allocates its histogram");
}

#[test]
fn recording_within_a_slice_allocates_nothing_once_warm() {
    let registry = Registry::new(0);
    let series = registry.series(SeriesKind::Call, "openai", "gpt");
    let record = |second: u64| {
        let figures = Figure::ALL.map(|figure| (figure, (1 + second % 7) * SECOND));
        let slow = SlowCall::new(second * SECOND, None, [1; 16]);
        series.record(second * SECOND, figures, Outcome::Complete, true, Some(slow));
        series.record_many(second * SECOND, Figure::ChunkGap, &[20 * MILLISECOND; 32]);
    };
    (0..31).for_each(record);
    assert_eq!(measure(|| (31..40).for_each(record)).count_total, 0);
    let over = measure(|| record(40));
    assert!(over.count_total > 0, "the control: the first record of the next slice packs the last");
    assert_eq!(measure(|| (41..50).for_each(record)).count_total, 0);
}
