//! The application's caches, and the index behind a search.

use std::io;

use llmperf_core::{
    stats::{Figure, SeriesKind},
    testing::Probe,
};
use llmperf_rag::{Cache, Index, Output, Work as _, embedding, generation, pipeline, retrieval};
use opentelemetry::trace::SpanKind;

use crate::bench::{attribute, figure, in_millis, point, span, takes, under};

fn lookups(probe: &Probe) -> Vec<String> {
    let mut all: Vec<_> = probe
        .points("llmperf.rag.cache.lookups")
        .iter()
        .map(|point| {
            let [cache, result] = ["llmperf.cache.name", "llmperf.cache.result"].map(|key| point.attribute(key));
            format!("{cache} {result} {}", point.sum)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn each_lookup_counts_as_hit_or_miss_by_its_cache() {
    let probe = Probe::new();
    under(&probe, || async {
        let (vectors, answers) = (Cache::new("vectors"), Cache::new(String::from("answers")));
        assert_eq!(vectors.lookup(|| Some(1)), Some(1));
        assert_eq!(vectors.lookup(|| Some(2)), Some(2));
        assert_eq!(vectors.lookup(|| None::<u8>), None);
        assert_eq!(answers.lookup_in(async { None::<u8> }).await, None);
        assert_eq!(answers.try_lookup_in(async { io::Result::Ok(Some(3)) }).await.unwrap(), Some(3));
        let broken = answers.try_lookup_in(async { Err::<Option<u8>, _>(io::Error::other("down")) }).await;
        assert!(broken.is_err(), "errors pass, and are misses: the application has to do without");
    });
    assert_eq!(lookups(&probe), ["answers hit 1", "answers miss 2", "vectors hit 2", "vectors miss 1"]);
}

#[test]
fn the_stage_around_a_lookup_says_how_it_went_and_no_more() {
    let probe = Probe::new();
    under(&probe, || {
        pipeline("support").run(async {
            retrieval()
                .store("qdrant")
                .search(async {
                    Cache::new("semantic").lookup(|| Some(()));
                    io::Result::Ok([("d1", 1.0)])
                })
                .await
        })
    })
    .unwrap();
    let stage = span(&probe, "retrieval qdrant");
    assert_eq!(attribute(&stage, "llmperf.cache.name"), "semantic");
    assert_eq!(attribute(&stage, "llmperf.cache.result"), "hit");
    assert_eq!(attribute(&stage, "llmperf.rag.from_cache"), "");
    assert_eq!(attribute(&span(&probe, "pipeline support"), "llmperf.rag.from_cache"), "");
}

#[test]
fn a_hit_of_a_cache_that_stands_in_withdraws_the_call_of_the_stage() {
    let probe = Probe::new();
    under(&probe, || async {
        let cache = Cache::new("vectors").stands_in();
        for vector in [Some(1), None] {
            let stage = embedding().provider("openai").model("ada");
            let request = async { io::Result::Ok(cache.lookup(|| vector).unwrap_or(2)) };
            stage.answer_with(request, |_| Output::usage(7, 0)).await.unwrap();
        }
    });
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(probe.tree(), "embed\nembeddings ada\n");
    assert_eq!(attribute(&span(&probe, "embed"), "llmperf.cache.result"), "hit");
    assert_eq!(attribute(&span(&probe, "embeddings ada"), "llmperf.cache.result"), "miss");
    let stages = probe.points("llmperf.rag.stage.duration");
    let cached: Vec<_> = stages.iter().map(|point| point.attribute("llmperf.rag.from_cache").to_owned()).collect();
    assert!(cached.contains(&"true".into()) && cached.contains(&String::new()), "{cached:?}");
}

#[test]
fn documents_from_a_cache_stay_out_of_the_stores_latency() {
    let probe = Probe::new();
    under(&probe, || async {
        for from_cache in [true, false] {
            let search = retrieval().store("qdrant").run_then(async {}, |mut guard, ()| {
                if from_cache {
                    guard.from_cache();
                }
                guard.complete();
            });
            search.await;
        }
    });
    assert_eq!(probe.count("gen_ai.client.operation.duration"), 1.0);
    for metric in ["llmperf.rag.retrieval.duration", "llmperf.rag.stage.duration"] {
        let points = probe.points(metric);
        let cached = points.iter().filter(|point| point.attribute("llmperf.rag.from_cache") == "true").count();
        assert_eq!((points.len(), cached), (2, 1), "{metric}");
    }
}

#[test]
fn a_vector_from_a_cache_makes_no_answer_from_a_cache() {
    let probe = Probe::new();
    under(&probe, || {
        pipeline("support").run(async {
            let stage = embedding().provider("openai").model("ada");
            stage
                .run(async {
                    Cache::new("vectors").stands_in().lookup(|| Some(()));
                    io::Result::Ok(())
                })
                .await?;
            generation().provider("openai").model("gpt").run(async { io::Result::Ok(()) }).await
        })
    })
    .unwrap();
    assert_eq!(attribute(&span(&probe, "embed"), "llmperf.rag.from_cache"), "true");
    assert_eq!(attribute(&span(&probe, "pipeline support"), "llmperf.rag.from_cache"), "");
}

#[test]
fn an_answer_found_before_any_generation_marks_the_pipeline_also_inside_a_stage_of_another() {
    let probe = Probe::new();
    under(&probe, || {
        pipeline("outer").run(async {
            let inner = || {
                pipeline("inner").run(async {
                    Cache::new("answers").stands_in().lookup(|| Some(()));
                    io::Result::Ok([("d1", 1.0)])
                })
            };
            retrieval().store("agentic").search(async { inner().await }).await
        })
    })
    .unwrap();
    assert_eq!(attribute(&span(&probe, "pipeline inner"), "llmperf.rag.from_cache"), "true");
    assert_eq!(attribute(&span(&probe, "pipeline outer"), "llmperf.rag.from_cache"), "");
    assert_eq!(attribute(&span(&probe, "retrieval agentic"), "llmperf.rag.from_cache"), "");
}

#[test]
fn outside_of_any_pipeline_a_lookup_counts_and_marks_nothing() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        Cache::new("answers").stands_in().hit();
        llmperf_rag::from_cache();
    });
    assert_eq!(lookups(&probe), ["answers hit 1"]);
}

#[test]
fn an_index_shows_its_size_and_how_long_until_what_was_added_is_found() {
    let probe = Probe::new();
    under(&probe, || async {
        let index = Index::new("qdrant");
        index.documents(500_000);
        index.documents(1_200_000);
        index.size(6_442_450_944);
        let build = index.build().label("tenant", "acme");
        let added = build.run_then(
            async {
                takes(probe.clock(), 90_000).await;
                700_000
            },
            |mut guard, added| {
                guard.documents(added);
                guard.complete();
                added
            },
        );
        assert_eq!(added.await, 700_000);
    });
    let documents = point(&probe, "llmperf.rag.index.documents");
    assert_eq!((documents.sum, documents.attribute("llmperf.rag.store")), (1_200_000.0, "qdrant"));
    assert_eq!(point(&probe, "llmperf.rag.index.size").sum, 6_442_450_944.0);
    assert_eq!(in_millis(&probe, "llmperf.rag.index.build.duration"), 90_000);
    let span = probe.span();
    assert_eq!((span.name.as_ref(), span.span_kind.clone()), ("index qdrant", SpanKind::Internal));
    assert_eq!(attribute(&span, "llmperf.rag.documents"), "700000");
    let from = probe.instrumentation();
    assert!(figure(from, SeriesKind::Stage, "index", "qdrant", Figure::Duration).is_some());
    assert!(probe.points("llmperf.rag.stage.duration").is_empty(), "a build is no stage of a pipeline");
}

#[test]
fn a_build_that_fails_is_told_from_one_that_is_searchable() {
    let probe = Probe::new();
    under(&probe, || Index::new("a").build().run(async { Err::<(), _>(io::Error::other("disk")) })).unwrap_err();
    assert_eq!(point(&probe, "llmperf.rag.index.build.duration").attribute("llmperf.outcome"), "error");
}
