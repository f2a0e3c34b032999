//! Documents and their quality: what is counted, what is scored, what is judged, now or later.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    io,
    sync::Arc,
};

use llmperf_core::{
    Capture,
    stats::{Figure, SeriesKind},
    testing::Probe,
};
use llmperf_rag::{Document, GroundTruth, Retrieved, Work as _, current_query, quality::Quality, rerank, retrieval};

use crate::bench::{attribute, figure, point, span, under};

fn score(ranked: &(impl Retrieved + ?Sized)) -> (usize, Vec<Option<f64>>) {
    let mut scores = Vec::new();
    ranked.each(&mut |document| scores.push(document.score()));
    (ranked.count(), scores)
}

#[test]
fn the_usual_collections_of_pairs_are_documents() {
    let pairs = [("a", 0.5_f32), ("b", 0.25)];
    let expected = (2, vec![Some(0.5), Some(0.25)]);
    assert_eq!(score(&pairs), expected);
    assert_eq!(score(&pairs[..]), expected);
    assert_eq!(score(&pairs.to_vec()), expected);
    assert_eq!(score(&VecDeque::from(pairs)), expected);
    assert_eq!(score(&Arc::new(pairs.to_vec())), expected);
    assert_eq!(score(&vec![(0.5_f64, 7_u64), (0.25, 8)]), expected);
    assert_eq!(score(&vec![Arc::new((String::from("a"), 0.5)), Arc::new((String::from("b"), 0.25))]), expected);
}

fn judged(truth: &(impl GroundTruth + ?Sized)) -> Quality {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut stage = retrieval().start();
        stage.documents(&[("a", 0.9), ("x", 0.5), ("b", 0.1)]);
        let query = stage.query_handle().unwrap();
        stage.complete();
        query.evaluate(truth)
    })
}

#[test]
fn ground_truth_is_ids_or_ids_with_grades_in_the_usual_collections() {
    let binary = judged(&["a", "b"]);
    assert_eq!((binary.recall, binary.precision, binary.reciprocal_rank), (Some(1.0), Some(2.0 / 3.0), Some(1.0)));
    assert_eq!(judged(&vec![String::from("a"), String::from("b")]), binary);
    assert_eq!(judged(&BTreeSet::from(["a", "b"])), binary);
    assert_eq!(judged(&Some(["a", "b"])), binary);
    assert_eq!(judged(&HashMap::from([("a", 1.0), ("b", 1.0), ("c", 0.0)])), binary);
    let graded = judged(&[("a", 3_u8), ("b", 1)]);
    assert_eq!(judged(&BTreeMap::from([("a", 3_u8), ("b", 1)])), graded);
    assert!(graded.ndcg > binary.ndcg);
    assert_eq!(judged(&None::<[&str; 1]>), Quality::default(), "nobody has labelled it");
    assert_eq!(judged(&[""; 0]), Quality::default(), "nothing is relevant");
}

#[test]
fn integers_are_the_same_ids_whatever_their_type() {
    let probe = Probe::new();
    under(&probe, || async {
        let stage = retrieval().k(2_u64).relevant(&[7_u32]);
        stage.search(async { io::Result::Ok(vec![(0.9_f32, 3_i64), (0.5, 7)]) }).await.unwrap();
    });
    assert_eq!(point(&probe, "llmperf.rag.recall").sum, 1.0);
    assert_eq!(point(&probe, "llmperf.rag.reciprocal_rank").sum, 0.5);
}

#[test]
fn quality_that_is_known_at_once_goes_to_metrics_statistics_and_span() {
    let probe = Probe::new();
    under(&probe, || async {
        let stage = retrieval().store("qdrant").top_k(4).relevant(&["d1", "d9"]);
        stage.search(async { io::Result::Ok([("d7", 0.9), ("d1", 0.5)]) }).await.unwrap();
    });
    let span = probe.span();
    let expected = [("llmperf.rag.recall", 0.5), ("llmperf.rag.precision", 0.25), ("llmperf.rag.reciprocal_rank", 0.5)];
    for (name, value) in expected {
        assert_eq!(attribute(&span, name), value.to_string());
        let found = point(&probe, name);
        assert_eq!((found.sum, found.attribute("llmperf.rag.k")), (value, "4"));
    }
    // DCG = 1 / log2(3); the best order has 1 + 1 / log2(3).
    let second = 1.0 / 3_f64.log2();
    assert!((point(&probe, "llmperf.rag.ndcg").sum - second / (1.0 + second)).abs() < 1e-12);
    let (count, recall) =
        figure(probe.instrumentation(), SeriesKind::Stage, "retrieve", "qdrant", Figure::Recall).unwrap();
    assert!(count == 1 && (recall - 0.5).abs() < 0.01);
}

#[test]
fn quality_that_is_known_later_is_recorded_as_if_it_had_been_known() {
    let record = |later: bool| {
        let probe = Probe::new();
        probe.instrumentation().sync_scope(|| {
            let mut stage = retrieval().store("qdrant").k(2_u64).start();
            if !later {
                stage.truth(&["d1"]);
            }
            stage.documents(&[("d7", 0.9), ("d1", 0.5)]);
            let query = stage.query_handle().unwrap();
            stage.complete();
            if later {
                query.evaluate(&["d1"]);
            }
        });
        let names = ["recall", "precision", "reciprocal_rank", "ndcg"];
        let points = names.map(|name| point(&probe, &format!("llmperf.rag.{name}")));
        let figures = [Figure::Recall, Figure::Precision, Figure::ReciprocalRank, Figure::Ndcg];
        let figures =
            figures.map(|which| figure(probe.instrumentation(), SeriesKind::Stage, "retrieve", "qdrant", which));
        assert!(figures.iter().all(Option::is_some));
        (points, figures)
    };
    assert_eq!(record(true), record(false));
}

#[test]
fn quality_that_is_known_later_finds_the_series_of_a_stage_that_has_but_a_name() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut stage = rerank().name("by hand").start();
        stage.documents(&[("d1", 0.5)]);
        let query = stage.query_handle().unwrap();
        stage.complete();
        query.evaluate(&["d1"]);
    });
    let from = probe.instrumentation();
    assert!(figure(from, SeriesKind::Stage, "rerank", "by hand", Figure::Recall).is_some());
    assert_eq!(from.snapshot().series.len(), 1);
}

#[test]
fn code_inside_a_search_gets_its_handle_and_the_handle_knows_the_span() {
    let probe = Probe::new();
    let query = under(&probe, || async {
        let mut handle = None;
        let stage = rerank().model("bge");
        stage
            .reorder(async {
                handle = current_query();
                io::Result::Ok([("d1", 1.0)])
            })
            .await
            .unwrap();
        handle
    });
    let query = query.unwrap();
    assert_eq!(query.evaluate(&["d1"]).recall, Some(1.0));
    let span = span(&probe, "rerank bge");
    assert_eq!(query.span().unwrap(), span.span_context);
    assert!(current_query().is_none(), "outside of any");
}

#[test]
fn documents_without_ids_are_counted_and_not_judged() {
    struct Bare;
    impl Document for Bare {}
    let probe = Probe::new();
    under(&probe, || retrieval().relevant(&["d1"]).search(async { io::Result::Ok([Bare, Bare]) })).unwrap();
    assert_eq!(point(&probe, "llmperf.rag.documents").sum, 2.0);
    assert!(probe.points("llmperf.rag.recall").is_empty());
}

#[test]
fn what_found_nothing_is_judged_as_having_found_nothing() {
    let probe = Probe::new();
    let nothing: [(&str, f32); 0] = [];
    under(&probe, || retrieval().k(5_u64).relevant(&["d1"]).search(async { io::Result::Ok(nothing) })).unwrap();
    assert_eq!(point(&probe, "llmperf.rag.documents").sum, 0.0);
    assert_eq!((point(&probe, "llmperf.rag.recall").count, point(&probe, "llmperf.rag.recall").sum), (1, 0.0));
    assert_eq!(attribute(&probe.span(), "llmperf.rag.score.top"), "");

    let probe = Probe::new();
    under(&probe, || retrieval().relevant(&["d1"]).search(async { io::Result::Ok(nothing) })).unwrap();
    for name in ["recall", "precision", "reciprocal_rank", "ndcg"] {
        let told = point(&probe, &format!("llmperf.rag.{name}"));
        assert_eq!((told.count, told.sum), (1, 0.0), "{name}, where nobody said of how many");
    }
}

struct Passage(&'static str);

impl Document for Passage {
    fn id(&self) -> Option<std::borrow::Cow<'_, str>> {
        Some("p1".into())
    }

    fn score(&self) -> Option<f64> {
        Some(0.5)
    }

    fn text(&self) -> Option<std::borrow::Cow<'_, str>> {
        Some(self.0.into())
    }
}

#[test]
fn query_and_documents_leave_the_process_only_where_content_is_captured() {
    let search = || retrieval().query("secret question").search(async { io::Result::Ok([Passage("secret words")]) });
    let probe = Probe::with(|builder| builder.capture(Capture::off()));
    under(&probe, search).unwrap();
    assert!(!format!("{:?}", probe.spans()).contains("secret"));
    let capture = Capture::on_spans().redact(|text| text.replace("secret", "***").into());
    let probe = Probe::with(|builder| builder.capture(capture));
    under(&probe, search).unwrap();
    let span = probe.span();
    assert_eq!(attribute(&span, "gen_ai.retrieval.query.text"), "*** question");
    // As data: the order of its keys depends on what else is built.
    let documents: serde_json::Value = serde_json::from_str(&attribute(&span, "gen_ai.retrieval.documents")).unwrap();
    assert_eq!(documents, serde_json::json!([{"id": "p1", "score": 0.5, "content": "*** words"}]));
}

#[test]
fn captured_documents_are_bounded_and_a_hook_that_panics_drops_its_text() {
    let long: &'static str = "word ".repeat(10_000).leak();
    let search =
        || retrieval().search(async { Ok::<_, io::Error>((0..500).map(|_| Passage(long)).collect::<Vec<_>>()) });
    let probe = Probe::with(|builder| builder.capture(Capture::on_spans().limit(100)));
    under(&probe, search).unwrap();
    let documents = attribute(&probe.span(), "gen_ai.retrieval.documents");
    assert!(documents.len() < 2_000, "{}", documents.len());
    let probe =
        Probe::with(|builder| builder.capture(Capture::on_spans().redact(|_| std::panic::resume_unwind(Box::new(())))));
    under(&probe, search).unwrap();
    assert!(!attribute(&probe.span(), "gen_ai.retrieval.documents").contains("word"));
    assert_eq!(attribute(&probe.span(), "llmperf.rag.documents"), "500");
}
