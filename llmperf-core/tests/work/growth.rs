//! What has grown since an earlier snapshot: the replayed case of a knowledge base, and chance.

use std::time::Duration;

use llmperf_core::{
    Work as _,
    opentelemetry::trace::noop::NoopTracerProvider,
    stats::{Figure, PartGrowth, SeriesKind, Snapshot, Window},
    testing::Probe,
};
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use crate::{
    diagnosis::takes,
    job::{pipeline, stage},
};

const STAGES: [&str; 5] = ["embed", "retrieve", "rerank", "assemble", "generate"];
/// What each takes on average with the small knowledge base, in milliseconds.
const BASE: [f64; 5] = [30.0, 160.0, 880.0, 20.0, 500.0];
const SEVERAL: usize = 300;

/// A support pipeline over a knowledge base, on a clock moved by hand.
struct Replay {
    probe: Probe,
    random: StdRng,
}

impl Replay {
    fn new(seed: u64) -> Self {
        let probe = Probe::with(|builder| builder.tracer_provider(&NoopTracerProvider::new()));
        Self { probe, random: StdRng::seed_from_u64(seed) }
    }

    /// Log-normal about this: a spread as services have it.
    fn about(&mut self, millis: f64) -> u64 {
        let normal = (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0;
        (millis * (0.25 * normal).exp()).round() as u64
    }

    /// Runs one behind the other, whose stages take so long on average.
    fn runs(&mut self, runs: usize, millis: [f64; 5]) -> Snapshot {
        self.runs_with(runs, millis, 40.0, |_, _| {})
    }

    /// The same with so much between them that nothing measures, and what `changed` makes of the times of each.
    fn runs_with(
        &mut self,
        runs: usize,
        millis: [f64; 5],
        between: f64,
        changed: impl Fn(usize, &mut [u64; 5]),
    ) -> Snapshot {
        let times: Vec<_> = (0..runs)
            .map(|number| {
                let mut took = millis.map(|millis| self.about(millis));
                changed(number, &mut took);
                (took, self.about(between))
            })
            .collect();
        self.exactly(times)
    }

    /// Runs whose stages, and what is between them, take exactly so long.
    fn exactly(&self, times: impl IntoIterator<Item = ([u64; 5], u64)>) -> Snapshot {
        for (took, between) in times {
            let probe = &self.probe;
            probe.instrumentation().sync_scope(|| {
                pipeline("support").in_scope(
                    || {
                        for (name, millis) in STAGES.into_iter().zip(took) {
                            takes(probe, stage(name, ""), millis);
                        }
                        probe.clock().advance(Duration::from_millis(between));
                    },
                    |guard, ()| guard.complete(),
                );
            });
        }
        self.probe.instrumentation().snapshot()
    }

    /// Lets more than an hour go by.
    fn pause(&self) {
        self.probe.clock().advance(Duration::from_secs(7_200));
    }
}

fn p95(snapshot: &Snapshot) -> f64 {
    let series = snapshot.get(SeriesKind::Pipeline, "support", "").unwrap();
    series.figure(Window::OneHour, Figure::Duration).unwrap().p95
}

/// The parts that are named.
fn grown(now: &Snapshot, earlier: &Snapshot) -> Vec<String> {
    let diagnosis = now.diagnose_against(earlier);
    let parts = diagnosis.roots.iter().filter_map(|root| root.growth.as_ref()).flat_map(|growth| &growth.parts);
    let name = |part: &PartGrowth| part.title.as_ref().map_or("other".to_owned(), |title| title.name.to_string());
    parts.map(name).collect()
}

/// Rerank looks at more candidates, each of which takes it as long as ever.
fn with_documents(documents: f64) -> [f64; 5] {
    let (mut stages, candidates) = (BASE, documents / 2_500.0);
    stages[2] = 100.0 + (BASE[2] - 100.0) / 200.0 * candidates;
    stages
}

#[test]
fn of_a_knowledge_base_that_grows_rerank_is_named() {
    let mut replay = Replay::new(1);
    let earlier = replay.runs(SEVERAL, with_documents(500_000.0));
    replay.pause();
    let now = replay.runs(SEVERAL, with_documents(1_200_000.0));
    assert!((p95(&earlier) - 2.1).abs() < 0.1, "P95 was {}", p95(&earlier));
    assert!((p95(&now) - 3.8).abs() < 0.15, "P95 is {}", p95(&now));
    assert_eq!(grown(&now, &earlier), ["rerank"]);
    let growth = now.diagnose_against(&earlier).roots[0].growth.clone().unwrap();
    let rerank = &growth.parts[0];
    assert!((0.85..1.15).contains(&rerank.share), "{rerank:?}");
    assert!(rerank.mean.now > rerank.mean.before * 2 && rerank.slowest.now > rerank.slowest.before);
    assert!(!rerank.in_slowest_only && growth.gone.is_empty());
    let printed = now.diagnose_against(&earlier).to_string();
    assert!(printed.contains("  - it has grown: P95 2."), "{printed}");
    assert!(printed.contains("  - stage rerank has grown: 9"), "{printed}");
}

#[test]
fn whichever_stage_grows_is_the_one_that_is_named() {
    for (place, name) in STAGES.into_iter().enumerate() {
        let mut replay = Replay::new(20 + place as u64);
        let earlier = replay.runs(SEVERAL, BASE);
        replay.pause();
        let mut stages = BASE;
        stages[place] += 1_200.0;
        let now = replay.runs(SEVERAL, stages);
        assert_eq!(grown(&now, &earlier), [name]);
    }
}

#[test]
fn chance_alone_names_nothing() {
    for seed in 100..114 {
        let mut replay = Replay::new(seed);
        let runs = 30 + 12 * (seed as usize - 100);
        let earlier = replay.runs(runs, BASE);
        replay.pause();
        let now = replay.runs(runs, BASE);
        let diagnosis = now.diagnose_against(&earlier);
        assert_eq!(diagnosis.roots.len(), 1);
        assert_eq!(diagnosis.roots[0].growth, None, "seed {seed}: {diagnosis}");
        assert!(!diagnosis.to_string().contains("grown"));
    }
}

#[test]
fn what_gets_faster_has_not_grown() {
    let mut replay = Replay::new(7);
    let earlier = replay.runs(SEVERAL, with_documents(1_200_000.0));
    replay.pause();
    let now = replay.runs(SEVERAL, with_documents(500_000.0));
    assert_eq!(now.diagnose_against(&earlier).roots[0].growth, None);
}

#[test]
fn a_stage_that_is_new_is_named_as_such() {
    let mut replay = Replay::new(8);
    let earlier = replay.runs(SEVERAL, [30.0, 160.0, 0.0, 20.0, 500.0]);
    replay.pause();
    let now = replay.runs(SEVERAL, with_documents(500_000.0));
    let part = now.diagnose_against(&earlier).roots[0].growth.clone().unwrap().parts.remove(0);
    assert_eq!((part.title.unwrap().name.as_str(), part.mean.before), ("rerank", Duration::ZERO));
    let printed = now.diagnose_against(&earlier).to_string();
    assert!(printed.contains("  - stage rerank is new: 9"), "{printed}");
}

#[test]
fn what_no_part_covers_is_named_if_it_grows() {
    let mut replay = Replay::new(11);
    let earlier = replay.runs(SEVERAL, BASE);
    replay.pause();
    let now = replay.runs_with(SEVERAL, BASE, 900.0, |_, _| {});
    assert_eq!(grown(&now, &earlier), ["other"]);
    let printed = now.diagnose_against(&earlier).to_string();
    assert!(printed.contains("  - what no part covers has grown: 4"), "{printed}");
}

#[test]
fn two_stages_that_grow_are_both_named_and_the_larger_growth_first() {
    let mut replay = Replay::new(12);
    let earlier = replay.runs(SEVERAL, BASE);
    replay.pause();
    let now = replay.runs(SEVERAL, [30.0, 760.0, 880.0, 20.0, 1_500.0]);
    assert_eq!(grown(&now, &earlier), ["generate", "retrieve"]);
}

#[test]
fn a_tail_that_grows_while_the_mean_does_not_is_told_by_the_slowest() {
    let mut replay = Replay::new(13);
    let earlier = replay.runs(SEVERAL, BASE);
    replay.pause();
    // Generation was made quicker for all; one run in ten waits for rerank.
    let now = replay.runs_with(SEVERAL, [30.0, 160.0, 880.0, 20.0, 100.0], 40.0, |number, took| {
        took[2] += if number % 10 == 0 { 2_500 } else { 0 };
    });
    let growth = now.diagnose_against(&earlier).roots[0].growth.clone().unwrap();
    assert!(growth.mean.now < growth.mean.before && growth.p95.now > growth.p95.before);
    assert_eq!(grown(&now, &earlier), ["rerank"]);
    assert!(growth.parts[0].in_slowest_only);
    let printed = now.diagnose_against(&earlier).to_string();
    assert!(printed.contains("in the slowest runs"), "{printed}");
}

#[test]
fn one_odd_run_among_the_slowest_names_nothing() {
    let now = |number: usize| {
        let (slow, odd) = (number.is_multiple_of(10), number == 50);
        [30, if odd { 4_160 } else { 160 }, if slow { 3_380 } else { 880 }, 20, 100]
    };
    assert_eq!(named(100, |_| USUAL, now), Some(vec!["rerank".to_owned()]));
}

#[test]
fn a_part_that_is_gone_is_said_where_the_whole_has_grown() {
    let mut replay = Replay::new(14);
    let without = |name: &'static str| move |stage: &&str| *stage != name;
    let earlier = replay.runs(SEVERAL, BASE);
    replay.pause();
    let kept: Vec<&str> = STAGES.iter().copied().filter(without("retrieve")).collect();
    for _ in 0..SEVERAL {
        replay.probe.instrumentation().sync_scope(|| {
            pipeline("support").in_scope(
                || kept.iter().for_each(|name| takes(&replay.probe, stage(name, ""), 900)),
                |guard, ()| guard.complete(),
            );
        });
    }
    let now = replay.probe.instrumentation().snapshot();
    let growth = now.diagnose_against(&earlier).roots[0].growth.clone().unwrap();
    let gone: Vec<&str> = growth.gone.iter().map(|title| title.name.as_str()).collect();
    assert_eq!(gone, ["retrieve"]);
    assert!(now.diagnose_against(&earlier).to_string().contains("  - stage retrieve is gone."));
}

/// Runs with times of their own, before and now, and the parts that are named.
fn named(runs: usize, before: impl Fn(usize) -> [u64; 5], now: impl Fn(usize) -> [u64; 5]) -> Option<Vec<String>> {
    let replay = Replay::new(0);
    let earlier = replay.exactly((0..runs).map(|number| (before(number), 40)));
    replay.pause();
    let now = replay.exactly((0..runs).map(|number| (now(number), 40)));
    now.diagnose_against(&earlier).roots[0].growth.as_ref().map(|_| grown(&now, &earlier))
}

const USUAL: [u64; 5] = [30, 160, 880, 20, 500];

#[test]
fn less_than_a_tenth_is_no_growth_however_sure_it_is() {
    assert_eq!(named(50, |_| USUAL, |_| [30, 160, 1_030, 20, 500]), None);
    assert_eq!(named(50, |_| USUAL, |_| [30, 160, 1_050, 20, 500]), Some(vec!["rerank".to_owned()]));
}

#[test]
fn a_small_share_in_the_growth_is_not_named_however_much_the_part_has_grown() {
    let named = named(50, |_| USUAL, |_| [90, 320, 1_880, 40, 500]);
    assert_eq!(named, Some(vec!["rerank".to_owned()]), "embed has grown threefold, which is a twentieth of it");
}

#[test]
fn a_part_that_is_up_by_one_odd_run_is_not_named_with_one_that_has_grown() {
    let now = |number| [30, 160, 1_180, 20, if number == 3 { 2_500 } else { 500 }];
    assert_eq!(named(12, |_| USUAL, now), Some(vec!["rerank".to_owned()]));
}

#[test]
fn a_quantile_that_is_up_by_one_odd_run_is_no_growth() {
    let odd = |more: u64| move |number| [30, 160, 880, 20, if number == 3 { 500 + more } else { 500 }];
    assert_eq!(named(12, odd(1_200), odd(2_200)), None);
    assert_eq!(named(12, |_| USUAL, odd(6_000)), None, "nor is a mean");
}

#[test]
fn few_runs_tell_of_no_growth() {
    let mut replay = Replay::new(9);
    let earlier = replay.runs(9, BASE);
    replay.pause();
    let now = replay.runs(9, with_documents(5_000_000.0));
    assert_eq!(now.diagnose_against(&earlier).roots[0].growth, None);
}

#[test]
fn what_was_not_there_before_is_not_compared() {
    let mut replay = Replay::new(9);
    let now = replay.runs(SEVERAL, BASE);
    let diagnosis = now.diagnose_against(&Snapshot::default());
    assert_eq!((diagnosis.roots.len(), diagnosis.roots[0].growth.clone()), (1, None));
}
