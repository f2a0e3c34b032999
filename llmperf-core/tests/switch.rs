//! The run-time switch, in a process of its own: it is global. Its tests take turns.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    future::ready,
    io,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{
    MeasureIterator as _, MeasureStream as _, Outcome, Output, Verdict, Work, chat, current_call, is_enabled, model,
    part::{Beginning, Ended, Opening, Title},
    set_enabled,
    testing::Probe,
};

static TURN: Mutex<()> = Mutex::new(());

/// Says to the child process of the last test that it is one.
const CHILD: &str = "LLMPERF_SWITCH_TEST_CHILD";

struct Turn(#[allow(dead_code, reason = "held until the end of the test")] MutexGuard<'static, ()>);

impl Drop for Turn {
    fn drop(&mut self) {
        set_enabled(true);
    }
}

fn turn() -> Turn {
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    set_enabled(true);
    Turn(turn)
}

#[test]
fn switched_off_everything_passes_straight_through_and_nothing_is_recorded() {
    let _turn = turn();
    let probe = Probe::new();
    let handle = model("openai", "gpt-4o-mini").instrumentation(probe.instrumentation());
    set_enabled(false);
    assert!(!is_enabled());

    let mut reply = stream::iter(["a", "b"]).measure(probe.chat("openai", "gpt-4o-mini"));
    assert_eq!(block_on(reply.by_ref().collect::<Vec<_>>()), ["a", "b"]);
    let timing = reply.timing();
    assert_eq!((timing.outcome, timing.time_to_first_token, timing.chunks), (None, None, 0));
    assert_eq!(timing.duration, std::time::Duration::ZERO);

    let request = ready(Ok::<_, io::Error>(stream::iter(["a"])));
    let opened = block_on(handle.chat().open(request)).unwrap();
    assert_eq!(block_on(opened.collect::<Vec<_>>()), ["a"]);
    let refused = ready(Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionRefused)));
    assert!(block_on(handle.chat().run(refused)).is_err());
    assert_eq!(["a", "b"].into_iter().measure_iter(handle.chat()).count(), 2);

    let mut recorder = chat("openai", "gpt-4o-mini").start();
    recorder.on_chunk(Output::text("a"));
    assert_eq!(recorder.in_scope(|| current_call().is_none().then_some(7)), Some(7));
    assert_eq!(recorder.finish().outcome, None);

    assert!(probe.spans().is_empty() && probe.metric_names().is_empty());
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

/// A sort of work that must not be asked anything.
#[derive(Debug)]
struct Untouched;

impl Work for Untouched {
    fn begin(&mut self, _: &Beginning<'_>) -> Opening {
        unreachable!("switched off")
    }

    fn title(&self) -> Title {
        unreachable!("switched off")
    }

    fn ended(&mut self, _: &mut Ended<'_>) {
        unreachable!("switched off")
    }
}

#[test]
fn switched_off_no_verb_of_work_asks_it_anything_and_all_values_pass() {
    let _turn = turn();
    let probe = Probe::new();
    set_enabled(false);
    probe.instrumentation().sync_scope(|| {
        let mut guard = Untouched.start();
        assert!(!guard.is_measured());
        guard.output();
        guard.judge(Verdict::failed("x"));
        assert_eq!(guard.in_scope(|| 7), 7);
        guard.complete();
        drop(Untouched.start());
        assert_eq!(Untouched.in_scope(|| 7, |_, value| value), 7);
        assert_eq!(block_on(Untouched.run(ready(Ok::<_, io::Error>(7)))).unwrap(), 7);
        assert_eq!(block_on(Untouched.run_then(ready(7), |_, value| value)), 7);
        let mut measured = Untouched.start().stream(stream::iter([1, 2, 3]), |guard, _| guard.output());
        assert_eq!(block_on(measured.next()), Some(1));
    });
    assert!(probe.spans().is_empty() && probe.metric_names().is_empty());
    assert_eq!((probe.instrumentation().live_calls(), probe.instrumentation().snapshot().series.len()), (0, 0));
}

#[test]
fn a_reader_is_not_even_asked() {
    let _turn = turn();
    set_enabled(false);
    let mut asked = 0;
    let reply = stream::iter(["a", "b"]).measure_with(chat("openai", "gpt-4o-mini"), |text| {
        asked += 1;
        Output::text(text)
    });
    assert_eq!(block_on(reply.count()), 2);
    assert_eq!(asked, 0);
}

#[test]
fn live_calls_are_measured_to_their_end_and_calls_made_while_it_is_off_never_are() {
    let _turn = turn();
    let probe = Probe::new();
    let mut live = stream::iter(["a", "b"]).measure(probe.chat("openai", "gpt-4o-mini"));
    block_on(live.next());
    let made = probe.chat("openai", "gpt-4o-mini");
    set_enabled(false);
    let unmeasured = probe.chat("openai", "gpt-4o-mini");
    block_on(live.by_ref().collect::<Vec<_>>());
    assert_eq!((live.timing().outcome, live.timing().outputs), (Some(Outcome::Complete), 2));
    made.start().finish();
    set_enabled(true);
    unmeasured.start().finish();
    assert_eq!(probe.count("llmperf.client.calls"), 2.0);
    probe.chat("openai", "gpt-4o-mini").start().finish();
    assert_eq!(probe.count("llmperf.client.calls"), 3.0);
}

#[test]
fn the_environment_switches_it_off_from_the_start() {
    let _turn = turn();
    let run = |value: &str| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "the_child_says_whether_it_measures", "--nocapture"]);
        let output = child.env(CHILD, "1").env("OTEL_SDK_DISABLED", value).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for off in ["true", "TRUE", " True "] {
        assert!(run(off).contains("calls: 0"), "{off:?}");
    }
    for on in ["false", "1", ""] {
        assert!(run(on).contains("calls: 1"), "{on:?}");
    }
}

#[test]
fn the_child_says_whether_it_measures() {
    if std::env::var_os(CHILD).is_none() {
        return; // it is the process above that this is for
    }
    let probe = Probe::new();
    probe.chat("openai", "gpt-4o-mini").start().finish();
    println!("calls: {}", probe.count("llmperf.client.calls"));
}
