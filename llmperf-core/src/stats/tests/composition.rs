//! What the runs of a window were made of.

use std::time::Duration;

use proptest::prelude::*;

use super::{super::*, MILLISECOND, SECOND};
use crate::{
    Outcome,
    journal::{Entry, Notes},
};

const NAMES: [&str; 4] = ["embed", "retrieve", "rerank", "generate"];

fn title(name: &'static str) -> Title {
    Title::new(SeriesKind::Stage, name, "")
}

/// Records a run of these stages, one behind the other, each so many milliseconds long.
pub(super) fn run(registry: &Registry, now: u64, stages: &[(&'static str, u64)]) {
    let mut notes = Notes::default();
    let mut ended = 0;
    for (name, millis) in stages {
        let began = ended;
        ended += millis * MILLISECOND;
        notes.note(&Entry { title: title(name), id: 0, call: 0, within: 1, began, ended });
    }
    let slow = SlowCall::new(ended, None, [7; 16]).broken_down(Some(Breakdown::of(0, ended, notes)));
    let series = registry.series(SeriesKind::Pipeline, "support", "");
    series.record(now, [(Figure::Duration, ended)], Outcome::Complete, false, Some(slow));
}

fn composition(snapshot: &Snapshot) -> &Composition {
    let series = snapshot.get(SeriesKind::Pipeline, "support", "").unwrap();
    series.window(Window::SinceStart).unwrap().composition.as_ref().unwrap()
}

#[test]
fn totals_are_those_of_all_runs() {
    let registry = Registry::new(0);
    run(&registry, 0, &[("retrieve", 100), ("generate", 400)]);
    run(&registry, 60 * SECOND, &[("retrieve", 100), ("retrieve", 100), ("retrieve", 100), ("generate", 200)]);
    run(&registry, 120 * SECOND, &[("generate", 300)]);
    let snapshot = registry.snapshot(130 * SECOND);
    let all = composition(&snapshot);
    assert_eq!((all.runs, all.total(), all.other()), (3, Duration::from_millis(1_300), Duration::ZERO));
    let retrieve = all.part(&title("retrieve")).unwrap();
    assert_eq!((retrieve.runs, retrieve.count, retrieve.most_sequential), (2, 4, 3));
    assert_eq!(retrieve.exclusive(), Duration::from_millis(400));
    assert_eq!([2, 3, 4].map(|at_least| retrieve.runs_with_sequential(at_least)), [1, 1, 0]);
    let lately = snapshot.series[0].window(Window::OneMinute).unwrap().composition.as_ref().unwrap();
    assert_eq!((lately.runs, lately.part(&title("retrieve"))), (1, None), "windows have their own");
}

#[test]
fn repetitions_past_ten_are_told_as_ten() {
    let registry = Registry::new(0);
    run(&registry, 0, &[("retrieve", 1); 40]);
    let snapshot = registry.snapshot(SECOND);
    let retrieve = composition(&snapshot).part(&title("retrieve")).unwrap();
    assert_eq!(retrieve.most_sequential, 40);
    assert_eq!([0, 2, 10, 40].map(|at_least| retrieve.runs_with_sequential(at_least)), [1; 4]);
}

#[test]
fn parts_past_the_most_are_other() {
    let registry = Registry::new(0);
    for number in 0..40 {
        let mut notes = Notes::default();
        let title = Title::new(SeriesKind::Tool, format!("tool {number}"), "");
        notes.note(&Entry { title, id: 0, call: 0, within: 1, began: 0, ended: SECOND });
        let slow = SlowCall::new(SECOND, None, [7; 16]).broken_down(Some(Breakdown::of(0, SECOND, notes)));
        registry.series(SeriesKind::Pipeline, "support", "").record(0, [], Outcome::Complete, false, Some(slow));
    }
    let snapshot = registry.snapshot(SECOND);
    let all = composition(&snapshot);
    assert_eq!((all.parts.len(), all.other(), all.total()), (32, Duration::from_secs(8), Duration::from_secs(40)));
}

#[test]
fn a_snapshot_from_before_there_were_breakdowns_is_read() {
    let registry = Registry::new(0);
    run(&registry, 0, &[("retrieve", 100)]);
    let mut json = serde_json::to_value(registry.snapshot(SECOND)).unwrap();
    for window in json["series"][0]["windows"].as_object_mut().unwrap().values_mut() {
        window.as_object_mut().unwrap().remove("composition").unwrap();
        window["slowest"][0].as_object_mut().unwrap().remove("breakdown").unwrap();
    }
    let snapshot: Snapshot = serde_json::from_value(json).unwrap();
    let window = snapshot.series[0].window(Window::SinceStart).unwrap();
    assert_eq!((window.composition.clone(), window.slowest[0].breakdown.clone()), (None, None));
    assert_eq!(snapshot.diagnose().roots[0].shares, []);
}

#[test]
fn json_reads_like_the_parts() {
    let registry = Registry::new(0);
    run(&registry, 0, &[("retrieve", 250), ("generate", 750)]);
    let json = serde_json::to_value(registry.snapshot(SECOND)).unwrap();
    let window = &json["series"][0]["windows"]["one_hour"];
    let part = &window["slowest"][0]["breakdown"]["parts"][1];
    assert_eq!((&part["kind"], &part["name"]), (&"stage".into(), &"retrieve".into()));
    assert_eq!((&part["exclusive"], &part["sequential"]), (&0.25.into(), &1.into()));
    assert_eq!(window["composition"]["parts"][0]["name"], "generate");
}

/// When a run ended, in which of two processes, and its stages.
type Run = (u64, bool, Vec<(&'static str, u64)>);

/// Runs within two hours.
fn runs() -> impl Strategy<Value = Vec<Run>> {
    let stages = prop::collection::vec((prop::sample::select(NAMES.to_vec()), 0..5_000_u64), 0..8);
    prop::collection::vec((0..7_200 * SECOND, any::<bool>(), stages), 0..40).prop_map(|mut runs| {
        runs.sort();
        runs
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn two_snapshots_merged_are_that_of_one_process(runs in runs()) {
        let processes = [Registry::new(0), Registry::new(0), Registry::new(0)];
        for (now, second, stages) in &runs {
            run(&processes[usize::from(*second)], *now, stages);
            run(&processes[2], *now, stages);
        }
        let [mut merged, other, both] = processes.map(|registry| registry.snapshot(7_200 * SECOND));
        merged.merge(&other);
        let made_of = |snapshot: &Snapshot| -> Vec<_> {
            let windows = snapshot.series.iter().flat_map(|series| series.windows.values());
            windows.map(|window| window.composition.clone()).collect()
        };
        prop_assert_eq!(made_of(&merged), made_of(&both));
        let through_json: Snapshot = serde_json::from_str(&serde_json::to_string(&both).unwrap()).unwrap();
        prop_assert_eq!(through_json, both);
    }

    #[test]
    fn means_and_their_errors_are_those_of_the_values(values in prop::collection::vec(0..5_000_u64, 2..50)) {
        let registry = Registry::new(0);
        values.iter().for_each(|millis| run(&registry, 0, &[("retrieve", *millis), ("generate", 10)]));
        let snapshot = registry.snapshot(SECOND);
        let (count, spread) = (values.len() as f64, composition(&snapshot).part(&title("retrieve")).unwrap().spread());
        let mean = values.iter().sum::<u64>() as f64 / 1e3 / count;
        let squares: f64 = values.iter().map(|millis| (*millis as f64 / 1e3 - mean).powi(2)).sum();
        prop_assert!((spread.mean(values.len() as u64) - mean).abs() < 1e-9);
        let variance = squares / (count - 1.0) / count;
        prop_assert!((spread.variance_of_mean(values.len() as u64) - variance).abs() < 1e-6 * (1.0 + variance));
    }
}
