//! Tools: spans, outcomes, kinds of failure, parents, loops.

use std::{error::Error, fmt, io, time::Duration};

use llmperf_agent::{InCurrentScope as _, ToolFailure, ToolOutcome, Verdict, Work as _, run, step, tool};
use llmperf_core::{
    stats::{Figure, SeriesKind, Window},
    testing::Probe,
};
use tokio::{sync::mpsc, task::JoinSet};

use crate::{attribute, failing, scripted_panic, settled, silent};

#[test]
fn a_tool_is_an_internal_span_with_the_attributes_of_the_convention() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").conversation("c-1").start();
        guard.in_scope(|| {
            let weather = tool("weather").kind("function").call_id("call_7").description("the weather of a city");
            weather.arguments(&("Lisbon", 3)).start().complete();
        });
        guard.complete();
    });
    let span = probe.spans().into_iter().find(|span| span.name == "execute_tool weather").unwrap();
    assert_eq!(format!("{:?}", span.span_kind), "Internal");
    for (key, value) in [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "weather"),
        ("gen_ai.tool.type", "function"),
        ("gen_ai.tool.call.id", "call_7"),
        ("gen_ai.tool.description", "the weather of a city"),
        ("gen_ai.agent.name", "desk"),
        ("gen_ai.conversation.id", "c-1"),
        ("llmperf.outcome", "complete"),
    ] {
        assert_eq!(attribute(&span, key), Some(value), "{key}");
    }
    assert_eq!(span.attributes.len(), 8, "arguments are nowhere: {:?}", span.attributes);
    let point = &probe.points("gen_ai.execute_tool.duration")[0];
    let keys: Vec<_> = point.attributes.keys().map(String::as_str).collect();
    assert_eq!(keys, ["gen_ai.agent.name", "gen_ai.tool.name", "gen_ai.tool.type"]);
}

#[test]
fn a_tool_works_outside_any_run() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| tool("weather").arguments("Lisbon").start().complete());
    assert_eq!(probe.tree(), "execute_tool weather\n");
    assert_eq!(probe.count("llmperf.tool.calls"), 1.0);
    let series = probe.instrumentation().snapshot();
    let series = series.get(SeriesKind::Tool, "weather", "").unwrap();
    assert_eq!(series.figure(Window::SinceStart, Figure::Duration).unwrap().count, 1);
}

#[derive(Debug)]
struct Answer {
    is_error: bool,
}

impl ToolOutcome for Answer {
    fn tool_failure(&self) -> Option<ToolFailure> {
        self.is_error.then(|| ToolFailure::code("no_seats"))
    }
}

/// A client's error with an I/O error behind it.
#[derive(Debug)]
struct Wrapped(io::Error);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrapped")
    }
}

impl Error for Wrapped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

type Ended = Vec<(String, String, String)>;

/// Tool, outcome and `error.type` of all calls, as spans and as metrics tell them.
fn ended(probe: &Probe) -> Ended {
    let point = |key: &str, point: &llmperf_core::testing::Point| point.attribute(key).to_owned();
    let keys = ["gen_ai.tool.name", "llmperf.outcome", "error.type"];
    let mut counted: Ended = probe
        .points("llmperf.tool.calls")
        .iter()
        .map(|calls| (point(keys[0], calls), point(keys[1], calls), point(keys[2], calls)))
        .collect();
    let spans = probe.spans();
    let of = |span, key| attribute(span, key).unwrap_or_default().to_owned();
    let mut spans: Ended = spans.iter().map(|span| (of(span, keys[0]), of(span, keys[1]), of(span, keys[2]))).collect();
    counted.sort();
    spans.sort();
    spans.dedup();
    assert_eq!(counted, spans);
    counted
}

#[tokio::test]
async fn each_way_a_tool_ends_has_its_outcome_and_its_kind_of_failure() {
    let probe = Probe::new();
    let elapsed = tokio::time::timeout(Duration::ZERO, std::future::pending::<()>());
    let calls = async {
        let _ = tool("ok").run(async { Ok::<_, io::Error>(1) }).await;
        let _ = tool("reset").run(async { failing::<()>() }).await;
        let _ = tool("timed-out").run(async { Err::<(), _>(Wrapped(io::ErrorKind::TimedOut.into())) }).await;
        let _ = tool("denied").run(async { Err::<(), _>(Wrapped(io::ErrorKind::PermissionDenied.into())) }).await;
        let _ = tool("elapsed").run(elapsed).await;
        let _ = tool("parse").run(async { "seven".parse::<u8>() }).await;
        let _ = tool("json").run(async { serde_json::from_str::<u8>("{") }).await;
        let boxed = async { Err::<(), Box<dyn Error + Send + Sync>>("seven".parse::<u8>().unwrap_err().into()) };
        let _ = tool("boxed").run(boxed).await;
        let _ = tool("value-good").run_judged(async { Answer { is_error: false } }).await;
        let _ = tool("value-bad").run_judged(async { Answer { is_error: true } }).await;
        let _ = tool("option").run_judged(async { Some(Answer { is_error: true }) }).await;
        settled(tool("panic").run(async { scripted_panic::<Result<(), io::Error>>() })).await;
        silent(tool("dropped").run(std::future::pending::<Result<(), io::Error>>())).await;
        let late = tool("deadline").deadline(Duration::ZERO);
        silent(late.run(std::future::pending::<Result<(), io::Error>>())).await;
        tool("code").start().fail("quota_exceeded");
        tool("message").start().fail("there is no city called 'Lisbonne'");
        tool("by-hand").start().end(Verdict::from(ToolFailure::Auth));
        drop(tool("never-armed").run(async { Ok::<_, io::Error>(1) }));
    };
    probe.instrumentation().scope(calls).await;
    let mut expected = [
        ("ok", "complete", ""),
        ("reset", "error", "other"),
        ("timed-out", "error", "timeout"),
        ("denied", "error", "auth"),
        ("elapsed", "error", "timeout"),
        ("parse", "error", "format"),
        ("json", "error", "format"),
        ("boxed", "error", "format"),
        ("value-good", "complete", ""),
        ("value-bad", "error", "no_seats"),
        ("option", "error", "no_seats"),
        ("panic", "error", "panic"),
        ("dropped", "cancelled", ""),
        ("deadline", "error", "timeout"),
        ("code", "error", "quota_exceeded"),
        ("message", "error", "_OTHER"),
        ("by-hand", "error", "auth"),
    ]
    .map(|(tool, outcome, error)| (tool.to_owned(), outcome.to_owned(), error.to_owned()));
    expected.sort();
    assert_eq!(ended(&probe), expected);
}

#[test]
fn a_chain_of_errors_without_end_is_other() {
    #[derive(Debug)]
    struct Tail;
    impl fmt::Display for Tail {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("tail")
        }
    }
    impl Error for Tail {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self)
        }
    }
    assert_eq!(ToolFailure::of(&Tail), ToolFailure::Other);
    assert_eq!(ToolFailure::of(&io::Error::other(Wrapped(io::ErrorKind::TimedOut.into()))), ToolFailure::Timeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_in_parallel_have_the_step_or_the_run_as_parent_wherever_they_are_polled() {
    let probe = Probe::new();
    let desk = async {
        let joined = async {
            let tool = |name: &'static str| {
                tool(name).run(async {
                    tokio::task::yield_now().await;
                    Ok::<_, io::Error>(())
                })
            };
            let (one, two) = tokio::join!(tool("joined"), tool("joined"));
            let spawned = tokio::spawn(tool("spawned").in_current_scope()).await.unwrap();
            // The parent is where the call was made, so that a bare spawn keeps it too.
            let bare = tokio::spawn(tool("bare")).await.unwrap();
            let mut set = JoinSet::new();
            (0..3).for_each(|_| drop(set.spawn(tool("set").in_current_scope())));
            let set: Vec<_> = set.join_all().await;
            let (send, mut receive) = mpsc::channel(8);
            let worker = tokio::spawn(async move {
                while let Some(job) = receive.recv().await {
                    let _: Result<(), io::Error> = std::pin::Pin::from(job).await;
                }
            });
            let job: Box<dyn Future<Output = Result<(), io::Error>> + Send> =
                Box::new(async move { tool("channel").await }.in_current_scope());
            send.send(job).await.map_err(drop).unwrap();
            drop(send);
            worker.await.unwrap();
            assert!(one.is_ok() && two.is_ok() && spawned.is_ok() && bare.is_ok() && set.len() == 3);
            Ok::<_, io::Error>(())
        };
        step("search").run(joined).await?;
        tool("alone").run(async { Ok::<_, io::Error>(()) }).await
    };
    probe.instrumentation().scope(async { run("desk").run(desk).await }).await.unwrap();
    let mut lines: Vec<_> = probe.tree().lines().map(str::to_owned).collect();
    lines.sort();
    let mut expected =
        vec!["invoke_agent desk".to_owned(), "  step search".to_owned(), "  execute_tool alone".to_owned()];
    let inner = ["joined", "joined", "spawned", "bare", "set", "set", "set", "channel"];
    expected.extend(inner.map(|tool| format!("    execute_tool {tool}")));
    expected.sort();
    assert_eq!(lines, expected);
    assert_eq!(probe.points("gen_ai.invoke_agent.tool_calls")[0].sum, 9.0);
}

#[test]
fn from_the_third_identical_call_of_a_run_on_repetitions_count() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        for _ in 0..2 {
            let mut guard = run("desk").start();
            guard.in_scope(|| {
                let weather = |city: &str| tool("weather").arguments(&(city, 3)).start().complete();
                (0..5).for_each(|_| weather("Lisbon"));
                (0..2).for_each(|_| weather("Porto"));
                (0..9).for_each(|_| tool("status").start().complete());
                (0..4).for_each(|_| tool("news").arguments("Lisbon").start().complete());
            });
            guard.complete();
        }
    });
    let points = probe.points("llmperf.agent.repeated_calls");
    let of = |tool: &str| {
        let found = points.iter().find(|point| point.attribute("gen_ai.tool.name") == tool);
        found.map(|point| (point.attribute("gen_ai.agent.name").to_owned(), point.sum))
    };
    assert_eq!(of("weather"), Some(("desk".to_owned(), 6.0)), "the third, fourth and fifth of each run");
    assert_eq!(of("news").unwrap().1, 4.0);
    assert_eq!(of("status"), None, "without arguments nothing is claimed");
    for span in probe.spans().iter().filter(|span| span.name == "invoke_agent desk") {
        assert_eq!(attribute(span, "llmperf.agent.repeated_tool"), Some("weather"));
        assert_eq!(attribute(span, "llmperf.agent.repeats"), Some("5"));
    }
}

#[test]
fn two_of_a_kind_and_repetitions_of_other_runs_are_no_loop() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        for _ in 0..4 {
            let mut guard = run("desk").start();
            guard.in_scope(|| {
                (0..2).for_each(|_| tool("weather").arguments("Lisbon").start().complete());
                run("inner")
                    .in_scope(|| tool("weather").arguments("Lisbon").start().complete(), |guard, ()| guard.complete());
            });
            guard.complete();
        }
    });
    assert!(probe.points("llmperf.agent.repeated_calls").is_empty());
    assert!(!probe.spans().iter().any(|span| attribute(span, "llmperf.agent.repeats").is_some()));
}

#[test]
fn calls_that_end_after_their_run_are_no_loop_of_it() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("desk").start();
        let late: Vec<_> = guard.in_scope(|| (0..4).map(|_| tool("weather").arguments("Lisbon").start()).collect());
        guard.complete();
        late.into_iter().for_each(llmperf_agent::Guard::complete);
    });
    assert!(probe.points("llmperf.agent.repeated_calls").is_empty());
    assert_eq!(probe.count("llmperf.tool.calls"), 4.0);
}
