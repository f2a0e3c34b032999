//! Agents in hostile company: callbacks that panic, names and arguments without measure, runs in one another and one after
//! another without end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    collections::BTreeMap,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    rc::Rc,
    sync::Arc,
    thread,
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, stream};
use llmperf_agent::{AgentOutcome, AgentResult, ToolFailure, ToolOutcome, Work as _, mcp, run, step, tool, workflow};
use llmperf_core::{
    InCurrentScope as _, Output, Price, Prices, chat,
    opentelemetry::{
        Context, SpanId, TraceFlags, TraceId,
        baggage::BaggageExt as _,
        trace::{SpanContext, TraceContextExt as _, TraceState},
    },
    stats::{Figure, SeriesKind, Window},
    testing::Probe,
};

/// Panics whatever it is asked.
#[derive(Debug, Clone, Copy)]
struct Bomb;

impl AgentOutcome for Bomb {
    fn agent_result(&self) -> Option<AgentResult> {
        panic!("agent_result")
    }
}

impl ToolOutcome for Bomb {
    fn tool_failure(&self) -> Option<ToolFailure> {
        panic!("tool_failure")
    }
}

fn outcomes(probe: &Probe, metric: &str) -> Vec<String> {
    let of = |point: &llmperf_core::testing::Point| format!("{} {}", point.attribute("llmperf.outcome"), point.sum);
    probe.points(metric).iter().map(of).collect()
}

/// A callback of the application's that panics in its poll panics there; the work has failed, once.
#[test]
fn callbacks_that_panic_fail_the_work_once() {
    let probe = Probe::new();
    let cases: [(&str, &dyn Fn()); 3] = [
        ("tool_failure", &|| {
            let _ = tool("t").run_judged(async { Bomb }).now_or_never();
        }),
        ("goal", &|| {
            let judged = run("r").run_then(async { 1 }, |mut guard, value| {
                guard.goal(&value, |_| panic!("goal"));
                guard.complete();
            });
            judged.now_or_never().unwrap();
        }),
        ("agent_result", &|| {
            let judged = run("r").run_then(async { Bomb }, |mut guard, value| {
                let verdict = guard.judged_by(&value);
                guard.end(verdict);
            });
            judged.now_or_never().unwrap();
        }),
    ];
    for (expected, case) in cases {
        let unwound = catch_unwind(AssertUnwindSafe(|| probe.instrumentation().sync_scope(case)));
        assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&expected));
    }
    assert_eq!(outcomes(&probe, "llmperf.tool.calls"), ["error 1"]);
    assert_eq!(probe.points("llmperf.agent.runs").iter().map(|point| point.sum).sum::<f64>(), 2.0);
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn names_without_measure_stay_within_bounds() {
    let probe = Probe::new();
    let huge = "é".repeat(1 << 20);
    let odd = ["", "\"quoted\"", "a.b.c", "line\nbreak", "\0", "日本語", "{}", "%s", &huge];
    probe.instrumentation().sync_scope(|| {
        for name in odd {
            run(name.to_owned()).task(name.to_owned()).conversation(name.to_owned()).in_scope(
                || {
                    tool(name.to_owned()).call_id(name.to_owned()).arguments(name).start().complete();
                    step(name.to_owned()).start().complete();
                    workflow(name.to_owned()).start().complete();
                    mcp::operation(name.to_owned()).start().complete();
                    mcp::call_tool(name.to_owned()).start().complete();
                },
                |guard, ()| guard.complete(),
            );
        }
        for number in 0..10_000 {
            let name = format!("n{number}");
            let run = run(name.clone()).task(name.clone()).label("tenant", name.clone()).label("outcome", name.clone());
            run.in_scope(
                || {
                    tool(name.clone()).kind(name.clone()).label("gen_ai.tool.name", name.clone()).start().fail(&name);
                    step(name.clone()).start().complete();
                    workflow(name.clone()).start().complete();
                    mcp::operation(name.clone()).prompt(name.clone()).transport(name.clone()).start().complete();
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
    assert_eq!(probe.points("llmperf.agent.runs").iter().map(|point| point.sum).sum::<f64>(), 10_009.0);
    assert_eq!(probe.points("llmperf.tool.calls").iter().map(|point| point.sum).sum::<f64>(), 10_009.0);
    let snapshot = probe.instrumentation().snapshot();
    assert!(snapshot.series.len() < 4_000, "{}", snapshot.series.len());
    assert!(!snapshot.to_string().is_empty() && !snapshot.diagnose().to_string().is_empty());
}

#[test]
fn a_run_of_very_many_tools_adds_them_up_and_diagnoses_what_it_kept() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        run("long").in_scope(
            || {
                for number in 0..100_000_u32 {
                    tool("search")
                        .arguments(&(number % 5_000))
                        .in_scope(|| probe.clock().advance(Duration::from_millis(40)), |guard, ()| guard.complete());
                    if number % 1_000 == 0 {
                        probe.clock().set_wall_back(Duration::from_secs(3_600));
                        let _ = probe.instrumentation().snapshot();
                    }
                }
            },
            |guard, ()| guard.complete(),
        );
    });
    let snapshot = probe.instrumentation().snapshot();
    let calls = snapshot.get(SeriesKind::Agent, "long", "").unwrap().figure(Window::SinceStart, Figure::ToolCalls);
    assert_eq!(calls.unwrap().max, 100_000.0);
    let diagnosis = snapshot.diagnose_in(Window::SinceStart);
    let root = &diagnosis.roots[0];
    assert_eq!(
        (root.repetitions.len(), root.repetitions[0].most),
        (1, 99_999),
        "the seam between what is placed and what is counted costs one: {diagnosis}"
    );
    let whole: f64 = root.shares.iter().map(|share| share.share).sum::<f64>() + root.other.unwrap();
    assert!((whole - 1.0).abs() < 1e-9, "{whole}");
    let run = probe.spans().into_iter().find(|span| span.name.starts_with("invoke_agent")).unwrap();
    assert!(probe.spans().iter().all(|span| span.start_time >= run.start_time && span.end_time <= run.end_time));
}

#[test]
fn runs_in_one_another_a_thousand_deep_know_what_they_hold() {
    fn nest(depth: u64) {
        run("deep").in_scope(
            || {
                tool("leaf").start().complete();
                if depth > 1 {
                    nest(depth - 1);
                }
            },
            |guard, ()| guard.complete(),
        );
    }
    let probe = Probe::new();
    let instrumentation = probe.instrumentation().clone();
    thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || instrumentation.sync_scope(|| nest(1_000)))
        .unwrap()
        .join()
        .unwrap();
    let spans = probe.spans();
    let of = |key: &str| {
        let values = spans.iter().filter(|span| &*span.name == "invoke_agent deep").filter_map(|span| {
            let value = span.attributes.iter().find(|own| own.key.as_str() == key)?;
            value.value.to_string().parse::<u64>().ok()
        });
        values.max()
    };
    assert_eq!((of("llmperf.agent.nested_runs"), spans.len()), (Some(999), 2_000));
}

#[test]
fn runs_that_each_start_the_next_let_go_of_what_is_over() {
    let probe = Probe::with(|builder| builder.tracer_provider(&opentelemetry_sdk::trace::SdkTracerProvider::default()));
    let outer = probe.instrumentation().sync_scope(|| run("outer").start());
    let mut before = {
        let _current = outer.context().attach();
        run("poller").start()
    };
    for _ in 0..5_000 {
        let _current = before.context().attach();
        tool("poll").start().complete();
        let next = run("poller").start();
        mem::replace(&mut before, next).complete();
    }
    drop(before);
    outer.complete();
    let snapshot = probe.instrumentation().snapshot();
    let calls = snapshot.get(SeriesKind::Agent, "poller", "").unwrap().figure(Window::SinceStart, Figure::ToolCalls);
    assert_eq!((calls.unwrap().p50, calls.unwrap().max), (1.0, 1.0), "each has its own");
}

#[test]
fn a_clock_that_stands_still_gives_no_figure_that_is_none() {
    let probe =
        Probe::with(|builder| builder.prices(Prices::new().model("openai", "m", Price::new(f64::INFINITY, f64::NAN))));
    probe.instrumentation().sync_scope(|| {
        run("still").in_scope(
            || {
                let mut call = chat("openai", "m").start();
                call.on_chunk(Output::text("x"));
                call.on_chunk(Output::usage(u64::MAX, u64::MAX));
                drop(call.finish());
                tool("t").start().complete();
            },
            |mut guard, ()| {
                guard.output();
                guard.complete();
            },
        );
    });
    let snapshot = probe.instrumentation().snapshot();
    let text = serde_json::to_string(&snapshot).unwrap() + &snapshot.to_string() + &snapshot.diagnose().to_string();
    assert!(!text.contains("NaN") && !text.contains("inf ") && !text.contains(":inf"));
}

#[test]
fn the_meta_of_a_request_is_written_whatever_the_context_is() {
    let written = |context: &Context| {
        let mut all = BTreeMap::new();
        mcp::inject_context(context, |key, value| {
            all.insert(key.to_owned(), value);
        });
        all
    };
    assert!(written(&Context::new()).is_empty());
    let remote = |trace, span| {
        let ids = SpanContext::new(
            TraceId::from_bytes(trace),
            SpanId::from_bytes(span),
            TraceFlags::new(0xff),
            true,
            TraceState::default(),
        );
        Context::new().with_remote_span_context(ids)
    };
    assert!(written(&remote([0; 16], [1; 8])).is_empty() && written(&remote([1; 16], [0; 8])).is_empty());
    assert_eq!(
        written(&remote([1; 16], [1; 8]))["traceparent"],
        format!("00-{}-{}-ff", "01".repeat(16), "01".repeat(8))
    );
    let baggage =
        Context::new().with_baggage(vec![llmperf_core::opentelemetry::KeyValue::new("tenant", "a,b;c=\"d\"\n日")]);
    assert_eq!(written(&baggage)["baggage"], "tenant=a%2Cb%3Bc%3D%22d%22%0A%E6%97%A5");
    let unwound = catch_unwind(|| mcp::inject_context(&remote([1; 16], [1; 8]), |_, _| panic!("a map")));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"a map"));
    assert!(!written(&remote([1; 16], [1; 8])).is_empty(), "no lock stays behind");
}

/// Every way to move work about: each run and tool is recorded once, in the run that it belongs to or in none.
#[test]
fn work_moves_between_runtimes_threads_and_local_sets() {
    let probe = Probe::new();
    let scope = probe.instrumentation().clone();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(scope.scope(async {
        let body = async {
            tokio::spawn(tool("spawned").run(async { Ok::<_, std::io::Error>(()) }).in_current_scope())
                .await
                .unwrap()
                .unwrap();
            let here = Context::current();
            let blocking = tokio::task::spawn_blocking(move || {
                let _here = here.attach();
                let inner = tokio::runtime::Builder::new_current_thread().build().unwrap();
                inner.block_on(tool("nested runtime").run(async { Ok::<_, std::io::Error>(()) })).unwrap();
            });
            blocking.await.unwrap();
            let local = tokio::task::LocalSet::new();
            local
                .run_until(async {
                    let shared = Rc::new(1);
                    let future = tool("local").run(async move { Ok::<_, std::io::Error>(*shared) }).in_current_scope();
                    tokio::task::spawn_local(future).await.unwrap().unwrap();
                })
                .await;
            let mut slow = pin!(tool("loses").run(std::future::pending::<Result<(), std::io::Error>>()));
            tokio::select! {
                biased;
                _ = &mut slow => unreachable!(),
                () = async {} => {}
            }
            let timed = tool("timed").run(std::future::pending::<Result<(), std::io::Error>>());
            assert!(tokio::time::timeout(Duration::ZERO, timed).await.is_err());
            tokio::task::block_in_place(|| {
                futures::executor::block_on(tool("block_on").run(async { Ok::<_, std::io::Error>(()) })).unwrap();
            });
            let items = Arc::new(tokio::sync::Mutex::new(
                tool("stream").start().stream(stream::iter(0..3), |guard, _| guard.output()),
            ));
            let moved = items.clone();
            tokio::spawn(async move { assert_eq!(moved.lock().await.next().await, Some(0)) }).await.unwrap();
            assert_eq!(items.lock().await.next().await, Some(1));
            Ok::<_, std::io::Error>(())
        };
        run("mover").run(body).await.unwrap();
    }));
    runtime.shutdown_background();
    let spans = probe.spans();
    let run = spans.iter().find(|span| &*span.name == "invoke_agent mover").unwrap();
    let mut inside: Vec<_> = spans
        .iter()
        .filter(|span| span.parent_span_id == run.span_context.span_id())
        .map(|span| {
            let outcome = span.attributes.iter().find(|own| own.key.as_str() == "llmperf.outcome").unwrap();
            format!("{} {}", span.name, outcome.value)
        })
        .collect();
    inside.sort();
    assert_eq!(
        inside,
        [
            "execute_tool block_on complete",
            "execute_tool local complete",
            "execute_tool loses cancelled",
            "execute_tool nested runtime complete",
            "execute_tool spawned complete",
            "execute_tool stream cancelled",
            "execute_tool timed cancelled",
        ]
    );
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn ten_thousand_runs_at_once_that_never_end_hold_little_and_end_once_when_dropped() {
    let probe = Probe::with(|builder| builder.tracer_provider(&opentelemetry_sdk::trace::SdkTracerProvider::default()));
    let guards: Vec<_> = probe.instrumentation().sync_scope(|| (0..10_000).map(|_| run("many").start()).collect());
    assert_eq!(probe.instrumentation().live_calls(), 10_000);
    let halves = guards.into_iter().enumerate().partition::<Vec<_>, _>(|(number, _)| number % 2 == 0);
    thread::scope(|scope| {
        scope.spawn(|| halves.0.into_iter().for_each(|(_, guard)| guard.complete()));
        scope.spawn(|| drop(halves.1));
    });
    assert_eq!(probe.instrumentation().live_calls(), 0);
    assert_eq!(
        probe.points("llmperf.agent.runs").iter().map(|point| point.sum).collect::<Vec<_>>(),
        [5_000.0, 5_000.0]
    );
}
