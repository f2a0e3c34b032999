//! Many threads and names at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use super::{super::*, MILLISECOND, SECOND};
use crate::Outcome;

#[test]
fn counts_are_exact_while_snapshots_are_taken() {
    const THREADS: usize = 4;
    const CALLS: u64 = 3_000;
    let (registry, now) = (Registry::new(0), AtomicU64::new(0));
    let counted = |snapshot: &Snapshot| {
        let window = snapshot.call("openai", "gpt").and_then(|series| series.window(Window::SinceStart));
        window.map_or(0, |window| window.outcomes.all())
    };
    let work = || {
        let mut seen = 0;
        for call in 0..CALLS {
            let now = now.fetch_add(20 * MILLISECOND, Ordering::Relaxed); // four minutes in all: slices end everywhere
            let series = registry.series(SeriesKind::Call, "openai", "gpt");
            let outcome = Outcome::ALL[call as usize % 4];
            series.record(now, [(Figure::Duration, call * MILLISECOND)], outcome, true, None);
            series.record_many(now, Figure::ChunkGap, &[MILLISECOND; 3]);
            if call % 100 == 99 {
                let calls = counted(&registry.snapshot(now));
                assert!(calls > seen && calls > call, "{calls} calls after {seen} and {call} of this thread's own");
                seen = calls;
            }
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    let snapshot = registry.snapshot(now.into_inner());
    let measured = snapshot.call("openai", "gpt").unwrap().window(Window::SinceStart).unwrap();
    let calls = THREADS as u64 * CALLS;
    assert_eq!(Outcome::ALL.map(|outcome| measured.outcomes.count(outcome)), [calls / 4; 4]);
    assert_eq!(measured.figures[&Figure::Duration].count, calls);
    assert_eq!(measured.figures[&Figure::ChunkGap].count, calls * 3);
}

#[test]
fn names_beyond_the_thirty_second_share_a_series() {
    let registry = Registry::new(0);
    for number in 0..100 {
        let model = number.to_string();
        let series = registry.series(SeriesKind::Call, "openai", &model);
        assert!(Arc::ptr_eq(series, registry.series(SeriesKind::Call, "openai", &model)));
        series.record(0, [(Figure::Duration, SECOND)], Outcome::Complete, true, None);
    }
    registry.series(SeriesKind::Tool, "weather", "").record(0, [], Outcome::Complete, false, None);
    let snapshot = registry.snapshot(SECOND);
    assert_eq!(snapshot.series.iter().filter(|series| series.kind == SeriesKind::Call).count(), 33);
    assert_eq!(snapshot.call("_other", "").unwrap().window(Window::OneMinute).unwrap().outcomes.all(), 68);
    assert!(snapshot.get(SeriesKind::Tool, "weather", "").is_some(), "each kind has its own thirty-two");
}
