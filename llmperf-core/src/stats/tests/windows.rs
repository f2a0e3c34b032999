//! Sliding windows, rates, outcomes: what is counted, and for how long.

use proptest::prelude::*;

use super::{super::*, MILLISECOND, SECOND, assert_is_of, call};
use crate::Outcome;

/// Each window with the width of its slices in seconds and their number.
const WINDOWS: [(Window, u64, u64); 4] = [
    (Window::OneMinute, 10, 6),
    (Window::FiveMinutes, 60, 5),
    (Window::OneHour, 300, 12),
    (Window::SinceStart, u64::MAX / SECOND, 1),
];

#[derive(Clone, Copy, Debug)]
enum Step {
    Record(u64),
    Wait(u64),
    /// The next clock read comes from a processor that is a little behind.
    Back(u64),
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    let micros = (0_f64..24.0).prop_map(f64::exp2).prop_map(|micros| micros as u64);
    prop_oneof![
        8 => micros.prop_map(|micros| Step::Record(micros * 1_000)),
        4 => (0..15 * SECOND).prop_map(Step::Wait),
        2 => (0..8 * 60 * SECOND).prop_map(Step::Wait),
        1 => (0..3 * 3_600 * SECOND).prop_map(Step::Wait),
        2 => (0..MILLISECOND).prop_map(Step::Back),
        1 => Just(Step::Snapshot),
    ]
}

/// What was recorded, kept whole: the second at which each value's slice begins, and the value in microseconds.
#[derive(Default)]
struct Reference {
    newest: u64,
    values: Vec<(u64, u64)>,
}

impl Reference {
    fn at(&mut self, now: u64) -> u64 {
        self.newest = self.newest.max(now / SECOND / 10 * 10);
        self.newest
    }

    fn record(&mut self, now: u64, nanos: u64) {
        let slice = self.at(now);
        self.values.push((slice, (nanos / 1_000).max(1)));
    }

    fn assert_equals(&mut self, snapshot: &Snapshot, now: u64) {
        let newest = self.at(now);
        for (window, width, slices) in WINDOWS {
            let oldest = (newest / width + 1).saturating_sub(slices) * width;
            let inside = self.values.iter().filter(|(slice, _)| *slice >= oldest);
            let mut micros: Vec<u64> = inside.map(|(_, micros)| *micros).collect();
            micros.sort_unstable();
            let measured = snapshot.call("openai", "gpt").and_then(|series| series.window(window));
            assert_eq!(measured.is_some(), !micros.is_empty(), "{window:?}");
            let Some(measured) = measured else { continue };
            assert_eq!(measured.outcomes.all(), micros.len() as u64, "{window:?}");
            assert_is_of(&measured.figures[&Figure::Duration], &micros);
            let slowest: Vec<u64> = measured.slowest.iter().map(|call| call.duration.as_micros() as u64).collect();
            let expected: Vec<u64> = micros.iter().rev().take(5).copied().collect();
            assert_eq!(
                slowest.iter().map(|micros| micros.max(&1)).collect::<Vec<_>>(),
                expected.iter().collect::<Vec<_>>()
            );
        }
    }
}

proptest! {
    #[test]
    fn windows_hold_what_a_brute_force_reference_holds(steps in prop::collection::vec(step(), 1..120)) {
        let (registry, mut reference, mut now) = (Registry::new(0), Reference::default(), 0_u64);
        for step in steps {
            match step {
                Step::Record(nanos) => {
                    call(&registry, now, nanos);
                    reference.record(now, nanos);
                }
                Step::Wait(nanos) => now += nanos,
                Step::Back(nanos) => now = now.saturating_sub(nanos),
                Step::Snapshot => reference.assert_equals(&registry.snapshot(now), now),
            }
        }
        reference.assert_equals(&registry.snapshot(now), now);
    }
}

#[test]
fn a_young_process_does_not_divide_by_a_minute() {
    let registry = Registry::new(95 * SECOND);
    (0..20).for_each(|tick| call(&registry, (95 + tick) * SECOND, SECOND));
    let snapshot = registry.snapshot(115 * SECOND);
    for window in Window::ALL {
        let measured = snapshot.call("openai", "gpt").unwrap().window(window).unwrap();
        assert_eq!((measured.covered.as_secs(), measured.per_second), (20, Some(1.0)), "{window:?}");
        assert_eq!(measured.figures[&Figure::Duration].per_second, Some(1.0));
    }
}

#[test]
fn a_rate_over_no_time_is_absent() {
    let registry = Registry::new(7);
    call(&registry, 7, SECOND);
    let snapshot = registry.snapshot(7);
    let measured = snapshot.call("openai", "gpt").unwrap().window(Window::OneMinute).unwrap();
    assert_eq!((measured.per_second, measured.figures[&Figure::Duration].per_second), (None, None));
}

#[test]
fn a_minute_covers_its_slices_and_no_more() {
    let registry = Registry::new(0);
    (0..600).for_each(|second| call(&registry, second * SECOND, SECOND));
    let snapshot = registry.snapshot(604 * SECOND);
    let covered = |window| {
        let measured = snapshot.call("openai", "gpt").unwrap().window(window).unwrap();
        (measured.covered.as_secs(), measured.outcomes.all())
    };
    assert_eq!(covered(Window::OneMinute), (54, 50));
    assert_eq!(covered(Window::FiveMinutes), (244, 240));
    assert_eq!(covered(Window::OneHour), (604, 600));
}

#[test]
fn hours_of_idleness_empty_the_sliding_windows_only() {
    let registry = Registry::new(0);
    (0..4_000).for_each(|second| call(&registry, second * SECOND, SECOND));
    let snapshot = registry.snapshot(u64::MAX);
    let windows = &snapshot.call("openai", "gpt").unwrap().windows;
    assert_eq!(windows.keys().collect::<Vec<_>>(), [&Window::SinceStart]);
    assert_eq!(windows[&Window::SinceStart].outcomes.all(), 4_000);
}

#[test]
fn what_recorded_nothing_does_not_appear() {
    let registry = Registry::new(0);
    let series = registry.series(SeriesKind::Tool, "weather", "");
    assert_eq!(registry.snapshot(SECOND), Snapshot::default());
    series.record(SECOND, [(Figure::Duration, SECOND)], Outcome::Complete, false, None);
    let snapshot = registry.snapshot(SECOND);
    let tool = snapshot.get(SeriesKind::Tool, "weather", "").unwrap();
    assert_eq!(tool.window(Window::OneMinute).unwrap().figures.len(), 1);
    assert_eq!(tool.figure(Window::OneMinute, Figure::TimeToFirstToken), None);
    assert_eq!(snapshot.call("weather", ""), None);
}

#[test]
fn values_beyond_the_range_count_as_its_ends() {
    let registry = Registry::new(0);
    let series = registry.series(SeriesKind::Call, "openai", "gpt");
    series.record_many(0, Figure::ChunkGap, &[0, 499, u64::MAX, 3_700 * SECOND]);
    let snapshot = registry.snapshot(SECOND);
    let gaps = snapshot.call("openai", "gpt").unwrap().figure(Window::OneMinute, Figure::ChunkGap).unwrap();
    assert_eq!((gaps.count, gaps.min, gaps.p50, gaps.max), (4, 0.0, 0.0, 3_600.0));
}

#[test]
fn rates_are_kept_in_thousandths_of_a_token_per_second() {
    let registry = Registry::new(0);
    let series = registry.series(SeriesKind::Call, "openai", "gpt");
    series.record(0, [(Figure::OutputTokenRate, 51_250)], Outcome::Complete, true, None);
    let snapshot = registry.snapshot(SECOND);
    let rate = snapshot.call("openai", "gpt").unwrap().figure(Window::SinceStart, Figure::OutputTokenRate).unwrap();
    assert_eq!((rate.mean, rate.p99, rate.std_dev, rate.figure.unit()), (51.25, 51.25, 0.0, "{token}/s"));
}

#[test]
fn rates_of_outcomes_leave_cancelled_calls_out() {
    let registry = Registry::new(0);
    let series = registry.series(SeriesKind::Call, "openai", "gpt");
    for (outcome, streamed, calls) in [
        (Outcome::Complete, true, 5),
        (Outcome::Complete, false, 1),
        (Outcome::Error, false, 2),
        (Outcome::Interrupted, true, 3),
        (Outcome::Cancelled, true, 4),
        (Outcome::Cancelled, false, 5),
    ] {
        (0..calls).for_each(|_| series.record(0, [], outcome, streamed, None));
    }
    let snapshot = registry.snapshot(SECOND);
    let outcomes = snapshot.call("openai", "gpt").unwrap().window(Window::SinceStart).unwrap().outcomes;
    assert_eq!(Outcome::ALL.map(|outcome| outcomes.count(outcome)), [6, 2, 3, 9]);
    assert_eq!(outcomes.completion_rate(), Some(6.0 / 20.0));
    assert_eq!(outcomes.error_rate(), Some(2.0 / 11.0));
    assert_eq!(outcomes.interruption_rate(), Some(3.0 / 8.0));
    assert_eq!(Outcomes::default().error_rate(), None);
}

#[test]
fn figures_are_stored_in_the_order_of_their_list() {
    for (place, figure) in Figure::ALL.into_iter().enumerate() {
        assert_eq!(figure as usize, place, "{figure}");
        assert_eq!(serde_json::to_value(figure).unwrap(), figure.as_str());
    }
}
