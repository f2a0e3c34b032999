//! What users of other SDKs reported of retrieval, context and caches, as `peers` section 3 numbers it: each must come out right
//! here. Reports on streams, tokens, latency and attempts are core's, on agents and tools the agent part's, on devices the
//! GPU part's; a stage that is a measured call has what core has.

use std::{io, pin::pin};

use futures::{StreamExt as _, future::join_all, stream};
use llmperf_core::{Capture, InCurrentScope as _, testing::Probe};
use llmperf_rag::{Output, Verdict, Work as _, generation, pipeline, retrieval};

use crate::bench::{attribute, point, span, takes, under};

/// 1, 11: a stream that is left early never ended its span.
#[test]
fn report_1_and_11_an_abandoned_answer_ends_stage_and_pipeline_as_cancelled() {
    let probe = Probe::new();
    under(&probe, || async {
        let pipeline = pipeline("support").start();
        let stage = pipeline.context();
        let request = async { io::Result::Ok(stream::iter(["a", "b"])) };
        let open = opentelemetry::context::FutureExt::with_context(
            async { generation().provider("openai").model("gpt").open_with(request, |item| Output::text(item)).await },
            stage,
        );
        let answer = open.await.unwrap();
        let mut answer = pin!(pipeline.stream(answer, |guard, _| guard.output()));
        answer.next().await;
    });
    assert_eq!(probe.tree(), "pipeline support\n  chat gpt\n");
    for span in probe.spans() {
        assert_eq!(attribute(&span, "llmperf.outcome"), "cancelled");
    }
    assert_eq!(point(&probe, "llmperf.rag.time_to_first_output").count, 1, "with what was seen so far");
}

/// 3: a failure was overwritten by a later success.
#[test]
fn report_3_what_failed_stays_failed() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut stage = retrieval().start();
        stage.judge(Verdict::failed("shard_down"));
        stage.end(Verdict::Complete);
    });
    assert_eq!(attribute(&probe.span(), "error.type"), "shard_down");
}

/// 5: a span was ended twice.
#[test]
fn report_5_a_stage_is_recorded_once_however_often_it_is_judged() {
    let probe = Probe::new();
    under(&probe, || {
        generation().provider("openai").model("gpt").run_then(async { "dry" }, |mut guard, answer| {
            guard.answered(|| Output::text(answer));
            guard.answered(|| Output::text(answer));
            guard.judge(Verdict::Complete);
            guard.complete();
        })
    });
    assert_eq!((probe.spans().len(), probe.count("llmperf.client.calls")), (1, 1.0));
    assert_eq!(probe.count("llmperf.rag.stage.duration"), 1.0);
}

/// 6: a cancellation was an error.
#[test]
fn report_6_a_cancelled_search_is_no_error() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| drop(retrieval().start()));
    assert_eq!(probe.tree(), "retrieval\n", "no error status");
}

/// 10: the span ended when the stream was handed out.
#[test]
fn report_10_the_stage_lasts_as_long_as_its_stream() {
    let probe = Probe::new();
    under(&probe, || async {
        let stage = retrieval().store("scroll").start();
        let clock = probe.clock().clone();
        let pages = stream::iter([1, 2, 3]).then(move |page| {
            clock.advance(crate::bench::millis(100));
            std::future::ready(page)
        });
        let mut pages = pin!(stage.stream(pages, |_, _| {}));
        while pages.next().await.is_some() {}
    });
    assert_eq!(crate::bench::in_millis(&probe, "llmperf.rag.stage.duration"), 300);
}

/// 12: turning measuring on changed what the application got.
#[test]
fn report_12_items_and_errors_pass_as_they_are() {
    let probe = Probe::new();
    let result =
        under(&probe, || retrieval().search(async { Err::<[(&str, f32); 0], _>(io::Error::other("as it was")) }));
    assert_eq!(result.unwrap_err().to_string(), "as it was");
}

/// 23: usage stood on a span around the call as well, and was added up twice.
#[test]
fn report_23_usage_stands_on_the_call_alone() {
    let probe = Probe::new();
    under(&probe, || {
        pipeline("support").run(async {
            let stage = generation().provider("openai").model("gpt");
            stage.answer_with(async { io::Result::Ok(()) }, |()| Output::usage(70, 5)).await
        })
    })
    .unwrap();
    let with_usage =
        probe.spans().iter().filter(|span| !attribute(span, "gen_ai.usage.input_tokens").is_empty()).count();
    assert_eq!(with_usage, 1);
}

/// 27, 28: labels without bounds; a message as `error.type`.
#[test]
fn report_27_and_28_names_and_errors_on_metrics_are_bounded() {
    let probe = Probe::with(|builder| builder.name_cap(3));
    probe.instrumentation().sync_scope(|| {
        for number in 0..50 {
            pipeline(format!("p{number}")).start().fail(&format!("request {number} timed out"));
        }
    });
    let points = probe.points("llmperf.rag.pipelines");
    assert_eq!(points.len(), 4, "{points:?}");
    assert!(points.iter().all(|point| point.attribute("error.type") == "_OTHER"));
}

/// 29: failures had no duration, so error rates were wrong.
#[test]
fn report_29_a_duration_is_recorded_for_every_outcome() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        pipeline("a").start().complete();
        pipeline("a").start().fail("quota");
        drop(pipeline("a").start());
    });
    let mut outcomes: Vec<_> = probe
        .points("llmperf.rag.pipeline.duration")
        .iter()
        .map(|point| point.attribute("llmperf.outcome").to_owned())
        .collect();
    outcomes.sort();
    assert_eq!(outcomes, ["cancelled", "complete", "error"]);
}

/// 30: a span that was entered across polls leaked into other tasks of the thread.
#[test]
fn report_30_stages_that_take_turns_on_a_thread_do_not_adopt_each_others_spans() {
    let probe = Probe::new();
    under(&probe, || async {
        let one = |name: &'static str| async move {
            pipeline(name)
                .run(async {
                    tokio::task::yield_now().await;
                    retrieval()
                        .store(name)
                        .search(async {
                            tokio::task::yield_now().await;
                            io::Result::Ok([("d", 1.0)])
                        })
                        .await
                })
                .await
        };
        join_all([one("a"), one("b"), one("c")]).await;
    });
    for name in ["a", "b", "c"] {
        let inner = span(&probe, &format!("retrieval {name}"));
        assert_eq!(inner.parent_span_id, span(&probe, &format!("pipeline {name}")).span_context.span_id());
    }
}

/// 31: work in spawned tasks lost its parent.
#[test]
fn report_31_a_spawned_search_belongs_to_its_pipeline_where_the_scope_is_carried() {
    let probe = Probe::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(probe.instrumentation().scope(async {
        let work = async {
            let search = async { retrieval().store("a").search(async { io::Result::Ok([("d", 1.0)]) }).await };
            tokio::spawn(search.in_current_scope()).await.unwrap()
        };
        pipeline("support").run(work).await.unwrap();
    }));
    assert_eq!(probe.spans().len(), 2);
    assert_eq!(span(&probe, "retrieval a").parent_span_id, span(&probe, "pipeline support").span_context.span_id());
}

/// 32: in streaming mode inner spans were siblings of the outer one.
#[test]
fn report_32_what_a_lazy_stream_sets_off_is_inside_the_pipeline_that_gave_it() {
    let probe = Probe::new();
    under(&probe, || async {
        let lazy = stream::once(async { retrieval().store("a").search(async { io::Result::Ok([("d", 1.0)]) }).await });
        let stream = pipeline("support").start().stream(lazy, |_, _| {});
        assert_eq!(stream.collect::<Vec<_>>().await.len(), 1);
    });
    assert_eq!(probe.tree(), "pipeline support\n  retrieval a\n");
}

/// 33: parallel work nested in one another.
#[test]
fn report_33_parallel_searches_are_siblings() {
    let probe = Probe::new();
    under(&probe, || {
        pipeline("support").run(async {
            let all = ["a", "b", "c"].map(|store| {
                retrieval().store(store).run(async {
                    takes(probe.clock(), 1).await;
                    io::Result::Ok(())
                })
            });
            join_all(all).await.into_iter().collect::<io::Result<Vec<()>>>()
        })
    })
    .unwrap();
    assert!(probe.tree().lines().skip(1).all(|line| line.starts_with("  retrieval")), "{}", probe.tree());
}

/// 36: content was captured by default.
#[test]
fn report_36_documents_and_queries_are_not_captured_unless_asked() {
    let probe = Probe::with(|builder| builder.capture(Capture::off()));
    under(&probe, || {
        pipeline("support")
            .query("my secret")
            .run(retrieval().query("my secret").search(async { io::Result::Ok([("secret", 1.0)]) }))
    })
    .unwrap();
    assert!(!format!("{:?}", probe.spans()).contains("secret"));
}

/// 38: a failure of the instrumentation broke the application's call.
#[test]
fn report_38_a_callback_that_panics_while_a_stage_ends_harms_nobody() {
    let capture = Capture::on_spans().redact(|_| std::panic::resume_unwind(Box::new(())));
    let probe = Probe::with(|builder| builder.capture(capture));
    let found = under(&probe, || {
        pipeline("support").query("q").run(retrieval().query("q").search(async { io::Result::Ok([("d", 1.0)]) }))
    });
    assert_eq!(found.unwrap(), [("d", 1.0)]);
    assert_eq!(probe.count("llmperf.rag.stage.duration"), 1.0);
}
