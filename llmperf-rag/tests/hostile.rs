//! Retrieval in hostile company: documents and truths that panic or lie, results without measure, caches that fail or come
//! back, judgement from places where nobody expects it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    borrow::Cow,
    cell::RefCell,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, stream};
use llmperf_core::{
    Output,
    stats::{Figure, SeriesKind, Window},
    testing::Probe,
};
use llmperf_rag::{
    Cache, Document, DocumentId, GroundTruth, Index, Query, Retrieved, Work as _, assemble, current_query, embedding,
    first_output, from_cache, generation, pipeline, rerank, retrieval,
};
use opentelemetry::Context;

/// Documents of which nothing can be asked, or that lie about their number.
enum Odd {
    Panics,
    Lies,
}

impl Document for Odd {
    fn id(&self) -> Option<Cow<'_, str>> {
        panic!("id")
    }
}

impl Retrieved for Odd {
    fn count(&self) -> usize {
        usize::MAX
    }

    fn each(&self, see: &mut dyn FnMut(&dyn Document)) {
        match self {
            Self::Panics => see(self),
            Self::Lies => see(&("d1", f64::NAN)),
        }
    }
}

impl GroundTruth for Odd {
    fn each(&self, _: &mut dyn FnMut(&dyn DocumentId, f64)) -> bool {
        panic!("truth")
    }
}

fn stages(probe: &Probe) -> Vec<String> {
    let mut all: Vec<_> = probe
        .points("llmperf.rag.stage.duration")
        .iter()
        .map(|point| {
            format!("{} {} {}", point.attribute("llmperf.rag.stage"), point.attribute("llmperf.outcome"), point.count)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn documents_that_panic_do_so_where_they_are_told_and_fail_the_stage_once() {
    let probe = Probe::new();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        probe.instrumentation().sync_scope(|| {
            let _ = retrieval().search(async { io::Result::Ok(Odd::Panics) }).now_or_never();
        });
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"id"));
    assert_eq!(stages(&probe), ["retrieve error 1"]);
    probe.instrumentation().sync_scope(|| {
        let mut stage = retrieval().k(u64::MAX).start();
        stage.documents(&Odd::Lies);
        let query = stage.query_handle().unwrap();
        stage.complete();
        assert!(catch_unwind(AssertUnwindSafe(|| query.evaluate(&Odd::Panics))).is_err());
        assert_eq!(query.evaluate(&["d1"]).recall, Some(1.0), "no lock stays behind");
    });
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn results_without_measure_are_counted_and_their_scores_told() {
    let probe = Probe::new();
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE, -1e308];
    let documents: Vec<_> = (0..100_000).map(|number| (number, odd[number % odd.len()])).collect();
    let huge = "é".repeat(1 << 20);
    probe.instrumentation().sync_scope(|| {
        pipeline(huge.clone()).in_scope(
            || {
                let mut stage = retrieval().store(huge.clone()).relevant(&documents).top_k(u64::MAX).start();
                stage.documents(&documents);
                stage.complete();
                let mut stage = rerank().candidates(&documents).start();
                documents.iter().rev().for_each(|document| stage.document(document));
                stage.complete();
                let mut stage = retrieval().relevant(&[(huge.as_str(), f64::INFINITY), ("x", -1.0)]).start();
                stage.documents(&[(huge.as_str(), 1.0), (huge.as_str(), 1.0), ("", 0.0)]);
                stage.complete();
            },
            |guard, ()| guard.complete(),
        );
    });
    for metric in probe.metric_names() {
        assert!(probe.points(&metric).iter().all(|point| !point.sum.is_nan()), "{metric}");
    }
    let documents = probe.points("llmperf.rag.documents");
    assert_eq!(documents.iter().map(|point| point.sum).sum::<f64>(), 200_003.0);
    let snapshot = probe.instrumentation().snapshot();
    let text = serde_json::to_string(&snapshot).unwrap();
    assert!(!text.contains("NaN"));
    for series in &snapshot.series {
        for figure in [Figure::Recall, Figure::Precision, Figure::Ndcg, Figure::ReciprocalRank] {
            let of = series.figure(Window::SinceStart, figure);
            assert!(of.is_none_or(|of| (0.0..=1.0).contains(&of.min) && (0.0..=1.0).contains(&of.max)), "{figure:?}");
        }
    }
}

#[test]
fn ten_thousand_names_of_each_kind_stay_within_bounds() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        for number in 0..10_000 {
            let name = format!("n{number}");
            let work = pipeline(name.clone()).label("tenant", name.clone()).label("llmperf.outcome", name.clone());
            work.in_scope(
                || {
                    retrieval()
                        .store(name.clone())
                        .provider(name.clone())
                        .model(name.clone())
                        .k(number)
                        .start()
                        .fail(&name);
                    rerank().model(name.clone()).start().complete();
                    embedding().model(name.clone()).start().complete();
                    generation().name(name.clone()).start().complete();
                    Cache::new(name.clone()).hit();
                    Index::new(name.clone()).documents(number);
                    Index::new(name.clone()).build().start().complete();
                },
                |guard, ()| guard.complete(),
            );
        }
    });
    for metric in probe.metric_names() {
        let points = probe.points(&metric);
        assert!(points.len() <= 2_000, "{metric} has {}", points.len());
        assert!(points.iter().all(|point| point.attribute("otel.metric.overflow").is_empty()), "{metric} overflows");
    }
    let whole: f64 = probe.points("llmperf.rag.pipelines").iter().map(|point| point.sum).sum();
    assert_eq!(whole, 10_000.0);
    assert!(probe.instrumentation().snapshot().series.len() < 4_000);
}

#[test]
fn caches_that_panic_fail_or_come_back_change_nothing_but_counts() {
    let probe = Probe::new();
    let cache = Cache::new("answers").stands_in();
    probe.instrumentation().sync_scope(|| {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pipeline("p").in_scope(|| cache.lookup(|| -> Option<u8> { panic!("cache") }), |guard, _| guard.complete());
        }));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"cache"));
        pipeline("p").in_scope(
            || {
                assert_eq!(cache.lookup(|| cache.lookup(|| cache.lookup(|| Some(7)))), Some(7));
                from_cache();
                from_cache();
            },
            |mut guard, ()| {
                guard.from_cache();
                guard.complete();
            },
        );
        from_cache();
        first_output();
        assert!(current_query().is_none());
        let mut late = retrieval().start();
        late.from_cache();
        late.complete();
        from_cache();
        let mut dropped = Box::pin(cache.lookup_in(std::future::pending::<Option<u8>>()));
        assert!(dropped.as_mut().now_or_never().is_none());
    });
    let lookups = probe.points("llmperf.rag.cache.lookups");
    assert_eq!(
        lookups.iter().map(|point| (point.attribute("llmperf.cache.result"), point.sum)).collect::<Vec<_>>(),
        [("hit", 3.0)]
    );
    let pipelines: f64 = probe.points("llmperf.rag.pipelines").iter().map(|point| point.sum).sum();
    assert_eq!((pipelines, probe.instrumentation().live_calls()), (2.0, 0));
}

thread_local! {
    static KEPT: RefCell<Option<Late>> = const { RefCell::new(None) };
}

/// Judges in the destructor of a thread-local.
struct Late(Query);

impl Drop for Late {
    fn drop(&mut self) {
        assert_eq!(self.0.evaluate(&["d1"]).recall, Some(1.0));
        self.0.score("late", 1.0);
        from_cache();
        first_output();
        Cache::new("late").miss();
        Index::new("late").size(1);
        let mut stage = retrieval().relevant(&["d1"]).start();
        stage.documents(&[("d1", 1.0)]);
        stage.complete();
    }
}

#[test]
fn a_query_is_judged_from_anywhere_and_at_any_time() {
    let probe = Probe::new();
    let query = probe.instrumentation().sync_scope(|| {
        let mut stage = retrieval().store("s").start();
        stage.documents(&[("d1", 0.5)]);
        let query = stage.query_handle().unwrap();
        assert_eq!(query.evaluate(&["d1"]).recall, Some(1.0), "before it ended");
        std::mem::forget(stage);
        query
    });
    let (late, instrumentation) = (Late(query.clone()), probe.instrumentation().clone());
    let panics = thread::spawn(move || {
        KEPT.with_borrow_mut(|kept| {
            // The thread's context is destroyed before what was there before it.
            instrumentation.sync_scope(|| *kept = Some(late));
        });
    })
    .join();
    assert!(panics.is_ok());
    let caught = probe.points("llmperf.internal.events");
    assert!(caught.iter().all(|point| point.attribute("llmperf.internal.kind") != "caught_panic"), "{caught:?}");
    Context::map_current(|_| assert_eq!(query.evaluate(&["d1"]).recall, Some(1.0)));
    probe.tracer_provider().shutdown().unwrap();
    assert_eq!(query.evaluate(&["d1"]).recall, Some(1.0));
    let recalls = probe.instrumentation().snapshot();
    let recall = recalls.get(SeriesKind::Stage, "retrieve", "s").unwrap().figure(Window::SinceStart, Figure::Recall);
    assert_eq!(recall.unwrap().count, 4, "each call records");
}

#[test]
fn a_generation_that_streams_without_end_in_odd_ways_is_recorded_once() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let open = |items: stream::BoxStream<'static, u8>| {
            let opened = generation()
                .provider("p")
                .model("m")
                .open_with(async move { io::Result::Ok(items) }, |_: &u8| Output::text("x"));
            opened.now_or_never().unwrap().unwrap()
        };
        let mut endless = open(stream::repeat(1).boxed());
        assert_eq!(endless.next().now_or_never(), Some(Some(1)));
        drop(endless);
        let mut silent = open(stream::pending().boxed());
        assert_eq!(silent.next().now_or_never(), None);
        drop(silent);
        let mut panicking = open(stream::poll_fn(|_| panic!("poll")).boxed());
        assert!(catch_unwind(AssertUnwindSafe(|| panicking.next().now_or_never())).is_err());
        drop(panicking);
        let mut odd = open(
            stream::poll_fn({
                let mut polls = 0;
                move |_| {
                    polls += 1;
                    std::task::Poll::Ready((polls != 2).then_some(polls))
                }
            })
            .boxed(),
        );
        for expected in [Some(1), None, Some(3), Some(4)] {
            assert_eq!(odd.next().now_or_never(), Some(expected));
        }
        drop(odd);
        let moved = open(stream::iter([1, 2]).boxed());
        let items = thread::spawn(|| futures::executor::block_on(moved.collect::<Vec<_>>())).join().unwrap();
        assert_eq!(items, [1, 2]);
    });
    let counts = stages(&probe);
    assert_eq!(counts, ["generate cancelled 2", "generate complete 2", "generate error 1"]);
    assert_eq!(probe.spans().len(), 5);
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn pipelines_and_stages_that_each_start_the_next_let_go_of_what_is_over() {
    let probe = Probe::with(|builder| builder.tracer_provider(&opentelemetry_sdk::trace::SdkTracerProvider::default()));
    let mut before = probe.instrumentation().sync_scope(|| (pipeline("p").start(), retrieval().start()));
    for _ in 0..3_000 {
        let _current = before.1.context().attach();
        let pipeline = pipeline("p").start();
        let _inside = pipeline.context().attach();
        let next = (pipeline, retrieval().start());
        let (pipeline, stage) = std::mem::replace(&mut before, next);
        stage.complete();
        pipeline.complete();
    }
    drop(before);
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn time_that_stands_still_or_is_dropped_midway_divides_nothing_by_nothing() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        pipeline("still").in_scope(
            || {
                retrieval().start().complete();
                assemble().start().complete();
                drop(Index::new("i").build().start());
                let mut building = Box::pin(Index::new("i").build().run(std::future::pending::<io::Result<()>>()));
                assert!(building.as_mut().now_or_never().is_none());
            },
            |guard, ()| guard.complete(),
        );
        for number in 0..6_000_u64 {
            let stage = retrieval().start();
            probe.clock().advance(Duration::from_secs(1));
            if number % 2 == 0 {
                probe.clock().set_wall_back(Duration::from_secs(3_600));
            }
            stage.complete();
        }
    });
    let share = probe.points("llmperf.rag.retrieval.share");
    assert!(share.is_empty(), "{share:?}");
    let text = probe.instrumentation().snapshot().diagnose().to_string();
    assert!(!text.contains("NaN"), "{text}");
    let hour = probe.instrumentation().snapshot();
    let hour = hour.get(SeriesKind::Stage, "retrieve", "").unwrap().window(Window::OneHour).unwrap();
    assert!((3_250..=3_610).contains(&hour.outcomes.complete), "{}", hour.outcomes.complete);
}
