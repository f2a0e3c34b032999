//! In which run, and in whose instrumentation, work is: nested, spawned, late.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::executor::block_on;
use llmperf_core::{
    FinishedCall, InCurrentScope as _, Instrumentation, Observer, Scope, Work as _, chat,
    opentelemetry::Context,
    part::{Beginning, Ended, Opening, Title},
    stats::{SeriesKind, Window},
    testing::Probe,
};

use crate::job::{Ends, agent, pipeline, plan, stage, step, tool};

fn measured(instrumentation: &Instrumentation, name: &str) -> bool {
    instrumentation.snapshot().series.iter().any(|series| series.name == name)
}

#[test]
fn the_nearest_instrumentation_is_the_one_that_counts() {
    let (outer, inner) = (Probe::new(), Probe::new());
    block_on(outer.instrumentation().scope(async {
        drop(tool("before").start());
        inner.instrumentation().scope(async { drop(tool("inside").start()) }).await;
        inner.instrumentation().sync_scope(|| drop(tool("inside too").start()));
        drop(tool("behind").start());
    }));
    let of = |probe: &Probe, names: [&str; 4]| names.map(|name| measured(probe.instrumentation(), name));
    let names = ["before", "inside", "inside too", "behind"];
    assert_eq!(of(&outer, names), [true, false, false, true]);
    assert_eq!(of(&inner, names), [false, true, true, false]);
}

/// Two clocks have nothing to tell each other: neither when something was, nor where time went.
#[test]
fn a_run_on_another_clock_keeps_its_own_times() {
    let (outer, inner) = (Probe::new(), Probe::new());
    outer.clock().advance(Duration::from_secs(1_000));
    outer.instrumentation().sync_scope(|| {
        pipeline("support").in_scope(
            || {
                inner.instrumentation().sync_scope(|| {
                    tool("weather")
                        .in_scope(|| inner.clock().advance(Duration::from_secs(7)), |guard, ()| guard.complete());
                    drop(chat("openai", "gpt-4o").start());
                });
                outer.clock().advance(Duration::from_secs(2));
            },
            |guard, ()| guard.complete(),
        );
    });
    let spans = inner.spans();
    let epoch = outer.spans()[0].start_time - Duration::from_secs(1_000);
    assert_eq!((spans[0].start_time, spans[0].end_time), (epoch, epoch + Duration::from_secs(7)));
    assert_eq!(spans[1].start_time, epoch + Duration::from_secs(7));
    let diagnosis = outer.instrumentation().snapshot().diagnose();
    assert_eq!((diagnosis.roots[0].shares.len(), diagnosis.roots[0].other), (0, Some(1.0)));
}

#[test]
fn what_is_spawned_is_inside_by_one_visible_call_only() {
    let probe = Probe::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(probe.instrumentation().scope(async {
        let instrumentation = probe.instrumentation().clone();
        let body = async move {
            let inside = tokio::spawn(async { drop(tool("inside").start()) }.in_current_scope());
            let outside = tokio::spawn(async move { instrumentation.sync_scope(|| drop(tool("outside").start())) });
            inside.await.unwrap();
            outside.await.unwrap();
        };
        agent("desk").run_then(body, |guard, ()| guard.complete()).await;
    }));
    let tree = probe.tree();
    assert!(tree.contains("agent desk\n  tool inside\n"), "{tree}");
    assert!(tree.lines().any(|line| line == "tool outside"), "{tree}");
    let shares = &probe.instrumentation().snapshot().diagnose().roots[0].shares.clone();
    assert!(shares.iter().all(|share| share.title.name.as_str() != "outside"));
}

#[test]
fn what_outlives_its_run_is_late_and_counted_once() {
    let probe = Probe::new();
    let ends = Ends::default();
    let late = probe.instrumentation().sync_scope(|| {
        let mut run = agent("desk").told(&ends).start();
        let late = run.in_scope(|| {
            step("first").told(&ends).in_scope(
                || tool("slow").told(&ends).start(),
                |step, tool| {
                    step.complete();
                    tool
                },
            )
        });
        run.complete();
        late
    });
    late.complete();
    let told: Vec<(String, bool)> = ends.lock().unwrap().iter().map(|end| (end.name.clone(), end.late)).collect();
    assert_eq!(told, [("desk".into(), false), ("desk".into(), false), ("slow".into(), true)]);
    let events = probe.points("llmperf.internal.events");
    assert_eq!((events.len(), events[0].attribute("llmperf.internal.kind"), events[0].sum), (1, "late_call", 1.0));
}

#[test]
fn work_does_not_leak_between_tasks_that_take_turns() {
    let probe = Probe::new();
    let job = |name: &'static str, inner: &'static str| async move {
        let body = async move {
            for _ in 0..3 {
                tokio::task::yield_now().await;
                drop(tool(inner).start());
            }
        };
        pipeline(name).run_then(body, |guard, ()| guard.complete()).await;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(probe.instrumentation().scope(async {
        tokio::join!(job("one", "a"), job("two", "b"));
    }));
    let inner = |name: &str| format!("  tool {name}\n").repeat(3);
    assert_eq!(probe.tree(), format!("pipeline one\n{}pipeline two\n{}", inner("a"), inner("b")));
}

/// A model's stream that runs its tools itself: what they ask of the same model is no attempt at the call that goes on.
#[test]
fn what_a_tool_asks_inside_a_live_call_is_a_call_of_its_own() {
    let probe = Probe::new();
    let attempts = probe.instrumentation().sync_scope(|| {
        let mut outer = chat("openai", "gpt-4o").start();
        outer.in_scope(|| {
            assert!(llmperf_core::current_call().is_some());
            tool("summary").in_scope(
                || {
                    assert!(llmperf_core::current_call().is_none());
                    let mut inner = chat("openai", "gpt-4o").start();
                    inner.in_scope(|| drop(chat("api.openai.com", "").transport().start()));
                    assert_eq!(inner.finish().attempts, Some(1), "its own transport joins it as ever");
                },
                |guard, ()| guard.complete(),
            );
            stage("retrieve", "").in_scope(|| drop(chat("openai", "gpt-4o").start()), |guard, ()| guard.complete());
        });
        outer.finish().attempts
    });
    assert_eq!(attempts, Some(1), "the one in the stage");
    assert_eq!(probe.count("llmperf.client.calls"), 2.0);
}

#[test]
fn so_it_is_without_a_tracer_and_without_a_run() {
    let mut outer = chat("openai", "asked by a lone tool").start();
    outer.in_scope(|| {
        let inner = || drop(chat("openai", "asked by a lone tool").start());
        tool("summary").in_scope(inner, |guard, ()| guard.complete());
    });
    let _ = outer.finish();
    let snapshot = Instrumentation::global().snapshot();
    let calls = snapshot.call("openai", "asked by a lone tool").unwrap().window(Window::SinceStart).unwrap();
    assert_eq!(calls.outcomes.all(), 2);
}

/// The function that sends the request of a call may be marked as a step: the transport inside it is the call's.
#[test]
fn a_mark_around_the_request_of_a_call_makes_no_second_call_of_it() {
    for mark in [step("ask"), stage("generate", "gpt-4o"), plan("desk")] {
        let probe = Probe::new();
        let attempts = probe.instrumentation().sync_scope(|| {
            let mut outer = chat("openai", "gpt-4o").start();
            let request = || drop(chat("api.openai.com", "").transport().start());
            outer.in_scope(|| mark.in_scope(request, |guard, ()| guard.complete()));
            outer.finish().attempts
        });
        assert_eq!(attempts, Some(1));
        assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    }
}

/// Counts the calls that end inside.
#[derive(Debug, Default)]
struct Calls(Mutex<Vec<String>>);

impl Observer for Calls {
    fn finished(&self, call: &FinishedCall<'_>) {
        let is_nearest = call.nearest::<Self>().is_some_and(|nearest| std::ptr::eq(&*nearest, self));
        self.0.lock().unwrap().push(format!("{} {is_nearest}", call.model));
    }
}

#[test]
fn calls_are_told_to_each_run_around_them_and_know_the_nearest() {
    let (outer, inner) = (Arc::new(Calls::default()), Arc::new(Calls::default()));
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        agent("outer").observed(outer.clone()).in_scope(
            || {
                drop(chat("openai", "first").start());
                agent("inner")
                    .observed(inner.clone())
                    .in_scope(|| drop(chat("openai", "second").start()), |g, ()| g.complete());
            },
            |guard, ()| guard.complete(),
        );
        drop(chat("openai", "third").start());
    });
    assert_eq!(*outer.0.lock().unwrap(), ["first true", "second false"]);
    assert_eq!(*inner.0.lock().unwrap(), ["second true"]);
}

/// Sees, at its beginning and at its end, which run it is in.
#[derive(Debug)]
struct Curious(Arc<Mutex<Vec<bool>>>);

impl llmperf_core::Work for Curious {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        self.0.lock().unwrap().push(beginning.nearest::<Calls>().is_some());
        Opening::without_span()
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Tool, "curious", "")
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        self.0.lock().unwrap().push(ended.nearest::<Calls>().is_some());
    }
}

#[test]
fn work_finds_the_run_around_it_through_scopes_of_others() {
    #[derive(Debug)]
    struct Other;
    impl Observer for Other {}
    let seen = Arc::new(Mutex::new(Vec::new()));
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        drop(Curious(seen.clone()).start());
        agent("desk").observed(Arc::new(Calls::default())).in_scope(
            || {
                let other = Scope::open(&Context::current(), Arc::new(Other));
                let _inside = other.context().clone().attach();
                stage("retrieve", "").in_scope(|| drop(Curious(seen.clone()).start()), |guard, ()| guard.complete());
            },
            |guard, ()| guard.complete(),
        );
    });
    assert_eq!(*seen.lock().unwrap(), [false, false, true, true]);
    let shares = probe.instrumentation().snapshot().diagnose().roots[0].shares.clone();
    let curious = shares.iter().find(|share| share.title.name.as_str() == "curious");
    assert!(curious.is_none(), "no time passed on the manual clock: {shares:?}");
}

/// Scopes that are no work stand between a tool and its step without hiding where it is.
#[test]
fn a_part_knows_the_part_around_it_through_scopes_of_others() {
    #[derive(Debug)]
    struct Other;
    impl Observer for Other {}
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        agent("desk").in_scope(
            || {
                step("first").in_scope(
                    || {
                        let other = Scope::open(&Context::current(), Arc::new(Other));
                        let _inside = other.context().clone().attach();
                        tool("weather")
                            .in_scope(|| probe.clock().advance(Duration::from_secs(1)), |guard, ()| guard.complete());
                    },
                    |guard, ()| guard.complete(),
                );
            },
            |guard, ()| guard.complete(),
        );
    });
    let root = probe.instrumentation().snapshot().diagnose().roots.remove(0);
    let shares: Vec<_> = root.shares.iter().map(|share| (share.title.to_string(), share.share)).collect();
    assert_eq!(shares, [("tool weather".to_owned(), 1.0), ("step desk / first".to_owned(), 0.0)]);
    assert_eq!(root.shares[0].within, Some(Title::new(SeriesKind::Step, "desk", "first")));
}
