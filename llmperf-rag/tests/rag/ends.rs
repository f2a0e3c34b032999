//! Every way in which a piece of work can end, of every sort: how its span, its metrics and its statistics call that.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::pin,
    task::Context,
};

use futures::{StreamExt as _, executor::block_on, stream, task::noop_waker};
use llmperf_core::{stats::Window, testing::Probe};
use llmperf_rag::{Guard, Index, Verdict, Work, assemble, embedding, generation, pipeline, rerank, retrieval};

use crate::bench::{attribute, millis};

/// `llmperf.outcome` and `error.type` of the only span, and that statistics agree.
fn ended(probe: &Probe) -> (String, String) {
    let span = probe.span();
    let outcome = attribute(&span, "llmperf.outcome");
    let snapshot = probe.instrumentation().snapshot();
    for series in &snapshot.series {
        let outcomes = serde_json::to_value(series.window(Window::SinceStart).unwrap().outcomes).unwrap();
        assert_eq!(outcomes[&outcome], 1, "{series:?}");
    }
    assert!(!snapshot.series.is_empty());
    assert_eq!(probe.instrumentation().live_calls(), 0);
    (outcome, attribute(&span, "error.type"))
}

fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

fn check<W: Work>(sort: &str, make: impl Fn() -> W) {
    let with = |path: &str, expected: (&str, &str), end: &dyn Fn(&Probe)| {
        let probe = Probe::new();
        probe.instrumentation().sync_scope(|| end(&probe));
        assert_eq!(ended(&probe), (expected.0.to_owned(), expected.1.to_owned()), "{sort}: {path}");
    };
    with("Ok", ("complete", ""), &|_| {
        block_on(make().run(async { io::Result::Ok(()) })).unwrap();
    });
    with("Err", ("error", "connection_refused"), &|_| {
        block_on(make().run(async { Err::<(), _>(refused()) })).unwrap_err();
    });
    with("?", ("error", "connection_refused"), &|_| {
        block_on(make().run(async {
            Err::<(), _>(refused())?;
            io::Result::Ok(())
        }))
        .unwrap_err();
    });
    with("plain code", ("complete", ""), &|_| make().in_scope(|| (), |guard, ()| guard.complete()));
    with("a value that failed", ("error", "quota"), &|_| {
        make().in_scope(|| "quota", Guard::fail);
    });
    with("what looks like no code", ("error", "_OTHER"), &|_| make().start().fail("the disk is full"));
    with("panic of a future", ("error", "panic"), &|_| {
        let run = || {
            block_on(make().run(async {
                if !sort.is_empty() {
                    resume_unwind(Box::new(()));
                }
                io::Result::Ok(())
            }))
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    });
    with("panic of plain code", ("error", "panic"), &|_| {
        let run = || make().in_scope(|| resume_unwind(Box::new(())), |guard, ()| guard.complete());
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    });
    with("drop of a future", ("cancelled", ""), &|_| {
        let mut future = Box::pin(make().run(std::future::pending::<io::Result<()>>()));
        assert!(future.as_mut().poll(&mut Context::from_waker(&noop_waker())).is_pending());
    });
    with("drop of a guard", ("cancelled", ""), &|_| drop(make().start()));
    with("stream to its end", ("complete", ""), &|_| {
        let stream = make().start().stream(stream::iter([1, 2]), |_, _| {});
        assert_eq!(block_on(stream.collect::<Vec<_>>()), [1, 2]);
    });
    with("stream dropped midway", ("cancelled", ""), &|_| {
        let mut stream = pin!(make().start().stream(stream::iter([1, 2]), |_, _| {}));
        assert_eq!(block_on(stream.next()), Some(1));
    });
    with("stream error", ("error", "connection_refused"), &|_| {
        let items = stream::iter([Ok(1), Err(refused())]);
        let stream = make().start().stream(items, |guard, item: &io::Result<u8>| {
            if item.is_err() {
                guard.judge(Verdict::of(item));
            }
        });
        assert_eq!(block_on(stream.collect::<Vec<_>>()).len(), 2);
    });
}

#[test]
fn every_way_to_end_is_recorded_once_and_called_by_its_name() {
    check("retrieval", || retrieval().store("a"));
    check("rerank", || rerank().model("a"));
    check("assemble", assemble);
    check("embedding", embedding);
    check("generation", generation);
    check("pipeline", || pipeline("a"));
    check("index", || Index::new("a").build());
    check("embedding call", || embedding().provider("openai").model("ada"));
    check("generation call", || generation().provider("openai").model("gpt"));
}

#[test]
fn a_deadline_makes_a_late_drop_a_timeout_in_every_sort() {
    fn check<W: Work>(work: W) {
        let probe = Probe::new();
        probe.instrumentation().sync_scope(|| {
            let guard = work.start();
            probe.clock().advance(millis(60));
            drop(guard);
        });
        assert_eq!(ended(&probe), ("error".to_owned(), "timeout".to_owned()));
    }
    check(retrieval().deadline(millis(50)));
    check(rerank().deadline(millis(50)));
    check(assemble().deadline(Some(millis(50))));
    check(embedding().deadline(millis(50)));
    check(generation().deadline(millis(50)));
    check(pipeline("a").deadline(millis(50)));
    check(Index::new("a").build().deadline(millis(50)));
    check(embedding().model("ada").deadline(millis(50)));
    check(generation().model("gpt").deadline(millis(50)));
}
