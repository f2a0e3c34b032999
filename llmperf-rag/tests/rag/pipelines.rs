//! What the stages of a pipeline add up to.

use std::{io, pin::pin};

use futures::{StreamExt as _, future::join, stream};
use llmperf_core::{
    InCurrentScope as _, Objective, Slo, chat,
    stats::{Figure, SeriesKind},
    testing::{ManualClock, Probe},
};
use llmperf_rag::{Output, Work as _, assemble, embedding, first_output, generation, pipeline, rerank, retrieval};
use opentelemetry::trace::SpanKind;

use crate::bench::{attribute, figure, in_millis, millis, point, span, takes, under, yield_once};

type Documents = io::Result<[(&'static str, f64); 1]>;

async fn searches(clock: &ManualClock, time: u64) -> Documents {
    retrieval()
        .store("qdrant")
        .search(async {
            takes(clock, time).await;
            Ok([("d1", 1.0)])
        })
        .await
}

async fn reranks(clock: &ManualClock, time: u64) -> Documents {
    rerank()
        .model("bge")
        .reorder(async {
            takes(clock, time).await;
            Ok([("d1", 2.0)])
        })
        .await
}

async fn assembles(clock: &ManualClock, time: u64) {
    assemble()
        .run(async {
            takes(clock, time).await;
            io::Result::Ok(())
        })
        .await
        .unwrap();
}

async fn generates(clock: &ManualClock, time: u64) -> io::Result<&'static str> {
    let stage = generation().provider("openai").model("gpt-4o-mini");
    stage
        .run(async {
            takes(clock, time).await;
            Ok("dry")
        })
        .await
}

/// embed 50, retrieve 200, rerank 100, assemble 20, generate 500; 30 of nobody's in between.
async fn whole(clock: &ManualClock) -> io::Result<&'static str> {
    pipeline("support")
        .run(async {
            let stage = embedding().provider("openai").model("ada");
            stage
                .run(async {
                    takes(clock, 50).await;
                    io::Result::Ok(())
                })
                .await?;
            searches(clock, 200).await?;
            clock.advance(millis(30));
            reranks(clock, 100).await?;
            assembles(clock, 20).await;
            generates(clock, 500).await
        })
        .await
}

#[test]
fn a_pipeline_is_a_tree_of_its_stages_in_which_calls_stand_for_themselves() {
    let probe = Probe::new();
    under(&probe, || whole(probe.clock())).unwrap();
    let expected = "\
pipeline support
  embeddings ada
  retrieval qdrant
  rerank bge
  assemble
  chat gpt-4o-mini
";
    assert_eq!(probe.tree(), expected);
    let span = span(&probe, "pipeline support");
    assert_eq!(span.span_kind, SpanKind::Internal);
    let expected = [
        ("llmperf.rag.pipeline.name", "support"),
        ("llmperf.rag.retrieval.duration", "0.3"),
        ("llmperf.rag.retrieval_path.duration", "0.4"),
        ("llmperf.outcome", "complete"),
        ("llmperf.rag.time_to_first_output", ""),
        ("gen_ai.usage.input_tokens", ""),
    ];
    for (key, value) in expected {
        assert_eq!(attribute(&span, key), value, "{key}");
    }
}

#[test]
fn retrieval_is_search_and_rerank_the_path_ends_where_generation_begins_and_the_share_is_of_the_whole() {
    let probe = Probe::new();
    under(&probe, || whole(probe.clock())).unwrap();
    assert_eq!(in_millis(&probe, "llmperf.rag.pipeline.duration"), 900);
    assert_eq!(in_millis(&probe, "llmperf.rag.retrieval.duration"), 300);
    assert_eq!(in_millis(&probe, "llmperf.rag.retrieval_path.duration"), 400);
    assert!((point(&probe, "llmperf.rag.retrieval_share").sum - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(probe.count("llmperf.rag.pipelines"), 1.0);
    assert!(probe.points("llmperf.rag.time_to_first_output").is_empty(), "a whole value has no first output");
    let of =
        |which| figure(probe.instrumentation(), SeriesKind::Pipeline, "support", "", which).map(|(count, _)| count);
    let figures = [Figure::Duration, Figure::Retrieval, Figure::RetrievalPath, Figure::RetrievalShare];
    assert_eq!(figures.map(of), [Some(1); 4]);
    assert_eq!(of(Figure::TimeToFirstOutput), None);
}

#[test]
fn parallel_stages_count_as_their_union() {
    let probe = Probe::new();
    let clock = probe.clock();
    under(&probe, || {
        pipeline("support").run(async {
            // Both begin at 0; one ends at 100, the other at 250: then 50 of nobody's.
            let one = retrieval().store("a").run(async {
                clock.advance(millis(100));
                yield_once().await;
                io::Result::Ok(())
            });
            let two = retrieval().store("b").run(async {
                yield_once().await;
                yield_once().await;
                clock.advance(millis(150));
                io::Result::Ok(())
            });
            let (one, two) = join(two, one).await;
            one.and(two)?;
            clock.advance(millis(50));
            io::Result::Ok(())
        })
    })
    .unwrap();
    assert_eq!(in_millis(&probe, "llmperf.rag.pipeline.duration"), 300);
    assert_eq!(in_millis(&probe, "llmperf.rag.retrieval.duration"), 250);
}

#[test]
fn without_a_generation_the_path_ends_with_the_assembly_and_without_both_there_is_none() {
    let probe = Probe::new();
    let clock = probe.clock();
    under(&probe, || {
        pipeline("search").run(async {
            searches(clock, 100).await?;
            assembles(clock, 20).await;
            clock.advance(millis(70));
            io::Result::Ok(())
        })
    })
    .unwrap();
    assert_eq!(in_millis(&probe, "llmperf.rag.retrieval_path.duration"), 120);
    let probe = Probe::new();
    let clock = probe.clock();
    under(&probe, || pipeline("search").run(searches(clock, 100))).unwrap();
    assert!(probe.points("llmperf.rag.retrieval_path.duration").is_empty());
}

#[test]
fn the_path_ends_with_the_first_of_several_generations() {
    let probe = Probe::new();
    let clock = probe.clock();
    under(&probe, || {
        pipeline("support").run(async {
            searches(clock, 100).await?;
            generates(clock, 300).await?;
            generates(clock, 300).await
        })
    })
    .unwrap();
    assert_eq!(in_millis(&probe, "llmperf.rag.retrieval_path.duration"), 100);
}

#[test]
fn a_pipeline_without_retrieval_has_neither_latency_nor_share() {
    let probe = Probe::with(|builder| builder.slos(Slo::standard()));
    let clock = probe.clock();
    under(&probe, || pipeline("chat").run(generates(clock, 300))).unwrap();
    for metric in ["llmperf.rag.retrieval.duration", "llmperf.rag.retrieval_share"] {
        assert!(probe.points(metric).is_empty(), "{metric}");
    }
    let judged: Vec<_> = probe
        .points("llmperf.slo.events")
        .iter()
        .filter(|point| !point.attribute("llmperf.rag.pipeline.name").is_empty())
        .map(|point| point.attribute("llmperf.slo.name").to_owned())
        .collect();
    assert_eq!(judged, ["rag"]);
}

#[test]
fn the_first_output_is_that_of_the_pipelines_own_stream() {
    let probe = Probe::new();
    let clock = probe.clock();
    under(&probe, || async {
        let stage = pipeline("support").start();
        let mut answer = pin!(stage.stream(
            {
                let clock = clock.clone();
                stream::iter(["", "a", "b"]).then(move |item| {
                    clock.advance(millis(100));
                    std::future::ready(item)
                })
            },
            |guard, item: &&str| {
                if !item.is_empty() {
                    guard.output();
                }
            },
        ));
        while answer.next().await.is_some() {}
    });
    assert_eq!(in_millis(&probe, "llmperf.rag.time_to_first_output"), 200);
    assert_eq!(in_millis(&probe, "llmperf.rag.pipeline.duration"), 300);
}

#[test]
fn code_inside_may_say_when_the_user_sees_the_first_output_and_the_first_saying_counts() {
    let probe = Probe::new();
    let clock = probe.clock();
    under(&probe, || {
        pipeline("support").run(async {
            searches(clock, 100).await?;
            let stage = generation().provider("openai").model("gpt-4o-mini");
            let items = stream::iter(["a", "b"]);
            let mut answer = stage.open_with(async { io::Result::Ok(items) }, |item| Output::text(item)).await?;
            while answer.next().await.is_some() {
                clock.advance(millis(40));
                first_output();
            }
            io::Result::Ok(())
        })
    })
    .unwrap();
    first_output(); // outside of any it says nothing
    assert_eq!(in_millis(&probe, "llmperf.rag.time_to_first_output"), 140);
}

#[test]
fn stages_count_to_the_nearest_pipeline() {
    let probe = Probe::new();
    let clock = probe.clock();
    under(&probe, || {
        pipeline("outer").run(async {
            searches(clock, 10).await?;
            pipeline("inner")
                .run(async {
                    searches(clock, 100).await?;
                    generates(clock, 300).await
                })
                .await?;
            generates(clock, 300).await
        })
    })
    .unwrap();
    let latencies: Vec<_> = probe
        .points("llmperf.rag.retrieval.duration")
        .iter()
        .map(|point| (point.attribute("llmperf.rag.pipeline.name").to_owned(), (point.sum * 1e3).round()))
        .collect();
    assert!(
        latencies.contains(&("outer".into(), 10.0)) && latencies.contains(&("inner".into(), 100.0)),
        "{latencies:?}"
    );
    let expected = "\
pipeline outer
  retrieval qdrant
  pipeline inner
    retrieval qdrant
    chat gpt-4o-mini
  chat gpt-4o-mini
";
    assert_eq!(probe.tree(), expected);
}

#[test]
fn a_pipeline_is_judged_by_its_objectives() {
    let slos = [
        Slo::new("fast search", Objective::Retrieval, millis(299)),
        Slo::new("path", Objective::RetrievalPath, millis(400)),
        Slo::new("rag", Objective::Pipeline, millis(900)),
    ];
    let probe = Probe::with(|builder| builder.slos(slos));
    under(&probe, || whole(probe.clock())).unwrap();
    let mut judged: Vec<_> = probe
        .points("llmperf.slo.events")
        .iter()
        .map(|point| {
            ["llmperf.slo.name", "llmperf.slo.met", "llmperf.rag.pipeline.name"]
                .map(|key| point.attribute(key).to_owned())
                .join(" ")
        })
        .collect();
    judged.sort();
    assert_eq!(judged, ["fast search false support", "path true support", "rag true support"]);
    let bounds = point(&probe, "llmperf.rag.retrieval_path.duration").bounds;
    assert!(bounds.contains(&0.4) && bounds.contains(&0.3), "a limit is a bound");
}

#[test]
fn a_pipeline_that_fails_misses_its_objectives_and_says_by_what() {
    let probe = Probe::with(|builder| builder.slos([Slo::new("rag", Objective::Pipeline, millis(900))]));
    let failing = || pipeline("support").run(async { Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionReset)) });
    assert!(under(&probe, failing).is_err());
    let counted = point(&probe, "llmperf.rag.pipelines");
    assert_eq!([counted.attribute("llmperf.outcome"), counted.attribute("error.type")], ["error", "connection_reset"]);
    assert_eq!(point(&probe, "llmperf.slo.events").attribute("llmperf.slo.met"), "false");
    assert_eq!(probe.tree(), "pipeline support !\n");
}

#[test]
fn what_is_spawned_into_the_scope_counts_and_what_ends_after_the_pipeline_is_late() {
    let probe = Probe::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let clock = probe.clock().clone();
    let (release, released) = tokio::sync::oneshot::channel::<()>();
    runtime.block_on(probe.instrumentation().scope(async {
        let detached = pipeline("support")
            .run(async {
                let own = clock.clone();
                let spawned = async move { searches(&own, 100).await }.in_current_scope();
                tokio::spawn(spawned).await.unwrap()?;
                let own = clock.clone();
                let detached = async move {
                    let stage = retrieval().store("late");
                    stage
                        .run(async {
                            released.await.unwrap();
                            takes(&own, 700).await;
                            io::Result::Ok(())
                        })
                        .await
                };
                let detached = tokio::spawn(detached.in_current_scope());
                tokio::task::yield_now().await;
                io::Result::Ok(detached)
            })
            .await
            .unwrap();
        release.send(()).unwrap();
        detached.await.unwrap().unwrap();
    }));
    assert_eq!(in_millis(&probe, "llmperf.rag.retrieval.duration"), 100, "the late one neither in it nor by itself");
    assert_eq!(probe.tree(), "pipeline support\n  retrieval qdrant\n  retrieval late\n");
    assert_eq!(point(&probe, "llmperf.internal.events").attribute("llmperf.internal.kind"), "late_call");
    assert_eq!(probe.points("llmperf.rag.stage.duration").len(), 2, "both are stages");
}

#[test]
fn a_call_made_by_hand_in_a_pipeline_is_its_child_and_no_stage() {
    let probe = Probe::new();
    under(&probe, || pipeline("support").run(chat("openai", "gpt-4o-mini").run(async { io::Result::Ok(()) }))).unwrap();
    assert!(probe.points("llmperf.rag.stage.duration").is_empty());
}

#[test]
fn more_searches_than_can_be_added_up_leave_no_figure_that_is_wrong() {
    let probe = Probe::new();
    let clock = probe.clock();
    under(&probe, || {
        pipeline("loop").run(async {
            for _ in 0..5_000 {
                retrieval().store("a").start().complete();
                clock.advance(millis(1));
            }
            io::Result::Ok(())
        })
    })
    .unwrap();
    assert!(probe.points("llmperf.rag.retrieval.duration").is_empty());
    assert!(probe.points("llmperf.rag.retrieval_share").is_empty());
    assert_eq!(probe.count("llmperf.rag.stage.duration"), 5_000.0);
}
