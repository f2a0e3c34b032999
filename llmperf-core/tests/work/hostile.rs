//! Work in hostile company: streams that panic where none expects it, chains without end, ends out of order, processors and
//! views that panic or come back, snapshots that lie.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::mpsc,
    task::Poll,
    thread,
    time::Duration,
};

use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use llmperf_core::{
    Outcome, Work as _,
    opentelemetry::{Context, trace::TraceContextExt},
    stats::{Diagnose, Snapshot, Window},
    testing::Probe,
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SdkTracerProvider, Span, SpanData, SpanProcessor},
};

use crate::job::{Ends, agent, stage, tool};

/// A stream that never ends and whose size nobody may ask for.
struct Unsized;

impl Stream for Unsized {
    type Item = u8;

    fn poll_next(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<Option<u8>> {
        Poll::Ready(Some(1))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        panic!("a size nobody may ask for")
    }
}

fn outcomes(ends: &Ends) -> Vec<(String, Outcome)> {
    ends.lock().unwrap().iter().map(|end| (end.name.clone(), end.outcome)).collect()
}

#[test]
fn a_stream_that_panics_when_it_is_asked_for_its_size_is_dropped_all_the_same() {
    let (probe, ends) = (Probe::new(), Ends::default());
    let measured = || {
        probe
            .instrumentation()
            .sync_scope(|| tool("calm").told(&ends).start().stream(Unsized, |guard, _| guard.output()))
    };
    assert!(catch_unwind(AssertUnwindSafe(|| drop(measured()))).is_ok());
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _dropped_while_it_unwinds = measured();
        panic!("the consumer's own");
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"the consumer's own"));
    let cancelled = ["calm", "calm"].map(|name| (name.to_owned(), Outcome::Cancelled));
    assert_eq!(outcomes(&ends), cancelled);
}

#[test]
fn what_panics_in_its_own_destructor_does_so_as_without_us_and_is_recorded() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("a destructor");
            }
        }
    }
    let (probe, ends) = (Probe::new(), Ends::default());
    let scope = probe.instrumentation();
    let cases: [&dyn Fn(); 3] = [
        &|| {
            let bomb = Bomb;
            let mut future = Box::pin(tool("future").told(&ends).run_then(
                async move {
                    let _held = bomb;
                    futures::pending!();
                },
                |guard, ()| guard.complete(),
            ));
            assert!(future.as_mut().now_or_never().is_none());
            drop(future);
        },
        &|| {
            let bomb = Bomb;
            let future = tool("ready").told(&ends).run_then(async move { drop(bomb) }, |guard, ()| guard.complete());
            let _ = future.now_or_never();
        },
        &|| {
            let bomb = Bomb;
            let items = stream::iter([1, 2]).map(move |item| (item, &bomb).0);
            drop(tool("stream").told(&ends).start().stream(items, |_, _| {}));
        },
    ];
    for case in cases {
        let panic = catch_unwind(AssertUnwindSafe(|| scope.sync_scope(case))).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"a destructor"));
    }
    assert_eq!(ends.lock().unwrap().len(), 3);
    assert_eq!(scope.live_calls(), 0);
    assert!(!Context::map_current(TraceContextExt::has_active_span), "no context stays behind");
}

#[test]
fn each_task_that_starts_the_next_in_its_scope_makes_no_chain_without_end() {
    let probe = Probe::with(|builder| builder.tracer_provider(&SdkTracerProvider::default()));
    let ends = Ends::default();
    let mut before = probe.instrumentation().sync_scope(|| agent("poller").start());
    for _ in 0..20_000 {
        let _current = before.context().attach();
        let next = agent("poller").start();
        mem::replace(&mut before, next).complete();
    }
    {
        let _current = before.context().attach();
        tool("last").told(&ends).in_scope(|| (), |guard, ()| guard.complete());
    }
    assert!(ends.lock().unwrap()[0].late, "what is cut off is said to be");
    assert_eq!(probe.instrumentation().snapshot().series.len(), 2, "the instrumentation is found through all of them");
}

#[test]
fn what_goes_on_very_deep_is_let_go_without_a_deep_stack() {
    let probe = Probe::with(|builder| builder.tracer_provider(&SdkTracerProvider::default()));
    let mut all = vec![probe.instrumentation().sync_scope(|| agent("deep").start())];
    for _ in 0..20_000 {
        let _current = all.last().unwrap().context().attach();
        all.push(agent("deep").start());
    }
    all.into_iter().for_each(llmperf_core::Guard::complete);
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn guards_end_in_any_order_and_on_any_thread() {
    let (probe, ends) = (Probe::new(), Ends::default());
    let (outer, inner) = probe.instrumentation().sync_scope(|| {
        let outer = agent("outer").told(&ends).start();
        let current = outer.context().attach();
        let inner = tool("inner").told(&ends).start();
        drop(current);
        (outer, inner)
    });
    outer.complete();
    thread::spawn(move || inner.complete()).join().unwrap();
    assert_eq!(probe.tree(), "agent outer\n  tool inner\n");
    assert_eq!(ends.lock().unwrap().iter().map(|end| end.late).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn what_is_forgotten_takes_nothing_else_with_it() {
    let (probe, ends) = (Probe::new(), Ends::default());
    probe.instrumentation().sync_scope(|| {
        agent("outer").told(&ends).in_scope(
            || {
                mem::forget(tool("guard").told(&ends).start());
                let mut future = Box::pin(
                    tool("future").told(&ends).run_then(async { futures::pending!() }, |guard, ()| guard.complete()),
                );
                assert!(future.as_mut().now_or_never().is_none());
                mem::forget(future);
                tool("after").told(&ends).in_scope(|| (), |guard, ()| guard.complete());
            },
            |guard, ()| guard.complete(),
        );
    });
    assert_eq!(outcomes(&ends), ["after", "outer"].map(|name| (name.to_owned(), Outcome::Complete)));
    assert_eq!(probe.instrumentation().live_calls(), 2, "what was forgotten lives");
    assert_eq!(probe.tree(), "agent outer\n  tool after\n");
}

#[test]
fn a_stream_goes_from_thread_to_thread_and_on_after_its_end() {
    let (probe, ends) = (Probe::new(), Ends::default());
    let mut left = [None, Some(9), None, Some(8)].into_iter().rev().collect::<Vec<_>>();
    let odd = stream::poll_fn(move |_| Poll::Ready(left.pop().flatten()));
    let mut measured = probe.instrumentation().sync_scope(|| tool("odd").told(&ends).start().stream(odd, |_, _| {}));
    for expected in [None, Some(9), None, Some(8)] {
        measured = thread::spawn(move || {
            assert_eq!(measured.next().now_or_never(), Some(expected));
            measured
        })
        .join()
        .unwrap();
    }
    drop(measured);
    assert_eq!(outcomes(&ends), [("odd".to_owned(), Outcome::Complete)]);
}

/// A processor that does as it is told.
#[derive(Clone, Debug)]
struct Hostile(fn(&'static str));

impl SpanProcessor for Hostile {
    fn on_start(&self, _: &mut Span, _: &Context) {
        (self.0)("start");
    }

    fn on_end(&self, _: SpanData) {
        (self.0)("end");
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

fn traced_by(processor: Hostile) -> Probe {
    let tracers = SdkTracerProvider::builder().with_span_processor(processor).build();
    Probe::with(|builder| builder.tracer_provider(&tracers))
}

#[test]
fn processors_that_panic_leave_everything_but_the_span_as_it_was() {
    let panicking: [fn(&'static str); 2] =
        [|when| assert!(when != "start", "on purpose"), |when| assert!(when != "end", "on purpose")];
    for panics in panicking {
        let (probe, ends) = (traced_by(Hostile(panics)), Ends::default());
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            probe.instrumentation().sync_scope(|| {
                agent("outer").told(&ends).in_scope(
                    || {
                        tool("whole").told(&ends).in_scope(|| (), |guard, ()| guard.complete());
                        let _held = tool("torn").told(&ends).start();
                        panic!("the application's own");
                    },
                    |guard, ()| guard.complete(),
                );
            });
        }));
        assert_eq!(unwound.unwrap_err().downcast_ref(), Some(&"the application's own"));
        let seen: Vec<_> = outcomes(&ends).into_iter().map(|(name, outcome)| format!("{name} {outcome:?}")).collect();
        assert_eq!(seen, ["whole Complete", "torn Error", "outer Error"]);
        assert_eq!(probe.instrumentation().live_calls(), 0);
    }
}

#[test]
fn processors_and_views_that_come_back_wait_for_nobody() {
    fn again(_: &'static str) {
        thread_local! {
            static DEEP: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
        }
        if !DEEP.replace(true) {
            tool("again").in_scope(|| (), |guard, ()| guard.complete());
            let _ = llmperf_core::Instrumentation::current().snapshot();
            DEEP.set(false);
        }
    }
    let (done, waits) = mpsc::channel();
    thread::spawn(move || {
        let (probe, ends) = (traced_by(Hostile(again)), Ends::default());
        probe.instrumentation().sync_scope(|| tool("first").told(&ends).in_scope(|| (), |guard, ()| guard.complete()));
        done.send(outcomes(&ends)).unwrap();
    });
    let ended = waits.recv_timeout(Duration::from_secs(60)).expect("it waits for itself");
    assert_eq!(ended, [("first".to_owned(), Outcome::Complete)]);
}

/// A snapshot of one pipeline in which every number of seconds, and every count, is as large as it can be read.
fn lying() -> Vec<Snapshot> {
    let probe = Probe::new();
    for _ in 0..12 {
        probe.instrumentation().sync_scope(|| {
            agent("desk").in_scope(
                || {
                    for name in ["search", "search", "rerank"] {
                        stage(name, "")
                            .in_scope(|| probe.clock().advance(Duration::from_millis(7)), |guard, ()| guard.complete());
                    }
                },
                |guard, ()| guard.complete(),
            );
        });
    }
    let honest = serde_json::to_value(probe.instrumentation().snapshot()).unwrap();
    let lies = [(1.8e19, u64::MAX), (0.0, 0), (1e-12, 1)];
    lies.map(|lie| serde_json::from_value(with(&honest, lie)).unwrap()).into()
}

fn with(honest: &serde_json::Value, lie: (f64, u64)) -> serde_json::Value {
    use serde_json::Value;
    match honest {
        Value::Object(fields) => {
            let kept = |key: &str| matches!(key, "histogram" | "squares" | "by_sequential");
            fields
                .iter()
                .map(|(key, value)| (key.clone(), if kept(key) { value.clone() } else { with(value, lie) }))
                .collect()
        }
        Value::Array(items) => items.iter().map(|item| with(item, lie)).collect(),
        Value::Number(number) if number.is_f64() => lie.0.into(),
        Value::Number(_) => lie.1.into(),
        other => other.clone(),
    }
}

#[test]
fn a_snapshot_that_lies_is_diagnosed_without_a_panic() {
    let all = lying();
    assert!(!all.is_empty());
    for one in &all {
        for other in &all {
            let mut merged = one.clone();
            merged.merge(other);
            for snapshot in [one, &merged] {
                let diagnosis = Diagnose::new().window(Window::SinceStart).against(snapshot, other);
                assert!(!diagnosis.to_string().is_empty());
                assert!(!snapshot.to_string().is_empty());
                assert!(serde_json::to_string(&diagnosis).is_ok());
            }
        }
    }
}

#[test]
fn nothing_zero_and_itself_have_not_grown() {
    let probe = Probe::new();
    for _ in 0..50 {
        probe.instrumentation().sync_scope(|| {
            agent("desk").in_scope(
                || stage("search", "").in_scope(|| (), |guard, ()| guard.complete()),
                |guard, ()| guard.complete(),
            );
        });
    }
    let (still, nothing) = (probe.instrumentation().snapshot(), Snapshot::default());
    for (now, earlier) in [(&still, &still), (&still, &nothing), (&nothing, &still), (&nothing, &nothing)] {
        let diagnosis = now.diagnose_against(earlier);
        assert!(diagnosis.roots.iter().all(|root| root.growth.is_none() && root.retrieval_share.is_none()));
        assert!(!diagnosis.to_string().contains("NaN"));
        assert!(!serde_json::to_string(&diagnosis).unwrap().contains("null,\"other\":NaN"));
    }
}
