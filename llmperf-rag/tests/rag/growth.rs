//! The diagnosis over stages and pipelines as they are: the replayed case of a knowledge base that grows, and a slow P99.

use std::io;

use llmperf_core::{
    stats::{Figure, PartGrowth, SeriesKind, Snapshot, Title, Window},
    testing::Probe,
};
use llmperf_rag::{Output, Work as _, assemble, embedding, generation, pipeline, rerank, retrieval};
use opentelemetry_sdk::trace::Sampler;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use crate::bench::{millis, takes, under};

const STAGES: [&str; 5] = ["embed", "retrieve", "rerank", "assemble", "generate"];
/// What each takes on average with 500,000 documents, in milliseconds.
const BASE: [f64; 5] = [30.0, 160.0, 880.0, 20.0, 500.0];
const RUNS: u32 = 300;

/// A support pipeline over a knowledge base, on a clock moved by hand.
struct Replay {
    probe: Probe,
    random: StdRng,
}

impl Replay {
    fn new(seed: u64) -> Self {
        let probe = Probe::sampled(Sampler::AlwaysOff, |builder| builder);
        Self { probe, random: StdRng::seed_from_u64(seed) }
    }

    /// Log-normal about this: a spread as services have it.
    fn about(&mut self, millis: f64) -> u64 {
        let normal = (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0;
        (millis * (0.25 * normal).exp()).round() as u64
    }

    /// Three hundred runs within the hour, then a snapshot, then two hours of nothing.
    fn runs(&mut self, means: [f64; 5], candidates: usize) -> Snapshot {
        for _ in 0..RUNS {
            let took = means.map(|mean| self.about(mean));
            under(&self.probe, || run(&self.probe, took, candidates)).unwrap();
            self.probe.clock().advance(millis(8_000));
        }
        let snapshot = self.probe.instrumentation().snapshot();
        self.probe.clock().advance(millis(7_200_000));
        snapshot
    }
}

async fn run(probe: &Probe, took: [u64; 5], candidates: usize) -> io::Result<()> {
    let clock = probe.clock();
    let found: Vec<_> = (0..candidates as u64).map(|id| (id, 0.5)).collect();
    let [embed, retrieve, rerank_takes, assemble_takes, generate] = took;
    pipeline("support")
        .run(async {
            let stage = embedding().provider("openai").model("ada");
            let vector = async {
                takes(clock, embed).await;
                io::Result::Ok(7)
            };
            stage.answer_with(vector, |tokens| Output::usage(*tokens, 0)).await?;
            let search = async {
                takes(clock, retrieve).await;
                io::Result::Ok(found)
            };
            let found = retrieval().store("qdrant").search(search).await?;
            let order = async {
                takes(clock, rerank_takes).await;
                io::Result::Ok(found[..8].to_vec())
            };
            rerank().model("bge").candidates(&found).reorder(order).await?;
            assemble().in_scope(|| clock.advance(millis(assemble_takes)), |guard, ()| guard.complete());
            let stage = generation().provider("openai").model("gpt-4o-mini");
            let answer = async {
                takes(clock, generate).await;
                io::Result::Ok("dry")
            };
            stage.answer_with(answer, |answer| Output::text(answer)).await?;
            clock.advance(millis(40));
            Ok(())
        })
        .await
}

/// The stage of a part: of a call, the one that it is.
fn stage_of(title: Option<&Title>, within: Option<&Title>) -> String {
    match title {
        Some(title) if title.kind == SeriesKind::Call => within.map_or("?", |stage| stage.name.as_str()).to_owned(),
        Some(title) => title.name.to_string(),
        None => "other".to_owned(),
    }
}

fn grown(now: &Snapshot, earlier: &Snapshot) -> Vec<String> {
    let diagnosis = now.diagnose_against(earlier);
    let parts = diagnosis.roots.iter().filter_map(|root| root.growth.as_ref()).flat_map(|growth| &growth.parts);
    parts.map(|part: &PartGrowth| stage_of(part.title.as_ref(), part.within.as_ref())).collect()
}

fn p95(snapshot: &Snapshot) -> f64 {
    snapshot.get(SeriesKind::Pipeline, "support", "").unwrap().figure(Window::OneHour, Figure::Duration).unwrap().p95
}

#[test]
fn of_a_knowledge_base_that_grows_rerank_is_named_since_its_candidates_grew() {
    let mut replay = Replay::new(1);
    let with_documents = |documents: f64| {
        // One candidate in 2,500 documents, and each takes the rerank as long as ever.
        let (mut means, candidates) = (BASE, documents / 2_500.0);
        means[2] = 100.0 + (BASE[2] - 100.0) / 200.0 * candidates;
        (means, candidates as usize)
    };
    let (means, candidates) = with_documents(500_000.0);
    let earlier = replay.runs(means, candidates);
    let (means, candidates) = with_documents(1_200_000.0);
    let now = replay.runs(means, candidates);
    assert!((p95(&earlier) - 2.1).abs() < 0.15, "P95 was {}", p95(&earlier));
    assert!((p95(&now) - 3.8).abs() < 0.2, "P95 is {}", p95(&now));
    assert_eq!(grown(&now, &earlier), ["rerank"]);
    let candidates = &replay.probe.points("llmperf.rag.candidates")[0];
    assert_eq!(candidates.sum, f64::from(RUNS) * (200.0 + 480.0));
}

#[test]
fn whichever_stage_grows_is_the_one_that_is_named() {
    for (place, name) in STAGES.into_iter().enumerate() {
        let mut replay = Replay::new(10 + place as u64);
        let earlier = replay.runs(BASE, 20);
        let mut means = BASE;
        means[place] += 1_200.0;
        let now = replay.runs(means, 20);
        assert_eq!(grown(&now, &earlier), [name]);
    }
}

#[test]
fn where_nothing_grows_nothing_is_named() {
    for seed in 100..102 {
        let mut replay = Replay::new(seed);
        let earlier = replay.runs(BASE, 20);
        let now = replay.runs(BASE, 20);
        assert!(grown(&now, &earlier).is_empty(), "seed {seed}");
    }
}

#[test]
fn of_a_slow_p99_database_and_model_are_named_and_the_search_that_is_repeated() {
    let probe = Probe::new();
    let clock = probe.clock();
    for number in 0..200 {
        let (searches, each, model, other) = if number % 70 == 50 { (10, 250, 2_000, 500) } else { (1, 300, 600, 50) };
        under(&probe, || {
            pipeline("support").run(async {
                for _ in 0..searches {
                    let search = async {
                        takes(clock, each).await;
                        io::Result::Ok([("d1", 1.0)])
                    };
                    retrieval().store("postgres").search(search).await?;
                }
                clock.advance(millis(other));
                generation()
                    .provider("openai")
                    .model("gpt-4o")
                    .run(async {
                        takes(clock, model).await;
                        io::Result::Ok(())
                    })
                    .await
            })
        })
        .unwrap();
    }
    let diagnosis = probe.instrumentation().snapshot().diagnose();
    let root = &diagnosis.roots[0];
    assert_eq!((root.title.name.as_str(), root.slowest[0].duration), ("support", millis(5_000)));
    let share = |name: &str| {
        let of_stage =
            |part: &&llmperf_core::stats::PartShare| stage_of(Some(&part.title), part.within.as_ref()) == name;
        root.shares.iter().filter(of_stage).map(|part| part.share).sum::<f64>()
    };
    assert!((share("retrieve") - 0.5).abs() < 1e-9 && (share("generate") - 0.4).abs() < 1e-9, "{diagnosis}");
    assert!((root.other.unwrap() - 0.1).abs() < 1e-9);
    let repeated: Vec<_> = root.repetitions.iter().map(|part| (part.title.detail.as_str(), part.most)).collect();
    assert_eq!(repeated, [("postgres", 10)]);
    assert!(root.retrieval_share.is_none_or(|share| share <= 0.51), "{diagnosis}");
}

#[test]
fn a_fan_out_is_no_repetition_and_a_pipeline_that_only_retrieves_is_above_its_share() {
    let probe = Probe::new();
    for _ in 0..20 {
        under(&probe, || {
            pipeline("search").run(async {
                let searches = (0..6).map(|_| {
                    retrieval().store("shard").run(async {
                        takes(probe.clock(), 100).await;
                        io::Result::Ok(())
                    })
                });
                futures::future::join_all(searches).await.into_iter().collect::<io::Result<Vec<()>>>()
            })
        })
        .unwrap();
    }
    let diagnosis = probe.instrumentation().snapshot().diagnose();
    assert!(diagnosis.roots[0].repetitions.is_empty(), "{diagnosis}");
    assert!(diagnosis.roots[0].retrieval_share.is_some_and(|share| share > 0.9), "{diagnosis}");
}
