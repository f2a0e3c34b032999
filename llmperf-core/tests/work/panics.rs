//! Methods of a work that panic, and where guards end that outlive their threads: the application notices nothing.

use std::{
    any::Any,
    cell::RefCell,
    future::pending,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, stream};
use llmperf_core::{
    FinishedCall, Observer, Outcome, StartedCall, Work as _, chat,
    opentelemetry::{Context, KeyValue},
    testing::Probe,
};

use crate::job::{Ends, agent, tool};

fn caught(probe: &Probe) -> f64 {
    let events = probe.points("llmperf.internal.events");
    let panics = events.iter().filter(|point| point.attribute("llmperf.internal.kind") == "caught_panic");
    panics.map(|point| point.sum).sum()
}

#[test]
fn a_method_that_panics_is_caught_and_counted_and_the_work_is_recorded_all_the_same() {
    for method in ["begin", "opened", "title", "ended", "attributes"] {
        let (probe, ends) = (Probe::new(), Ends::default());
        let value = probe.instrumentation().sync_scope(|| {
            tool("weather").told(&ends).panicking_in(method).in_scope(
                || 7,
                |guard, value| {
                    guard.complete();
                    value
                },
            )
        });
        assert_eq!((value, ends.lock().unwrap().len()), (7, 1), "{method}");
        assert_eq!(caught(&probe), 1.0, "{method}");
        assert_eq!(probe.instrumentation().live_calls(), 0, "{method}");
        assert_eq!(probe.spans().len(), usize::from(method != "begin"), "{method}");
        let series = &probe.instrumentation().snapshot().series[0];
        assert_eq!(series.name, if method == "title" { "_OTHER" } else { "weather" });
    }
}

#[test]
fn what_panics_when_it_is_asked_of_a_drop_leaves_it_cancelled() {
    for method in ["deadline", "if_dropped"] {
        let (probe, ends) = (Probe::new(), Ends::default());
        probe.instrumentation().sync_scope(|| drop(tool("weather").told(&ends).panicking_in(method).start()));
        assert_eq!((ends.lock().unwrap()[0].outcome, caught(&probe)), (Outcome::Cancelled, 1.0), "{method}");
    }
}

/// A panic in a destructor during a panic would abort the process.
#[test]
fn methods_may_panic_while_the_thread_unwinds() {
    for method in ["title", "ended", "attributes"] {
        let (probe, ends) = (Probe::new(), Ends::default());
        let unwound = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                probe.instrumentation().sync_scope(|| {
                    let _guard = tool("weather").told(&ends).panicking_in(method).start();
                    panic!("scripted");
                })
            });
            thread.join()
        });
        assert!(unwound.is_err());
        assert_eq!(ends.lock().unwrap()[0].error_type.as_deref(), Some("panic"), "{method}");
        assert_eq!(caught(&probe), 1.0);
    }
}

#[test]
fn an_observer_of_a_run_that_panics_is_caught_and_counted() {
    #[derive(Debug)]
    struct Panics;
    impl Observer for Panics {
        fn started(&self, _: &StartedCall<'_>) {
            panic!("started");
        }
        fn finished(&self, _: &FinishedCall<'_>) {
            panic!("finished");
        }
    }
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        agent("desk")
            .observed(Arc::new(Panics))
            .in_scope(|| drop(chat("openai", "gpt-4o").start()), |guard, ()| guard.complete());
    });
    assert_eq!(caught(&probe), 2.0);
    assert_eq!(probe.tree(), "agent desk\n  chat gpt-4o\n");
}

thread_local! {
    static KEPT: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// Keeps what `make` gives in a thread-local that is destroyed after those of OpenTelemetry: it was used before.
fn left_to_a_thread<T: 'static>(make: impl FnOnce() -> T + Send) {
    thread::scope(|scope| {
        let thread = scope.spawn(|| KEPT.with_borrow_mut(|kept| *kept = Some(Box::new(make()))));
        thread.join().unwrap();
    });
}

fn outcomes(ends: &Ends) -> Vec<(String, Outcome)> {
    ends.lock().unwrap().iter().map(|end| (end.name.clone(), end.outcome)).collect()
}

#[test]
fn guards_futures_and_streams_in_thread_locals_end_with_their_thread() {
    let (probe, ends) = (Probe::new(), Ends::default());
    let scope = probe.instrumentation();
    left_to_a_thread(|| scope.sync_scope(|| agent("guard").told(&ends).start()));
    left_to_a_thread(|| {
        scope.sync_scope(|| {
            let held = ends.clone();
            let inside = async move {
                let _held = tool("held").told(&held).start();
                pending::<()>().await;
            };
            let mut future = Box::pin(tool("future").told(&ends).run_then(inside, |guard, ()| guard.complete()));
            assert!(future.as_mut().now_or_never().is_none());
            future
        })
    });
    left_to_a_thread(|| {
        scope.sync_scope(|| {
            let mut measured = tool("stream").told(&ends).start().stream(stream::iter([1, 2]), |_, _| {});
            assert_eq!(measured.next().now_or_never().flatten(), Some(1));
            measured
        })
    });
    let cancelled = ["guard", "held", "future", "stream"].map(|name| (name.to_owned(), Outcome::Cancelled));
    assert_eq!(outcomes(&ends), cancelled);
    assert_eq!((probe.spans().len(), caught(&probe), probe.instrumentation().live_calls()), (4, 0.0, 0));
}

#[test]
fn work_is_done_while_a_thread_ends() {
    struct Cleanup(llmperf_core::Instrumentation, Ends);
    impl Drop for Cleanup {
        fn drop(&mut self) {
            self.0.sync_scope(|| ());
            tool("by hand").told(&self.1).in_scope(|| (), |guard, ()| guard.complete());
            let _ = tool("future")
                .told(&self.1)
                .run_then(std::future::ready(()), |guard, ()| guard.complete())
                .now_or_never();
        }
    }
    let (probe, ends) = (Probe::new(), Ends::default());
    left_to_a_thread(|| {
        probe.instrumentation().sync_scope(|| drop(tool("before").start()));
        Cleanup(probe.instrumentation().clone(), ends.clone())
    });
    let complete = ["by hand", "future"].map(|name| (name.to_owned(), Outcome::Complete));
    assert_eq!(outcomes(&ends), complete);
}

#[test]
fn a_guard_or_a_future_that_is_dropped_inside_a_borrow_of_the_current_context_is_recorded() {
    let (probe, ends) = (Probe::new(), Ends::default());
    let (guard, future) = probe.instrumentation().sync_scope(|| {
        let mut future = Box::pin(tool("future").told(&ends).run_then(pending::<()>(), |guard, ()| guard.complete()));
        assert!(future.as_mut().now_or_never().is_none());
        (tool("guard").told(&ends).start(), future)
    });
    Context::map_current(|_| drop((guard, future)));
    let cancelled = ["guard", "future"].map(|name| (name.to_owned(), Outcome::Cancelled));
    assert_eq!((outcomes(&ends), probe.spans().len()), (cancelled.into(), 2));
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn guards_in_tasks_of_a_runtime_that_shuts_down_are_cancelled() {
    let (probe, ends) = (Probe::new(), Ends::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (instrumentation, told) = (probe.instrumentation().clone(), ends.clone());
    let (began, begun) = tokio::sync::oneshot::channel();
    runtime.spawn(async move {
        let body = async {
            let _held = tool("held").told(&told).start();
            began.send(()).unwrap();
            pending::<()>().await;
        };
        let run = async { agent("run").told(&told).run_then(body, |guard, ()| guard.complete()).await };
        instrumentation.scope(run).await;
    });
    runtime.block_on(begun).unwrap();
    runtime.shutdown_timeout(Duration::from_secs(60));
    let cancelled = ["held", "run"].map(|name| (name.to_owned(), Outcome::Cancelled));
    assert_eq!(outcomes(&ends), cancelled, "what goes on inside ends before the run does");
    assert_eq!((probe.instrumentation().live_calls(), caught(&probe)), (0, 0.0));
}

/// A sampler that panics costs the span, and is counted.
#[test]
fn a_sampler_that_panics_costs_the_span_only() {
    #[derive(Clone, Debug)]
    struct Panics(Arc<Mutex<u32>>);
    impl opentelemetry_sdk::trace::ShouldSample for Panics {
        fn should_sample(
            &self,
            _: Option<&Context>,
            _: llmperf_core::opentelemetry::TraceId,
            _: &str,
            _: &llmperf_core::opentelemetry::trace::SpanKind,
            _: &[KeyValue],
            _: &[llmperf_core::opentelemetry::trace::Link],
        ) -> opentelemetry_sdk::trace::SamplingResult {
            *self.0.lock().unwrap() += 1;
            panic!("sampler");
        }
    }
    let asked = Arc::new(Mutex::new(0));
    let sampler = Panics(asked.clone());
    let tracers = opentelemetry_sdk::trace::SdkTracerProvider::builder().with_sampler(sampler).build();
    let (probe, ends) = (Probe::with(|builder| builder.tracer_provider(&tracers)), Ends::default());
    probe.instrumentation().sync_scope(|| tool("weather").told(&ends).in_scope(|| (), |guard, ()| guard.complete()));
    assert_eq!((*asked.lock().unwrap(), outcomes(&ends).len(), caught(&probe)), (1, 1, 1.0));
}
