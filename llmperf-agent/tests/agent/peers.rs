//! Forty things that went wrong for users of other tools: those that agents and tools can get wrong, each a test with its
//! number. Those that are not here are about the stream of a single call (3, 7 to 9, 12 to 22, 30, 35), which core's tests hold,
//! about content that this crate does not capture (37), or about GPUs (39, 40).

use std::{
    error::Error,
    future::{pending, ready},
    io,
    task::Poll,
    time::Duration,
};

use futures::{StreamExt as _, stream};
use llmperf_agent::{
    AgentResult, InCurrentScope as _, ToolFailure, ToolOutcome, Work as _, mcp, run, step, tool, workflow,
};
use llmperf_core::{
    Instrumentation,
    metrics::Kind,
    opentelemetry::{
        Context,
        trace::{FutureExt as _, TraceContextExt as _, Tracer as _, TracerProvider as _},
    },
    testing::Probe,
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SdkTracerProvider, Span, SpanData, SpanProcessor},
};

use crate::{attribute, failing, runs::call, scripted_panic, silent};

fn of<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    spans.iter().find(|span| span.name == name).unwrap()
}

/// A stream of words that waits for ever behind them.
fn words(count: usize) -> impl futures::Stream<Item = usize> + Unpin {
    let mut left = count;
    stream::poll_fn(move |_| {
        if left == 0 {
            return Poll::Pending;
        }
        left -= 1;
        Poll::Ready(Some(left))
    })
}

#[tokio::test]
async fn report_1_and_11_a_streaming_agent_that_is_left_early_ends_once_with_what_was_seen() {
    let probe = Probe::new();
    let left = async {
        let mut answer = run("desk").start().stream(words(3), |guard, _| {
            guard.output();
            call(10, 1);
        });
        assert!(answer.next().await.is_some());
    };
    probe.instrumentation().scope(left).await;
    assert_eq!(probe.tree(), "invoke_agent desk\n  chat gpt-4o-mini\n");
    let spans = probe.spans();
    let desk = of(&spans, "invoke_agent desk");
    assert_eq!(attribute(desk, "llmperf.agent.result"), Some("cancelled"));
    assert_eq!(attribute(desk, "llmperf.agent.input_tokens"), Some("10"));
}

#[tokio::test]
async fn report_2_and_10_one_span_made_at_the_start_covers_the_stream() {
    let probe = Probe::new();
    let whole = async {
        let answer = run("desk").run_then(ready(()), |guard, ()| {
            let clock = probe.clock().clone();
            let words = stream::iter(0..3).inspect(move |_| clock.advance(Duration::from_secs(1)));
            guard.stream(words, |guard, _| guard.output())
        });
        let answer = answer.await;
        // Read elsewhere, under another span: the parent stays what it was.
        let tracer = probe.tracer_provider().tracer("test");
        let elsewhere = Context::new().with_span(tracer.start("elsewhere"));
        assert_eq!(answer.collect::<Vec<_>>().with_context(elsewhere).await.len(), 3);
    };
    probe.instrumentation().scope(whole).await;
    let spans = probe.spans();
    let desk = of(&spans, "invoke_agent desk");
    assert_eq!(desk.end_time.duration_since(desk.start_time).unwrap(), Duration::from_secs(3));
    assert_eq!(spans.iter().filter(|span| span.name == "invoke_agent desk").count(), 1);
    assert_eq!(desk.parent_span_id.to_string(), "0000000000000000");
}

#[tokio::test]
async fn report_4_a_run_that_stops_for_an_approval_closes_the_whole_chain_and_is_suspended() {
    let probe = Probe::new();
    let waits = async {
        let mut guard = run("desk").start();
        let asking = async {
            let needs = tool("pay").run(async { Ok::<_, io::Error>("approval") }).await?;
            Ok::<_, io::Error>(needs)
        };
        let needs = guard.context();
        let needs = async { step("pay").run(asking).await }.with_context(needs).await;
        assert!(needs.is_ok());
        guard.result(AgentResult::Suspended);
        guard.complete();
        // The same for a stream: it is dropped where it stops, and says before that it waits.
        let answer = run("streams").start().stream(words(1), |guard, _| guard.result(AgentResult::Suspended));
        let mut answer = Box::pin(answer);
        assert!(answer.next().await.is_some());
        drop(answer);
    };
    probe.instrumentation().scope(waits).await;
    assert_eq!(probe.tree(), "invoke_agent desk\n  step pay\n    execute_tool pay\ninvoke_agent streams\n");
    let spans = probe.spans();
    for agent in ["invoke_agent desk", "invoke_agent streams"] {
        assert_eq!(attribute(of(&spans, agent), "llmperf.agent.result"), Some("suspended"), "{agent}");
        assert_eq!(attribute(of(&spans, agent), "llmperf.outcome"), Some("complete"), "{agent}");
    }
}

#[tokio::test]
async fn report_5_a_model_call_that_fails_ends_no_span_twice() {
    let probe = Probe::new();
    let fails = async {
        let failed = run("desk").run(async {
            llmperf_core::chat("openai", "gpt-4o-mini")
                .run_with(async { failing::<()>() }, |()| llmperf_core::Output::none())
                .await
        });
        assert!(failed.await.is_err());
        let guard = run("by-hand").start();
        guard.fail("no_flights");
    };
    probe.instrumentation().scope(fails).await;
    assert_eq!(probe.tree(), "invoke_agent by-hand !\ninvoke_agent desk !\n  chat gpt-4o-mini !\n");
    assert_eq!(probe.count("llmperf.agent.runs"), 2.0);
}

#[tokio::test]
async fn report_6_a_cancellation_is_no_error_and_no_success() {
    let probe = Probe::new();
    let cancelled = async {
        let work = async {
            let (_, _) = tokio::join!(
                tool("one").run(pending::<Result<(), io::Error>>()),
                step("two").run(pending::<Result<(), io::Error>>())
            );
            Ok::<_, io::Error>(())
        };
        silent(workflow("w").run(async { run("desk").run(work).await })).await;
    };
    probe.instrumentation().scope(cancelled).await;
    assert!(!probe.tree().contains('!'), "{}", probe.tree());
    for span in probe.spans() {
        assert_eq!(attribute(&span, "llmperf.outcome"), Some("cancelled"), "{}", span.name);
    }
    assert_eq!(probe.spans().len(), 4);
}

#[test]
fn report_23_usage_stands_on_model_calls_alone() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        run("outer").in_scope(
            || {
                call(100, 10);
                tool("t").in_scope(
                    || run("inner").in_scope(|| call(200, 20), |guard, ()| guard.complete()),
                    |guard, ()| guard.complete(),
                );
            },
            |guard, ()| guard.complete(),
        );
    });
    for span in probe.spans() {
        let usage = span.attributes.iter().any(|own| own.key.as_str().starts_with("gen_ai.usage."));
        assert_eq!(usage, span.name.starts_with("chat"), "{}", span.name);
    }
}

#[test]
fn report_24_nothing_is_written_onto_spans_that_are_not_ours() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let tracer = probe.tracer_provider().tracer("test");
        let around = Context::current().with_span(tracer.start("around"));
        let _around = around.clone().attach();
        let mut guard = run("desk").start();
        guard.in_scope(|| {
            call(100, 10);
            tool("book").in_scope(
                || {
                    let own = Context::current().with_span(tracer.start("own"));
                    let _own = own.clone().attach();
                    mcp::call_tool("book").session("s-1").start().complete();
                    own.span().end();
                },
                |guard, ()| guard.complete(),
            );
        });
        guard.complete();
        around.span().end();
    });
    let expected = "around\n  invoke_agent desk\n    chat gpt-4o-mini\n    execute_tool book\n      own\n        tools/call book\n";
    assert_eq!(probe.tree(), expected);
    for name in ["around", "own"] {
        assert!(of(&probe.spans(), name).attributes.is_empty(), "{name}");
    }
}

#[test]
fn report_25_and_26_each_instrument_has_the_boundaries_of_its_row() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").start();
        guard.in_scope(|| tool("t").start().complete());
        guard.complete();
        workflow("w").start().complete();
        mcp::call_tool("t").start().complete();
    });
    let names = probe.metric_names();
    let rows = llmperf_agent::metrics::TABLE.iter().filter(|row| names.iter().any(|name| name == row.name));
    let mut seen = 0;
    for row in rows {
        if let Kind::Histogram(bounds) | Kind::CountHistogram(bounds) = row.kind {
            assert_eq!(probe.points(row.name)[0].bounds, bounds, "{}", row.name);
            let reaches = bounds.last().is_some_and(|last| *last >= 80.0);
            assert!(reaches || row.unit != "s", "{}", row.name);
            seen += 1;
        }
    }
    assert!(seen > 7, "{names:?}");
}

#[test]
fn report_27_ten_thousand_names_are_a_hundred_series_and_one() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        for number in 0..10_000 {
            tool(format!("tool-{number}")).start().complete();
        }
    });
    for name in ["llmperf.tool.calls", "gen_ai.execute_tool.duration"] {
        assert_eq!((probe.points(name).len(), probe.count(name)), (101, 10_000.0), "{name}");
    }
}

#[tokio::test]
async fn report_28_an_error_type_is_never_a_message() {
    let probe = Probe::new();
    let calls = async {
        let failed: Result<(), Box<dyn Error + Send + Sync>> = Err("no city called 'Lisbonne'".into());
        let _ = tool("boxed").run(ready(failed)).await;
        tool("code").start().end(ToolFailure::code("no city called 'Lisbonne'").into());
        run("desk").start().fail("no flight for user 4711");
        workflow("w").start().fail("no flight for user 4711");
    };
    probe.instrumentation().scope(calls).await;
    for span in probe.spans() {
        let error = attribute(&span, "error.type").unwrap();
        assert!(["other", "_OTHER"].contains(&error), "{}: {error}", span.name);
        assert!(!format!("{span:?}").contains("Lisbonne") && !format!("{span:?}").contains("4711"));
    }
}

#[tokio::test]
async fn report_29_what_failed_is_counted_and_timed_too() {
    let probe = Probe::new();
    let fails = async {
        let _ = run("desk").run(async { tool("t").run(async { failing::<()>() }).await }).await;
        let _ = workflow("w").run(async { failing::<()>() }).await;
        mcp::call_tool("t").start().fail("-32602");
    };
    probe.instrumentation().scope(fails).await;
    for metric in [
        "llmperf.agent.run.duration",
        "llmperf.agent.runs",
        "llmperf.tool.duration",
        "llmperf.tool.calls",
        "gen_ai.invoke_agent.duration",
        "gen_ai.execute_tool.duration",
        "gen_ai.invoke_workflow.duration",
        "mcp.client.operation.duration",
    ] {
        assert_eq!(probe.count(metric), 1.0, "{metric}");
        let point = &probe.points(metric)[0];
        let told = ["error.type", "llmperf.agent.result"].iter().any(|key| !point.attribute(key).is_empty());
        assert!(told, "{metric}: {point:?}");
    }
    assert_eq!(probe.points("gen_ai.invoke_agent.tool_calls")[0].sum, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn report_31_a_tool_in_a_spawned_task_keeps_its_run() {
    let probe = Probe::new();
    let desk = async {
        let spawned = async {
            call(1, 1);
            tool("weather").run(async { Ok::<_, io::Error>(()) }).await
        };
        tokio::spawn(spawned.in_current_scope()).await.map_err(io::Error::other)?
    };
    probe.instrumentation().scope(async { run("desk").run(desk).await }).await.unwrap();
    assert_eq!(probe.tree(), "invoke_agent desk\n  chat gpt-4o-mini\n  execute_tool weather\n");
    assert_eq!(probe.points("gen_ai.invoke_agent.tool_calls")[0].sum, 1.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn report_32_in_streaming_mode_calls_and_tools_are_children_of_the_run_whoever_polls() {
    let probe = Probe::new();
    let answer = probe.instrumentation().sync_scope(|| {
        let lazy = stream::iter(["chat", "tool", "step"]).then(|what| async move {
            match what {
                "chat" => call(1, 1),
                "tool" => tool("weather").start().complete(),
                _ => step("s").in_scope(|| call(1, 1), |guard, ()| guard.complete()),
            }
        });
        run("desk").start().stream(lazy, |guard, ()| guard.output())
    });
    // Polled from a task that knows nothing of the run.
    assert_eq!(tokio::spawn(answer.collect::<Vec<_>>()).await.unwrap().len(), 3);
    let mut lines: Vec<_> = probe.tree().lines().map(str::to_owned).collect();
    lines.sort();
    let expected =
        ["    chat gpt-4o-mini", "  chat gpt-4o-mini", "  execute_tool weather", "  step s", "invoke_agent desk"];
    assert_eq!(lines, expected);
}

/// A processor of the application's that panics.
#[derive(Debug)]
struct Panics;

impl SpanProcessor for Panics {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, _: SpanData) {
        scripted_panic::<()>();
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

#[tokio::test]
async fn report_33_parallel_tools_are_siblings_and_telemetry_that_panics_harms_nobody() {
    let probe = Probe::new();
    let parallel = async {
        let slow = |name: &'static str| {
            tool(name).run(async {
                tokio::task::yield_now().await;
                Ok::<_, io::Error>(())
            })
        };
        let _ = step("s").run(async { tokio::try_join!(slow("a"), slow("b"), slow("c")) }).await;
    };
    probe.instrumentation().scope(parallel).await;
    assert_eq!(probe.tree(), "step s\n  execute_tool a\n  execute_tool b\n  execute_tool c\n");

    let provider = SdkTracerProvider::builder().with_span_processor(Panics).build();
    let broken = Instrumentation::builder().tracer_provider(&provider).build();
    let answer = broken.scope(async {
        let work = async {
            tool("t").arguments("x").run(async { Ok::<_, io::Error>(1) }).await?;
            step("s").run(async { Ok::<_, io::Error>(1) }).await?;
            mcp::call_tool("t").run(async { Ok::<_, io::Error>(42) }).await
        };
        workflow("w").run(async { run("desk").run(work).await }).await
    });
    assert_eq!(answer.await.unwrap(), 42);
}

#[tokio::test]
async fn report_34_a_failure_that_is_returned_as_a_value_is_a_failure() {
    struct Told(Option<ToolFailure>);
    impl ToolOutcome for Told {
        fn tool_failure(&self) -> Option<ToolFailure> {
            self.0.clone()
        }
    }
    let probe = Probe::new();
    let calls = async {
        let value = |told: Option<ToolFailure>| async { Ok::<_, Told>(Told(told)) };
        let _ = tool("fine").run_judged(value(None)).await;
        let _ = tool("fails").run_judged(value(Some(ToolFailure::Auth))).await;
        let _ = tool("err").run_judged(async { Err::<Told, _>(Told(Some(ToolFailure::Timeout))) }).await;
        let _ = tool("silent").run_judged(async { Err::<Told, _>(Told(None)) }).await;
    };
    probe.instrumentation().scope(calls).await;
    let told: Vec<_> =
        probe.spans().iter().map(|span| attribute(span, "error.type").unwrap_or("").to_owned()).collect();
    assert_eq!(told, ["", "auth", "timeout", "other"]);
    assert_eq!(probe.tree().matches('!').count(), 3);
}

#[test]
fn report_36_what_a_tool_was_given_and_what_it_gave_is_nowhere() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").start();
        guard.goal("the answer of 4711", |answer| answer.len() > 3);
        guard.in_scope(|| {
            for _ in 0..4 {
                let pin = tool("pay").arguments(&("card", "4711"));
                pin.in_scope(|| "receipt 4711", |guard, _| guard.complete());
            }
        });
        guard.complete();
    });
    let told = format!("{:?}", probe.spans());
    let metrics: Vec<_> = probe.metric_names().iter().map(|name| probe.points(name)).collect();
    assert!(!told.contains("4711") && !told.contains("receipt"));
    assert!(!format!("{metrics:?}").contains("4711"));
    assert_eq!(probe.count("llmperf.agent.repeated_calls"), 2.0, "they were seen");
}

#[tokio::test]
async fn report_38_values_errors_and_panics_pass_as_they_are() {
    let probe = Probe::new();
    let passes = async {
        assert_eq!(tool("t").run(async { Ok::<_, io::Error>(7) }).await.unwrap(), 7);
        let error = run("r").run(async { failing::<()>() }).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        let panicked = tokio::spawn(tool("p").run(async { scripted_panic::<Result<(), io::Error>>() })).await;
        let payload = panicked.unwrap_err().into_panic();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"scripted"));
        let items: Vec<_> = run("s").start().stream(stream::iter([1, 2, 3]), |guard, _| guard.output()).collect().await;
        assert_eq!(items, [1, 2, 3]);
    };
    probe.instrumentation().scope(passes).await;
    assert_eq!(probe.spans().len(), 4);
}
