//! Each stage by itself: its span, its metrics, its place in the statistics.

use std::io;

use llmperf_core::{
    Slo,
    stats::{Figure, SeriesKind},
    testing::Probe,
};
use llmperf_rag::{Verdict, Work as _, assemble, embedding, generation, pipeline, rerank, retrieval};
use opentelemetry::trace::SpanKind;

use crate::bench::{attribute, figure, in_millis, millis, point, span, takes, under};

const DOCUMENTS: [(&str, f32); 3] = [("d1", 0.75), ("d2", 0.5), ("d3", 0.0)];

#[test]
fn a_retrieval_is_a_client_span_by_the_convention() {
    let probe = Probe::new();
    let search = retrieval().store("qdrant").provider("qdrant.cloud").model("ada").top_k(8);
    let found = under(&probe, || {
        search.label("tenant", "acme").search(async {
            takes(probe.clock(), 40).await;
            io::Result::Ok(DOCUMENTS)
        })
    });
    assert_eq!(found.unwrap(), DOCUMENTS);
    let span = probe.span();
    assert_eq!((span.name.as_ref(), span.span_kind.clone()), ("retrieval qdrant", SpanKind::Client));
    let expected = [
        ("gen_ai.operation.name", "retrieval"),
        ("gen_ai.data_source.id", "qdrant"),
        ("gen_ai.provider.name", "qdrant.cloud"),
        ("gen_ai.request.model", "ada"),
        ("gen_ai.retrieval.top_k", "8"),
        ("llmperf.rag.stage", "retrieve"),
        ("llmperf.rag.documents", "3"),
        ("llmperf.rag.score.top", "0.75"),
        ("llmperf.rag.score.lowest", "0"),
        ("llmperf.outcome", "complete"),
        ("tenant", "acme"),
        ("error.type", ""),
        ("gen_ai.retrieval.documents", ""),
    ];
    for (key, value) in expected {
        assert_eq!(attribute(&span, key), value, "{key}");
    }
    let convention = point(&probe, "gen_ai.client.operation.duration");
    let keys: Vec<_> = convention.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(
        keys,
        ["gen_ai.operation.name=retrieval", "gen_ai.provider.name=qdrant.cloud", "gen_ai.request.model=ada"]
    );
}

#[test]
fn a_stage_records_its_duration_by_its_names_and_outcome() {
    let probe = Probe::new();
    under(&probe, || async {
        let stage = retrieval().store("qdrant").label("tenant", "acme");
        let _: Result<(), _> = stage
            .run(async {
                takes(probe.clock(), 40).await;
                Err(io::Error::other("no"))
            })
            .await;
    });
    let stage = point(&probe, "llmperf.rag.stage.duration");
    let keys: Vec<_> = stage.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(
        keys,
        ["llmperf.outcome=error", "llmperf.rag.stage=retrieve", "llmperf.rag.store=qdrant", "tenant=acme"]
    );
    assert_eq!(in_millis(&probe, "llmperf.rag.stage.duration"), 40);
    let from = probe.instrumentation();
    assert_eq!(from.snapshot().series[0].kind, SeriesKind::Stage);
    let (count, mean) = figure(from, SeriesKind::Stage, "retrieve", "qdrant", Figure::Duration).unwrap();
    assert!(count == 1 && (mean - 0.04).abs() < 0.001, "{mean}");
}

#[test]
fn a_retrieval_outside_any_pipeline_is_a_retrieval_latency_and_a_rerank_alone_is_none() {
    let probe = Probe::with(|builder| builder.slos(Slo::standard()));
    under(&probe, || async {
        retrieval()
            .store("qdrant")
            .search(async {
                takes(probe.clock(), 40).await;
                io::Result::Ok(DOCUMENTS)
            })
            .await
            .unwrap();
        rerank()
            .model("bge")
            .reorder(async {
                takes(probe.clock(), 70).await;
                io::Result::Ok(DOCUMENTS)
            })
            .await
            .unwrap();
    });
    let latency = point(&probe, "llmperf.rag.retrieval.duration");
    assert_eq!((latency.count, latency.attribute("llmperf.rag.store")), (1, "qdrant"));
    assert_eq!(in_millis(&probe, "llmperf.rag.retrieval.duration"), 40);
    let judged = point(&probe, "llmperf.slo.events");
    assert_eq!((judged.attribute("llmperf.slo.name"), judged.attribute("llmperf.slo.met")), ("retrieval", "true"));
}

#[test]
fn a_retrieval_inside_a_pipeline_is_none_by_itself() {
    let probe = Probe::new();
    under(&probe, || {
        pipeline("support").run(async {
            retrieval()
                .store("a")
                .search(async {
                    takes(probe.clock(), 40).await;
                    io::Result::Ok(DOCUMENTS)
                })
                .await?;
            retrieval()
                .store("b")
                .search(async {
                    takes(probe.clock(), 30).await;
                    io::Result::Ok(DOCUMENTS)
                })
                .await
        })
    })
    .unwrap();
    let latency = point(&probe, "llmperf.rag.retrieval.duration");
    assert_eq!((latency.count, latency.attribute("llmperf.rag.pipeline.name")), (1, "support"));
    assert_eq!(in_millis(&probe, "llmperf.rag.retrieval.duration"), 70);
    assert!(
        probe
            .points("llmperf.rag.stage.duration")
            .iter()
            .all(|point| { point.attribute("llmperf.rag.pipeline.name") == "support" })
    );
}

#[test]
fn a_rerank_says_what_it_was_given_and_what_it_moved() {
    let probe = Probe::new();
    let after = [("d2", 3.5), ("d1", 1.5), ("d3", f64::NAN)];
    let stage = rerank().model("bge").candidates(&DOCUMENTS);
    under(&probe, || stage.reorder(async { io::Result::Ok(after) })).unwrap();
    let span = span(&probe, "rerank bge");
    assert_eq!(span.span_kind, SpanKind::Internal);
    let expected = [
        ("llmperf.rag.stage", "rerank"),
        ("llmperf.rag.candidates", "3"),
        ("llmperf.rag.candidates.score.top", "0.75"),
        ("llmperf.rag.candidates.score.lowest", "0"),
        ("llmperf.rag.documents", "3"),
        ("llmperf.rag.score.top", "3.5"),
        ("llmperf.rag.score.lowest", "1.5"),
        ("gen_ai.operation.name", ""),
    ];
    for (key, value) in expected {
        assert_eq!(attribute(&span, key), value, "{key}");
    }
    assert!((point(&probe, "llmperf.rag.moved").sum - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(point(&probe, "llmperf.rag.candidates").sum, 3.0);
    assert!(probe.points("gen_ai.client.operation.duration").is_empty(), "the convention has no rerank");
}

#[test]
fn a_rerank_whose_documents_have_no_ids_claims_nothing_about_their_order() {
    let probe = Probe::new();
    struct Bare;
    impl llmperf_rag::Document for Bare {}
    under(&probe, || rerank().candidates(&[Bare, Bare]).reorder(async { io::Result::Ok([Bare]) })).unwrap();
    assert!(probe.points("llmperf.rag.moved").is_empty());
    assert_eq!(point(&probe, "llmperf.rag.documents").sum, 1.0);
}

#[test]
fn stages_without_a_model_are_internal_spans() {
    let probe = Probe::new();
    under(&probe, || async {
        embedding().run(async { io::Result::Ok(()) }).await.unwrap();
        assemble().in_scope(|| (), |guard, ()| guard.complete());
        generation().name("draft").run(async { io::Result::Ok(()) }).await.unwrap();
    });
    assert_eq!(probe.tree(), "assemble\nembed\ngenerate draft\n");
    for span in probe.spans() {
        assert_eq!(span.span_kind, SpanKind::Internal);
    }
    let stages = probe.points("llmperf.rag.stage.duration");
    assert_eq!(stages.len(), 3);
    assert!(probe.points("llmperf.client.calls").is_empty());
}

#[test]
fn names_of_stores_are_capped_on_metrics_and_whole_on_spans() {
    let probe = Probe::with(|builder| builder.name_cap(2));
    under(&probe, || async {
        for store in ["a", "b", "c", "d"] {
            retrieval().store(store).search(async { io::Result::Ok(DOCUMENTS) }).await.unwrap();
        }
    });
    let mut stores: Vec<_> = probe
        .points("llmperf.rag.stage.duration")
        .iter()
        .map(|point| format!("{} {}", point.attribute("llmperf.rag.store"), point.count))
        .collect();
    stores.sort();
    assert_eq!(stores, ["_other 2", "a 1", "b 1"]);
    assert_eq!(attribute(&span(&probe, "retrieval d"), "gen_ai.data_source.id"), "d");
}

#[test]
fn a_k_that_follows_the_input_does_not_make_a_series_each() {
    let probe = Probe::new();
    under(&probe, || async {
        for k in [5_u64, 2_000, 3_000] {
            let stage = retrieval().store("a").k(k).relevant(&["d1"]);
            stage.search(async { io::Result::Ok(DOCUMENTS) }).await.unwrap();
        }
    });
    let mut ks: Vec<_> =
        probe.points("llmperf.rag.recall").iter().map(|point| point.attribute("llmperf.rag.k").to_owned()).collect();
    ks.sort();
    assert_eq!(ks, ["1000", "5"]);
}

#[test]
fn nothing_is_recorded_of_what_was_never_armed_or_while_measuring_is_off() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        drop(retrieval().store("qdrant"));
        drop(pipeline("support").run(async { io::Result::Ok(()) }));
    });
    assert!(probe.spans().is_empty() && probe.metric_names().is_empty());
}

#[test]
fn a_deadline_that_has_passed_makes_a_drop_an_error() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let stage = retrieval().store("a").deadline(millis(50)).start();
        probe.clock().advance(millis(60));
        drop(stage);
        let stage = retrieval().store("b").deadline(millis(50)).start();
        probe.clock().advance(millis(40));
        drop(stage);
    });
    assert_eq!(attribute(&span(&probe, "retrieval a"), "error.type"), "timeout");
    assert_eq!(attribute(&span(&probe, "retrieval b"), "llmperf.outcome"), "cancelled");
}

#[test]
fn of_two_verdicts_the_first_stands() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut stage = retrieval().store("a").start();
        stage.judge(Verdict::failed("quota"));
        stage.complete();
    });
    assert_eq!(attribute(&probe.span(), "error.type"), "quota");
}
