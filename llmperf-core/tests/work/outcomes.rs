//! Each verb, and each way in which it may end: recorded exactly once, as what it was.

use std::{
    future::{Future, pending, poll_fn, ready},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, stream};
use llmperf_core::{Failure, Outcome, Verdict, Work as _, part::Guard, testing::Probe};

use crate::job::{Ends, Job, tool};

/// A probe, and the ends of the jobs that are told to it.
struct Bench {
    probe: Probe,
    ends: Ends,
}

impl Bench {
    fn new() -> Self {
        Self { probe: Probe::new(), ends: Ends::default() }
    }

    fn job(&self) -> Job {
        tool("weather").told(&self.ends)
    }

    /// Runs code with the probe's instrumentation in force.
    fn run<T>(&self, code: impl FnOnce(Job) -> T) -> T {
        self.probe.instrumentation().sync_scope(|| code(self.job()))
    }

    /// Runs code that panics.
    fn panics<T>(&self, code: impl FnOnce(Job) -> T) {
        assert!(catch_unwind(AssertUnwindSafe(|| self.run(code))).is_err());
    }

    /// Polls a future of a job once.
    fn poll_once<F: Future>(&self, future: impl FnOnce(Job) -> F) -> Option<F::Output> {
        self.run(|job| future(job).now_or_never())
    }

    fn pass(&self, millis: u64) {
        self.probe.clock().advance(Duration::from_millis(millis));
    }

    /// It ended once, like this, everywhere: span, statistics, nothing left alive.
    #[track_caller]
    fn assert_ended(&self, outcome: Outcome, error_type: Option<&str>) {
        let ends = self.ends.lock().unwrap();
        let ended: Vec<_> = ends.iter().map(|end| (end.outcome, end.error_type.as_deref())).collect();
        assert_eq!(ended, [(outcome, error_type)]);
        let expected = if outcome == Outcome::Error { "tool weather !\n" } else { "tool weather\n" };
        assert_eq!(self.probe.tree(), expected);
        let (span, instrumentation) = (self.probe.span(), self.probe.instrumentation());
        let of_span = |key: &str| {
            let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key);
            found.map(|attribute| attribute.value.to_string())
        };
        assert_eq!(of_span("llmperf.outcome").as_deref(), Some(outcome.as_str()));
        assert_eq!(of_span("error.type").as_deref(), error_type);
        let counted = instrumentation.snapshot().series[0].windows[&llmperf_core::stats::Window::SinceStart].outcomes;
        assert_eq!((counted.all(), counted.count(outcome)), (1, 1));
        assert_eq!(instrumentation.live_calls(), 0);
        assert_eq!(self.probe.count("llmperf.internal.events"), 0.0);
    }

    #[track_caller]
    fn assert_not_recorded(&self) {
        assert_eq!((self.ends.lock().unwrap().len(), self.probe.tree().as_str()), (0, ""));
        assert_eq!(self.probe.instrumentation().snapshot().series.len(), 0);
    }
}

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionRefused)
}

/// A guard by hand: how it ends, and as what.
#[test]
fn a_guard_ends_as_it_was_told() {
    type End = fn(Guard<Job>);
    let ends: [(End, Outcome, Option<&str>); 9] = [
        (Guard::complete, Outcome::Complete, None),
        (|guard| guard.fail("rate_limit"), Outcome::Error, Some("rate_limit")),
        (|guard| guard.fail("No such city: Atlantis!"), Outcome::Error, Some("_OTHER")),
        (|guard| guard.failure(Failure::transport("connection_reset")), Outcome::Error, Some("connection_reset")),
        (|guard| guard.end(Verdict::Cancelled), Outcome::Cancelled, None),
        (|guard| guard.end(Verdict::of(&Err::<(), _>(refused()))), Outcome::Error, Some("connection_refused")),
        (drop, Outcome::Cancelled, None),
        (
            |mut guard| {
                guard.judge(Verdict::failed("first"));
                guard.judge(Verdict::failed("second"));
                guard.complete();
            },
            Outcome::Error,
            Some("first"),
        ),
        (
            |mut guard| {
                guard.judge(Verdict::Complete);
                drop(guard);
            },
            Outcome::Complete,
            None,
        ),
    ];
    for (end, outcome, error_type) in ends {
        let bench = Bench::new();
        bench.run(|job| end(job.start()));
        bench.assert_ended(outcome, error_type);
    }
}

#[test]
fn a_guard_that_is_dropped_has_what_its_work_says_of_that() {
    let bench = Bench::new();
    bench.run(|job| drop(job.ends_if_dropped(Verdict::failed("lost")).start()));
    bench.assert_ended(Outcome::Error, Some("lost"));
}

#[test]
fn a_drop_after_the_deadline_is_a_timeout_and_before_it_is_none() {
    for (passes, outcome, error_type) in [
        (499, Outcome::Cancelled, None),
        (500, Outcome::Error, Some("timeout")),
        (9_000, Outcome::Error, Some("timeout")),
    ] {
        let bench = Bench::new();
        bench.run(|job| {
            let _guard = job.deadline_in(Duration::from_millis(500)).start();
            bench.pass(passes);
        });
        bench.assert_ended(outcome, error_type);
    }
    let bench = Bench::new();
    bench.run(|job| {
        let guard = job.deadline_in(Duration::from_millis(500)).start();
        bench.pass(900);
        guard.complete();
    });
    bench.assert_ended(Outcome::Complete, None);
}

#[test]
fn a_guard_dropped_by_a_panic_has_failed() {
    let bench = Bench::new();
    bench.panics(|job| {
        let _guard = job.start();
        panic!("scripted");
    });
    bench.assert_ended(Outcome::Error, Some("panic"));
}

/// A destructor that runs while its thread unwinds may work as ever: the panic is none of its own.
#[test]
fn work_that_began_while_a_thread_unwound_is_not_ended_by_that_panic() {
    struct Cleanup<'a>(&'a Bench);
    impl Drop for Cleanup<'_> {
        fn drop(&mut self) {
            self.0.run(|job| drop(job.start()));
        }
    }
    let bench = Bench::new();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _cleanup = Cleanup(&bench);
        panic!("scripted");
    }));
    assert!(unwound.is_err());
    bench.assert_ended(Outcome::Cancelled, None);
}

#[test]
fn code_in_scope_ends_as_then_says() {
    let bench = Bench::new();
    let value = bench.run(|job| {
        job.in_scope(
            || {
                bench.pass(70);
                7
            },
            |guard, value| {
                guard.complete();
                value + 1
            },
        )
    });
    assert_eq!(value, 8);
    bench.assert_ended(Outcome::Complete, None);
    assert_eq!(bench.ends.lock().unwrap()[0].duration, Duration::from_millis(70));
}

#[test]
fn code_that_is_timed_is_complete_unless_it_panics() {
    let bench = Bench::new();
    assert_eq!(bench.run(|job| job.time(|| 7)), 7);
    bench.assert_ended(Outcome::Complete, None);
    let bench = Bench::new();
    bench.panics(|job| job.time(|| panic!("scripted")));
    bench.assert_ended(Outcome::Error, Some("panic"));
}

#[test]
fn code_in_scope_that_panics_has_failed_and_so_has_a_then_that_does() {
    let bench = Bench::new();
    bench.panics(|job| job.in_scope(|| panic!("scripted"), |guard, ()| guard.complete()));
    bench.assert_ended(Outcome::Error, Some("panic"));
    let bench = Bench::new();
    bench.panics(|job| job.in_scope(|| (), |_guard, ()| panic!("scripted")));
    bench.assert_ended(Outcome::Error, Some("panic"));
}

#[test]
fn a_panic_in_the_scope_of_a_guard_is_how_it_ended_whatever_is_said_later() {
    let bench = Bench::new();
    bench.run(|job| {
        let mut guard = job.start();
        assert!(catch_unwind(AssertUnwindSafe(|| guard.in_scope(|| panic!("scripted")))).is_err());
        bench.pass(30);
        guard.complete();
    });
    bench.assert_ended(Outcome::Error, Some("panic"));
    assert_eq!(
        bench.ends.lock().unwrap()[0].duration,
        Duration::from_millis(30),
        "it went on until its guard was let go"
    );
}

#[test]
fn a_result_is_complete_or_a_failure_and_passes_unchanged() {
    let bench = Bench::new();
    assert_eq!(bench.poll_once(|job| job.run(ready(Ok::<_, io::Error>(7)))).unwrap().unwrap(), 7);
    bench.assert_ended(Outcome::Complete, None);
    let bench = Bench::new();
    let error = bench.poll_once(|job| job.run(ready(Err::<(), _>(refused())))).unwrap().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    bench.assert_ended(Outcome::Error, Some("connection_refused"));
}

#[test]
fn a_future_that_is_dropped_before_its_first_poll_records_nothing() {
    let bench = Bench::new();
    bench.run(|job| drop(job.run(pending::<io::Result<()>>())));
    bench.assert_not_recorded();
}

#[test]
fn a_future_that_is_dropped_midway_is_cancelled_or_a_timeout() {
    let bench = Bench::new();
    assert!(bench.poll_once(|job| job.run(pending::<io::Result<()>>())).is_none());
    bench.assert_ended(Outcome::Cancelled, None);
    let bench = Bench::new();
    bench.run(|job| {
        let mut future = pin!(job.deadline_in(Duration::from_millis(500)).run(pending::<io::Result<()>>()));
        assert!(future.as_mut().now_or_never().is_none());
        bench.pass(501);
    });
    bench.assert_ended(Outcome::Error, Some("timeout"));
}

#[test]
fn the_clock_of_a_future_starts_at_its_first_poll() {
    let bench = Bench::new();
    bench.run(|job| {
        let mut polls = 0;
        let mut future = pin!(job.run_then(
            poll_fn(|_| {
                polls += 1;
                bench.pass(10);
                if polls < 3 { Poll::Pending } else { Poll::Ready(()) }
            }),
            |guard, ()| guard.complete()
        ));
        bench.pass(1_000);
        while future.as_mut().now_or_never().is_none() {
            bench.pass(100);
        }
    });
    bench.assert_ended(Outcome::Complete, None);
    assert_eq!(bench.ends.lock().unwrap()[0].duration, Duration::from_millis(230));
}

#[test]
fn a_future_that_panics_has_failed_once_it_is_let_go() {
    let bench = Bench::new();
    bench.run(|job| {
        let mut future = Box::pin(job.run(poll_fn(|_| -> Poll<io::Result<()>> { panic!("scripted") })));
        assert!(catch_unwind(AssertUnwindSafe(|| future.as_mut().now_or_never())).is_err());
        bench.pass(5);
        drop(future);
    });
    bench.assert_ended(Outcome::Error, Some("panic"));
}

#[test]
fn a_future_that_its_owner_drops_in_a_panic_of_his_own_is_cancelled() {
    let bench = Bench::new();
    bench.panics(|job| {
        let mut future = Box::pin(job.run(pending::<io::Result<()>>()));
        assert!(future.as_mut().now_or_never().is_none());
        panic!("scripted");
    });
    bench.assert_ended(Outcome::Cancelled, None);
}

#[test]
fn a_then_that_panics_has_failed_the_work() {
    let bench = Bench::new();
    bench.panics(|job| job.run_then(ready(()), |_guard, ()| panic!("scripted")).now_or_never());
    bench.assert_ended(Outcome::Error, Some("panic"));
}

#[test]
fn a_ready_future_is_let_go_inside_the_work() {
    struct Inner<'a>(&'a Bench);
    impl Drop for Inner<'_> {
        fn drop(&mut self) {
            self.0.pass(40);
            drop(llmperf_core::chat("openai", "gpt-4o").start());
        }
    }
    let bench = Bench::new();
    let inner = Inner(&bench);
    let held = poll_fn(move |_| {
        let _held = &inner;
        Poll::Ready(Ok::<_, io::Error>(()))
    });
    assert!(bench.poll_once(|job| job.run(held)).is_some());
    assert_eq!(bench.probe.tree(), "tool weather\n  chat gpt-4o\n");
    assert_eq!(bench.ends.lock().unwrap()[0].duration, Duration::from_millis(40));
}

#[test]
#[should_panic(expected = "polled after it was ready")]
fn a_future_is_not_polled_after_it_was_ready() {
    let mut future = pin!(tool("weather").run(ready(Ok::<_, io::Error>(()))));
    assert!(future.as_mut().now_or_never().is_some());
    let _ = future.as_mut().now_or_never();
}

/// The guard goes on to the stream that the work gave.
fn streamed<S: futures::Stream<Item = Result<u8, io::Error>>>(
    job: Job,
    items: S,
) -> impl futures::Stream<Item = S::Item> {
    job.start().stream(items, |guard, item| match item {
        Ok(_) => guard.output(),
        Err(_) => guard.judge(Verdict::of(&item.as_ref().map_err(|error| io::Error::from(error.kind())))),
    })
}

#[test]
fn a_stream_that_is_read_to_its_end_is_complete_and_its_items_pass() {
    let bench = Bench::new();
    let items = bench.run(|job| {
        let paced = stream::iter([1, 2, 3]).map(|item| {
            bench.pass(100);
            Ok(item)
        });
        let mut measured = pin!(streamed(job, paced));
        let mut items = Vec::new();
        while let Some(item) = measured.next().now_or_never().unwrap() {
            items.push(item.unwrap());
        }
        bench.pass(5_000);
        items
    });
    assert_eq!(items, [1, 2, 3]);
    bench.assert_ended(Outcome::Complete, None);
    let end = bench.ends.lock().unwrap()[0].clone();
    assert_eq!((end.first_output, end.duration), (Some(Duration::from_millis(100)), Duration::from_millis(300)));
}

#[test]
fn a_stream_that_is_dropped_midway_is_cancelled_and_an_exhausted_one_is_complete() {
    for (reads, outcome) in [(0, Outcome::Cancelled), (1, Outcome::Cancelled), (2, Outcome::Complete)] {
        let bench = Bench::new();
        bench.run(|job| {
            let mut measured = pin!(streamed(job, stream::iter([Ok(1), Ok(2)])));
            (0..reads).for_each(|_| assert!(measured.next().now_or_never().flatten().is_some()));
        });
        bench.assert_ended(outcome, None);
    }
}

#[test]
fn a_stream_dropped_after_the_deadline_is_a_timeout() {
    let bench = Bench::new();
    bench.run(|job| {
        let _measured = streamed(job.deadline_in(Duration::from_millis(10)), stream::iter([Ok(1)]));
        bench.pass(10);
    });
    bench.assert_ended(Outcome::Error, Some("timeout"));
}

#[test]
fn an_item_that_is_a_failure_fails_the_stream_however_it_ends() {
    for reads in [2, 4] {
        let bench = Bench::new();
        bench.run(|job| {
            let mut measured = pin!(streamed(job, stream::iter([Ok(1), Err(refused()), Ok(3)])));
            (0..reads).for_each(|_| drop(measured.next().now_or_never()));
        });
        bench.assert_ended(Outcome::Error, Some("connection_refused"));
    }
}

#[test]
fn a_stream_or_a_reader_that_panics_has_failed() {
    let bench = Bench::new();
    bench.panics(|job| {
        let panics = stream::poll_fn(|_| -> Poll<Option<io::Result<u8>>> { panic!("scripted") });
        pin!(streamed(job, panics)).next().now_or_never()
    });
    bench.assert_ended(Outcome::Error, Some("panic"));
    let bench = Bench::new();
    bench.panics(|job| pin!(job.start().stream(stream::iter([1]), |_, _| panic!("scripted"))).next().now_or_never());
    bench.assert_ended(Outcome::Error, Some("panic"));
}

#[test]
fn a_stream_that_its_consumer_drops_in_a_panic_of_his_own_is_cancelled() {
    let bench = Bench::new();
    bench.panics(|job| {
        let _measured = streamed(job, stream::iter([Ok(1)]));
        panic!("scripted");
    });
    bench.assert_ended(Outcome::Cancelled, None);
}

#[test]
fn a_stream_is_forwarded_untouched_after_its_end() {
    let bench = Bench::new();
    bench.run(|job| {
        let mut polls = 0;
        let twice = stream::poll_fn(|_| {
            polls += 1;
            Poll::Ready((polls % 2 == 1).then_some(Ok(polls)))
        });
        let mut measured = pin!(streamed(job, twice));
        let read = std::iter::repeat_with(|| measured.next().now_or_never().unwrap()).take(4);
        let read: Vec<Option<u8>> = read.map(Option::transpose).map(Result::unwrap).collect();
        assert_eq!(read, [Some(1), None, Some(3), None]);
    });
    bench.assert_ended(Outcome::Complete, None);
}

#[test]
fn a_future_hands_its_guard_on_to_the_stream_that_it_gave() {
    let bench = Bench::new();
    bench.run(|job| {
        let request = poll_fn(|_| {
            bench.pass(50);
            Poll::Ready(Ok::<_, io::Error>(stream::iter(["a", "b"])))
        });
        let opened = job.run_then(request, |guard, opened: io::Result<_>| {
            Ok::<_, io::Error>(guard.stream(opened?, |guard, _| guard.output()))
        });
        let items: Vec<_> = opened.now_or_never().unwrap().unwrap().collect::<Vec<_>>().now_or_never().unwrap();
        assert_eq!(items, ["a", "b"]);
    });
    bench.assert_ended(Outcome::Complete, None);
    assert_eq!(bench.ends.lock().unwrap()[0].first_output, Some(Duration::from_millis(50)));
}

#[test]
fn the_size_and_the_end_of_a_stream_show_through() {
    use futures::stream::FusedStream as _;
    let mut measured = tool("weather").start().stream(stream::iter([1, 2]).fuse(), |_, _| {});
    assert_eq!((futures::Stream::size_hint(&measured), measured.is_terminated()), ((2, Some(2)), false));
    while measured.next().now_or_never().flatten().is_some() {}
    assert_eq!((futures::Stream::size_hint(&measured), measured.is_terminated()), ((0, Some(0)), true));
}
