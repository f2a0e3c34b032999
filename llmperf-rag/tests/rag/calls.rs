//! Generations and embeddings that are measured calls: one span, one outcome, whichever way they end.

use std::{io, panic, pin::pin};

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{
    Objective, Outcome, Sees, Slo, Usage, chat,
    stats::SeriesKind,
    testing::{ManualClock, Probe},
};
use llmperf_rag::{Output, Verdict, Work as _, embedding, generation, pipeline, retrieval};
use opentelemetry::trace::{SpanKind, TraceContextExt as _, Tracer as _};

use crate::bench::{attribute, in_millis, millis, point, span, takes, under};

/// Items of a stream, each after 100 ms.
fn slowly<T>(clock: &ManualClock, items: Vec<T>) -> impl futures::Stream<Item = T> + use<T> {
    let clock = clock.clone();
    stream::iter(items).then(move |item| {
        clock.advance(millis(100));
        std::future::ready(item)
    })
}

fn ask() -> llmperf_rag::Generation {
    generation().provider("openai").model("gpt-4o-mini")
}

fn outcome_of_stage(probe: &Probe) -> String {
    point(probe, "llmperf.rag.stage.duration").attribute("llmperf.outcome").to_owned()
}

#[test]
fn a_generation_with_a_model_is_one_span_and_a_call() {
    let probe = Probe::new();
    let answer = under(&probe, || {
        ask().label("tenant", "acme").attribute("app.turn", 3_i64).answer_with(
            async {
                takes(probe.clock(), 900).await;
                io::Result::Ok("dry")
            },
            |answer| Output::text(answer).and_usage(Usage::of(70, 5)).and_finish("stop"),
        )
    });
    assert_eq!(answer.unwrap(), "dry");
    let span = probe.span();
    assert_eq!((span.name.as_ref(), span.span_kind.clone()), ("chat gpt-4o-mini", SpanKind::Client));
    let expected = [
        ("llmperf.rag.stage", "generate"),
        ("gen_ai.usage.input_tokens", "70"),
        ("gen_ai.usage.output_tokens", "5"),
        ("tenant", "acme"),
        ("app.turn", "3"),
    ];
    for (key, value) in expected {
        assert_eq!(attribute(&span, key), value, "{key}");
    }
    assert_eq!(in_millis(&probe, "llmperf.client.duration"), 900);
    assert_eq!(in_millis(&probe, "llmperf.rag.stage.duration"), 900);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(point(&probe, "llmperf.client.calls").attribute("gen_ai.request.stream"), "false");
    assert_eq!(probe.points("llmperf.internal.events"), [], "the call is not late");
    let snapshot = probe.instrumentation().snapshot();
    assert!(snapshot.call("openai", "gpt-4o-mini").is_some());
    assert!(snapshot.get(SeriesKind::Stage, "generate", "gpt-4o-mini").is_some());
}

#[test]
fn an_embedding_with_a_model_is_a_call_of_embeddings_with_its_tokens() {
    let probe = Probe::new();
    let stage = embedding().provider("openai").model("ada");
    under(&probe, || stage.answer_with(async { io::Result::Ok(7) }, |tokens| Output::usage(*tokens, 0))).unwrap();
    let span = span(&probe, "embeddings ada");
    assert_eq!(attribute(&span, "llmperf.rag.stage"), "embed");
    assert_eq!(attribute(&span, "gen_ai.operation.name"), "embeddings");
    assert_eq!(attribute(&span, "gen_ai.usage.input_tokens"), "7");
    assert_eq!(point(&probe, "gen_ai.client.operation.duration").attribute("gen_ai.operation.name"), "embeddings");
    assert_eq!(point(&probe, "llmperf.rag.stage.duration").attribute("llmperf.rag.stage"), "embed");
}

#[test]
fn a_stream_inside_a_generation_ends_the_stage_and_has_all_marks_of_a_call() {
    let probe = Probe::new();
    under(&probe, || async {
        let items = slowly(probe.clock(), vec!["a", "b", "c"]);
        let mut answer =
            pin!(ask().open_with(async { io::Result::Ok(items) }, |item| Output::text(item)).await.unwrap());
        assert!(probe.spans().is_empty());
        while answer.next().await.is_some() {}
    });
    assert_eq!(probe.tree(), "chat gpt-4o-mini\n");
    assert_eq!(in_millis(&probe, "llmperf.client.time_to_first_token"), 100);
    assert_eq!(in_millis(&probe, "llmperf.client.duration"), 300);
    assert_eq!(in_millis(&probe, "llmperf.rag.stage.duration"), 300);
    assert_eq!(outcome_of_stage(&probe), "complete");
}

#[test]
fn the_wait_of_the_consumer_is_told_from_the_pace_of_the_model() {
    let probe = Probe::new();
    under(&probe, || async {
        let items = stream::iter(["a", "b", "c"]);
        let mut answer = ask().open_with(async { io::Result::Ok(items) }, |item| Output::text(item)).await.unwrap();
        while answer.next().await.is_some() {
            probe.clock().advance(millis(200));
        }
    });
    let wait = in_millis(&probe, "llmperf.client.consumer_wait");
    assert_eq!(wait, 400);
    assert_eq!(attribute(&probe.span(), "llmperf.consumer_bound"), "true");
}

fn word<'a>(item: &'a &'static str) -> Output<'a> {
    match *item {
        "stop" => Output::finish("stop"),
        text => Output::text(text),
    }
}

/// What the tests below are about: how stage and call ended.
fn ends(probe: &Probe) -> [String; 3] {
    let call = point(probe, "llmperf.client.calls");
    [call.attribute("llmperf.outcome").to_owned(), call.attribute("error.type").to_owned(), outcome_of_stage(probe)]
}

#[test]
fn a_stage_whose_stream_is_dropped_midway_is_cancelled_as_its_call_is() {
    let probe = Probe::new();
    under(&probe, || async {
        let items = slowly(probe.clock(), vec!["a", "b", "c"]);
        let mut answer =
            pin!(ask().open_with(async { io::Result::Ok(items) }, |item| Output::text(item)).await.unwrap());
        answer.next().await;
    });
    assert_eq!(ends(&probe), ["cancelled", "", "cancelled"]);
}

#[test]
fn a_stage_whose_stream_is_dropped_after_its_finish_reason_is_complete() {
    let probe = Probe::new();
    under(&probe, || async {
        let items = slowly(probe.clock(), vec!["a", "stop", "never read"]);
        let mut answer = pin!(ask().open_with(async { io::Result::Ok(items) }, word).await.unwrap());
        answer.next().await;
        answer.next().await;
    });
    assert_eq!(ends(&probe), ["complete", "", "complete"]);
}

#[test]
fn a_stage_whose_stream_ends_without_a_finish_reason_fails_as_its_call_is_interrupted() {
    let probe = Probe::new();
    under(&probe, || async {
        let mut stage = ask().start();
        let call = stage.call();
        let items = slowly(probe.clock(), vec!["a", "b"]);
        let measured =
            llmperf_core::MeasureStream::measure_with(items, call, |item| Output::text(item)).sees(Sees::Finish);
        let mut answer = pin!(stage.stream(measured, |_, _| {}));
        while answer.next().await.is_some() {}
    });
    assert_eq!(ends(&probe), ["interrupted", "stream_interrupted", "error"]);
}

#[test]
fn a_stream_error_fails_stage_and_call_by_the_same_name() {
    let probe = Probe::new();
    under(&probe, || async {
        let items = slowly(probe.clock(), vec![Ok("a"), Err(io::Error::from(io::ErrorKind::InvalidData))]);
        let request = async { io::Result::Ok(items) };
        let mut answer = pin!(ask().try_open_with(request, |item| Output::text(item)).await.unwrap());
        while answer.next().await.is_some() {}
    });
    assert_eq!(ends(&probe), ["error", "std::io::error::Error", "error"]);
}

#[test]
fn a_request_that_fails_fails_both() {
    let probe = Probe::new();
    let request = async { Err::<stream::Empty<&str>, _>(io::Error::from(io::ErrorKind::ConnectionRefused)) };
    assert!(under(&probe, || ask().open(request)).is_err());
    assert_eq!(ends(&probe), ["error", "connection_refused", "error"]);
}

#[test]
fn an_answer_that_says_it_failed_fails_the_stage_though_it_came() {
    let probe = Probe::new();
    let request = async { io::Result::Ok(()) };
    under(&probe, || ask().answer_with(request, |()| Output::error("content_filter"))).unwrap();
    assert_eq!(ends(&probe), ["error", "content_filter", "error"]);
}

#[test]
fn a_future_that_is_dropped_cancels_both_and_after_the_deadline_is_a_timeout() {
    let probe = Probe::new();
    for (wait, expected) in [(10, ["cancelled", "", "cancelled"]), (60, ["error", "timeout", "error"])] {
        let probe = if wait == 10 { &probe } else { &Probe::new() };
        probe.instrumentation().sync_scope(|| {
            let pending = ask().deadline(millis(50)).run(std::future::pending::<io::Result<()>>());
            let mut pending = Box::pin(pending);
            let waker = futures::task::noop_waker();
            assert!(pending.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
            probe.clock().advance(millis(wait));
        });
        assert_eq!(ends(probe), expected);
    }
}

#[test]
fn a_panic_fails_both() {
    let probe = Probe::new();
    let caught = panic::catch_unwind(panic::AssertUnwindSafe(|| {
        under(&probe, || {
            ask().run(async {
                if probe.clock().elapsed().is_zero() {
                    panic::resume_unwind(Box::new("boom"));
                }
                io::Result::Ok(())
            })
        })
    }));
    assert!(caught.is_err());
    assert_eq!(ends(&probe), ["error", "panic", "error"]);
}

#[test]
fn a_stage_of_which_nothing_was_told_is_a_call_without_tokens() {
    let probe = Probe::new();
    under(&probe, || ask().run(async { io::Result::Ok("dry") })).unwrap();
    assert_eq!(ends(&probe), ["complete", "", "complete"]);
    assert!(probe.points("llmperf.client.tokens").is_empty());
}

#[test]
fn spans_made_inside_are_children_of_the_call() {
    let probe = Probe::new();
    let tracer = opentelemetry::trace::TracerProvider::tracer(probe.tracer_provider(), "app");
    under(&probe, || {
        pipeline("support").run(async {
            ask()
                .run(async {
                    tracer.in_span("http", |cx| assert!(cx.span().span_context().is_valid()));
                    retrieval().store("inner").search(async { io::Result::Ok([("d", 1.0)]) }).await
                })
                .await
        })
    })
    .unwrap();
    assert_eq!(probe.tree(), "pipeline support\n  chat gpt-4o-mini\n    retrieval inner\n    http\n");
}

#[test]
fn a_call_of_the_same_model_inside_joins_the_stage_and_counts_once() {
    let probe = Probe::new();
    under(&probe, || {
        ask().run(async {
            chat("openai", "gpt-4o-mini").run_with(async { io::Result::Ok(()) }, |()| Output::usage(9, 3)).await
        })
    })
    .unwrap();
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(probe.tree(), "chat gpt-4o-mini\n  chat gpt-4o-mini\n");
    let usage: Vec<_> = probe.points("llmperf.client.tokens").iter().map(|point| point.sum).collect();
    assert_eq!(usage.iter().sum::<f64>(), 12.0);
}

#[test]
fn another_call_inside_is_its_own_and_does_not_decide_how_the_stage_ended() {
    let probe = Probe::new();
    under(&probe, || {
        ask().run(async {
            let mut router = chat("openai", "router").start();
            router.fail("429");
            drop(router);
            io::Result::Ok(())
        })
    })
    .unwrap();
    assert_eq!(outcome_of_stage(&probe), "complete");
    assert_eq!(probe.count("llmperf.client.calls"), 2.0);
}

#[test]
fn a_stage_inside_a_live_call_of_the_same_model_ends_as_it_was_told() {
    let probe = Probe::new();
    under(&probe, || async {
        let mut outer = chat("openai", "gpt-4o-mini").start();
        outer.in_scope(|| {
            let mut stage = ask().start();
            stage.in_scope(|| drop(chat("other", "router").start()));
            stage.complete();
        });
        outer.finish();
    });
    assert_eq!(outcome_of_stage(&probe), "complete");
}

#[test]
fn an_answer_from_a_cache_is_no_call() {
    let probe = Probe::new();
    under(&probe, || {
        pipeline("support").run(async {
            ask()
                .run_then(
                    async {
                        takes(probe.clock(), 5).await;
                        "cached"
                    },
                    |mut guard, answer| {
                        guard.from_cache();
                        guard.answered(|| Output::text(answer).and_usage(Usage::of(1, 1)));
                        guard.end(Verdict::Complete);
                        io::Result::Ok(answer)
                    },
                )
                .await
        })
    })
    .unwrap();
    assert_eq!(probe.tree(), "pipeline support\n  generate\n");
    let span = span(&probe, "generate");
    assert_eq!(attribute(&span, "llmperf.rag.from_cache"), "true");
    assert_eq!(attribute(&span, "gen_ai.usage.output_tokens"), "");
    let names = probe.metric_names();
    let of_calls: Vec<_> =
        names.iter().filter(|name| name.starts_with("llmperf.client") || name.starts_with("gen_ai")).collect();
    assert_eq!(of_calls, ["llmperf.client.active_calls"]);
    let active: f64 = probe.points("llmperf.client.active_calls").iter().map(|point| point.sum).sum();
    assert_eq!((active, probe.instrumentation().live_calls()), (0.0, 0));
    let snapshot = probe.instrumentation().snapshot();
    let calls =
        snapshot.call("openai", "gpt-4o-mini").and_then(|calls| calls.window(llmperf_core::stats::Window::SinceStart));
    assert!(calls.is_none());
    assert_eq!(point(&probe, "llmperf.rag.stage.duration").attribute("llmperf.rag.from_cache"), "true");
    assert_eq!(point(&probe, "llmperf.rag.pipeline.duration").attribute("llmperf.rag.from_cache"), "true");
    assert!(probe.points("llmperf.rag.retrieval_path.duration").is_empty(), "nothing was generated");
}

#[test]
fn code_inside_may_say_that_the_answer_came_from_a_cache_and_a_stream_of_it_passes_unmeasured() {
    let probe = Probe::new();
    under(&probe, || async {
        let request = async {
            llmperf_rag::from_cache();
            io::Result::Ok(stream::iter(["a", "b"]))
        };
        let answer = ask().open_with(request, |item| Output::text(item)).await.unwrap();
        assert_eq!(answer.collect::<Vec<_>>().await, ["a", "b"]);
    });
    assert_eq!(probe.tree(), "generate\n");
    assert!(probe.points("llmperf.client.calls").is_empty());
    assert_eq!(outcome_of_stage(&probe), "complete");
}

#[test]
fn observers_hear_that_a_call_was_none() {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    #[derive(Debug, Default)]
    struct Seen([AtomicU64; 3]);
    impl llmperf_core::Observer for Seen {
        fn started(&self, _: &llmperf_core::StartedCall<'_>) {
            self.0[0].fetch_add(1, Ordering::Relaxed);
        }
        fn finished(&self, _: &llmperf_core::FinishedCall<'_>) {
            self.0[1].fetch_add(1, Ordering::Relaxed);
        }
        fn withdrawn(&self, _: u64) {
            self.0[2].fetch_add(1, Ordering::Relaxed);
        }
    }

    let seen = Arc::new(Seen::default());
    let probe = Probe::with(|builder| builder.observer(Arc::clone(&seen) as _));
    under(&probe, || {
        ask().run(async {
            llmperf_rag::from_cache();
            io::Result::Ok(())
        })
    })
    .unwrap();
    under(&probe, || ask().run(async { io::Result::Ok(()) })).unwrap();
    assert_eq!(seen.0.each_ref().map(|count| count.load(Ordering::Relaxed)), [2, 1, 1]);
}

#[test]
fn a_recorder_of_nothing_measures_nothing() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut stage = generation().start();
        let mut call = stage.call();
        call.on_chunk(Output::text("a"));
        assert_eq!(call.finish().outcome, None::<Outcome>);
        stage.complete();
    });
    assert_eq!(probe.tree(), "generate\n");
}

#[test]
fn objectives_of_streams_are_missed_by_a_stream_that_fails_and_not_judged_of_a_whole_answer() {
    let judged = |end: &dyn Fn()| {
        let probe = Probe::with(|builder| builder.slos([Slo::new("ttft", Objective::TimeToFirstToken, millis(100))]));
        probe.instrumentation().sync_scope(end);
        assert_eq!(probe.count("llmperf.client.calls"), 1.0);
        probe
            .points("llmperf.slo.events")
            .iter()
            .map(|point| point.attribute("llmperf.slo.met").to_owned())
            .collect::<Vec<_>>()
    };
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    let whole = || drop(block_on(ask().run(async { Err::<(), _>(refused()) })));
    assert_eq!(judged(&whole), [""; 0]);
    let embeds = || drop(block_on(embedding().model("ada").run(async { Err::<(), _>(refused()) })));
    assert_eq!(judged(&embeds), [""; 0]);
    let streams = || drop(block_on(ask().open(async { Err::<stream::Empty<&str>, _>(refused()) })));
    assert_eq!(judged(&streams), ["false"]);
    let by_hand = || ask().streams(true).start().fail("connection_refused");
    assert_eq!(judged(&by_hand), ["false"]);
    let by_attribute = || {
        use llmperf_rag::__private::{JudgedError, judging::*};
        let mut guard = ask().start();
        let verdict = (&&&&&JudgedError(&refused())).judge_generation(&mut guard);
        guard.end(verdict);
    };
    assert_eq!(judged(&by_attribute), ["false"]);
}
