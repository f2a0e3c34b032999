//! Where the time of the slowest goes, and what is repeated there.

use std::{future::Future, pin::pin, task::Poll, time::Duration};

use futures::{FutureExt as _, future::join_all};
use llmperf_core::{
    Output, Verdict, Work as _,
    part::Title,
    stats::{Diagnose, Diagnosis, Figure, SeriesKind, Window},
    testing::Probe,
};

use crate::job::{Job, agent, operation, pipeline, stage, step, tool, workflow};

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Does a piece of work that takes so long, and nothing else.
pub(crate) fn takes(probe: &Probe, job: Job, millis: u64) {
    job.in_scope(|| probe.clock().advance(ms(millis)), |guard, ()| guard.complete());
}

/// Calls a model, which takes so long.
fn call(probe: &Probe, millis: u64) {
    let mut call = llmperf_core::chat("openai", "gpt-4o").start();
    probe.clock().advance(ms(millis));
    call.on_chunk(Output::text("answer"));
    let _ = call.finish();
}

/// Does the parts of a run inside it.
fn runs(probe: &Probe, job: Job, parts: impl FnOnce()) {
    probe.instrumentation().sync_scope(|| job.in_scope(parts, |guard, ()| guard.complete()));
}

fn titled(kind: SeriesKind, name: &'static str, detail: &'static str) -> Title {
    Title::new(kind, name, detail)
}

/// Title, share in per cent.
fn shares(diagnosis: &Diagnosis) -> Vec<(String, f64)> {
    let shares = &diagnosis.roots[0].shares;
    shares.iter().map(|share| (share.title.to_string(), (share.share * 1e4).round() / 100.0)).collect()
}

fn repeated(diagnosis: &Diagnosis) -> Vec<(String, u64, u64)> {
    let repetitions = diagnosis.roots.iter().flat_map(|root| &root.repetitions);
    repetitions.map(|repetition| (repetition.title.to_string(), repetition.most, repetition.runs)).collect()
}

/// 197 quick runs, and three of five seconds: ten searches one behind the other, a slow model, half a second of something
/// that nothing measures.
fn five_seconds(probe: &Probe) {
    for number in 0..200 {
        let is_slow = number % 70 == 50;
        let (searches, each, model, between) = if is_slow { (10, 250, 2_000, 500) } else { (1, 300, 600, 50) };
        runs(probe, pipeline("support"), || {
            (0..searches).for_each(|_| takes(probe, stage("retrieve", "qdrant"), each));
            probe.clock().advance(ms(between));
            stage("generate", "").spanless().in_scope(|| call(probe, model), |guard, ()| guard.complete());
        });
    }
}

#[test]
fn of_five_seconds_database_and_model_are_named_with_their_shares_and_the_repeated_search() {
    let probe = Probe::new();
    five_seconds(&probe);
    let diagnosis = probe.instrumentation().snapshot().diagnose();
    let root = diagnosis.root(&titled(SeriesKind::Pipeline, "support", "")).unwrap();
    assert_eq!((root.runs, root.slowest.len(), root.slowest[0].duration), (200, 3, ms(5_000)));
    let expected = [("stage retrieve / qdrant", 50.0), ("openai / gpt-4o", 40.0), ("stage generate", 0.0)];
    assert_eq!(shares(&diagnosis), expected.map(|(part, share)| (part.to_owned(), share)));
    assert!((root.other.unwrap() - 0.1).abs() < 1e-9);
    assert_eq!(root.shares[1].within, Some(titled(SeriesKind::Stage, "generate", "")));
    assert_eq!((root.shares[0].time, root.shares[0].count), (ms(2_500), 30));
    assert!((root.shares[2].covered - 0.4).abs() < 1e-9, "the stage was going on as long as its call");
    assert_eq!(repeated(&diagnosis), [("stage retrieve / qdrant".to_owned(), 10, 3)]);
    assert_eq!(root.repetitions[0].in_slowest, 3);
    let traces: Vec<_> = root.traces().collect();
    let spans = probe.spans();
    let slow = spans
        .iter()
        .filter(|span| span.name == "pipeline support")
        .filter(|span| span.end_time.duration_since(span.start_time).unwrap() == ms(5_000));
    let mut expected: Vec<_> = slow.map(|span| span.span_context.trace_id()).collect();
    expected.sort_by_key(|id| std::cmp::Reverse(id.to_bytes()));
    assert_eq!(traces, expected);
}

#[test]
fn a_diagnosis_reads_as_a_table_and_a_sentence_for_each_finding() {
    let probe = Probe::sampled(opentelemetry_sdk::trace::Sampler::AlwaysOff, |builder| builder);
    five_seconds(&probe);
    let printed = probe.instrumentation().snapshot().diagnose().to_string();
    let printed: Vec<&str> = printed.lines().map(|line| line.split(", trace").next().unwrap()).collect();
    let expected = [
        "where the time of the slowest goes in the last hour (from P99 on)",
        "",
        "pipeline support",
        "  200 runs, mean 1.01 s, P99 5.00 s",
        "                                     share      time   count",
        "  stage retrieve / qdrant             50 %    2.50 s      30",
        "  stage generate › openai / gpt-4o    40 %    2.00 s       3",
        "  other                               10 %",
        "  - stage retrieve / qdrant takes most of the time of the slowest: 50 %.",
        "  - stage retrieve / qdrant is repeated: up to 10 one behind the other in one run, in 3 of 200 and in 3 of the 3 slowest.",
        "  slow: 5.00 s",
        "  slow: 5.00 s",
        "  slow: 5.00 s",
    ];
    assert_eq!(printed, expected);
}

#[test]
fn two_of_a_kind_and_a_fan_out_are_no_repetition() {
    let probe = Probe::new();
    runs(&probe, pipeline("support"), || {
        (0..2).for_each(|_| takes(&probe, stage("retrieve", "qdrant"), 100));
        takes(&probe, stage("retrieve", "postgres"), 100);
        let mut fan_out: Vec<_> = (0..12).map(|_| stage("retrieve", "tantivy").start()).collect();
        probe.clock().advance(ms(100));
        fan_out.drain(..).for_each(llmperf_core::Guard::complete);
    });
    assert_eq!(repeated(&probe.instrumentation().snapshot().diagnose()), []);
}

#[test]
fn a_fan_out_of_futures_is_no_repetition_and_one_behind_the_other_is() {
    for (at_once, expected) in [(true, None), (false, Some(4))] {
        let probe = Probe::new();
        let search = |probe: &Probe| tool("search").run_then(Sleep::of(probe, 100), |guard, ()| guard.complete());
        let searches = async {
            let four = || (0..4).map(|_| search(&probe)).collect::<Vec<_>>();
            if at_once {
                join_all(four()).await;
            } else {
                for one in four() {
                    one.await;
                }
            }
        };
        let run = async { agent("desk").run_then(searches, |guard, ()| guard.complete()).await };
        drive(&probe, probe.instrumentation().scope(run));
        let repeated = repeated(&probe.instrumentation().snapshot().diagnose());
        assert_eq!(repeated.first().map(|(_, most, _)| *most), expected);
    }
}

#[test]
fn steps_and_calls_of_a_model_are_repeated_by_nature() {
    let probe = Probe::new();
    runs(&probe, agent("desk"), || {
        for _ in 0..5 {
            step("step").in_scope(|| call(&probe, 200), |guard, ()| guard.complete());
        }
        (0..3).for_each(|_| takes(&probe, tool("weather"), 10));
    });
    let diagnosis = probe.instrumentation().snapshot().diagnose();
    assert_eq!(repeated(&diagnosis), [("tool weather".to_owned(), 3, 1)]);
    assert_eq!(repeated(&Diagnose::new().repetitions(4).of(&probe.instrumentation().snapshot())), []);
}

/// Several assistants, each with a pipeline that reranks once, are no N+1 pattern; one that searches five times is.
#[test]
fn what_is_repeated_is_counted_in_the_nearest_run_around_it() {
    for (searches, expected) in [([1; 4], None), ([1, 5, 1, 1], Some(5))] {
        let probe = Probe::new();
        runs(&probe, workflow("desk"), || {
            for times in searches {
                let answer = || {
                    (0..times).for_each(|_| takes(&probe, stage("retrieve", "qdrant"), 100));
                    takes(&probe, stage("rerank", ""), 100);
                };
                let consult = || pipeline("support").in_scope(answer, |guard, ()| guard.complete());
                agent("clerk").in_scope(consult, |guard, ()| guard.complete());
            }
        });
        let diagnosis = probe.instrumentation().snapshot().diagnose();
        let root = diagnosis.root(&titled(SeriesKind::Workflow, "desk", "")).unwrap();
        let found: Vec<_> = root.repetitions.iter().map(|one| (one.title.name.as_str(), one.most, one.runs)).collect();
        let expected: Vec<_> = expected.map(|most| ("retrieve", most, 1)).into_iter().collect();
        assert_eq!(found, expected);
    }
}

/// In steps of one agent, and in the agent itself next to runs inside it.
#[test]
fn what_is_repeated_across_the_steps_of_one_run_is_named() {
    let probe = Probe::new();
    runs(&probe, agent("desk"), || {
        for _ in 0..3 {
            step("step").in_scope(|| takes(&probe, tool("search"), 100), |guard, ()| guard.complete());
            pipeline("support").in_scope(|| takes(&probe, tool("lookup"), 100), |guard, ()| guard.complete());
        }
    });
    assert_eq!(repeated(&probe.instrumentation().snapshot().diagnose()), [("tool search".to_owned(), 3, 1)]);
}

#[test]
fn retrieval_above_its_share_is_named_and_below_it_is_not() {
    let of = |times: u64, share: f64| {
        let probe = Probe::new();
        (0..times).for_each(|_| {
            runs(&probe, pipeline("support").figure(Figure::RetrievalShare, share), || probe.clock().advance(ms(10)));
        });
        probe.instrumentation().snapshot()
    };
    assert!((of(10, 0.62).diagnose().roots[0].retrieval_share.unwrap() - 0.62).abs() < 0.01);
    let printed = of(10, 0.62).diagnose().to_string();
    assert!(printed.contains("retrieval takes 62 % of the time at P95, limit 50 %."), "{printed}");
    assert_eq!(of(10, 0.45).diagnose().roots[0].retrieval_share, None);
    assert!(Diagnose::new().retrieval_share(0.4).of(&of(10, 0.45)).roots[0].retrieval_share.is_some());
    assert_eq!(of(9, 0.62).diagnose().roots[0].retrieval_share, None, "too few runs tell nothing");
}

#[test]
fn a_run_inside_a_run_has_its_own_breakdown_and_is_a_part_of_the_outer_one() {
    let probe = Probe::new();
    runs(&probe, agent("desk"), || {
        takes(&probe, tool("weather"), 100);
        pipeline("support").in_scope(|| takes(&probe, stage("retrieve", "qdrant"), 300), |guard, ()| guard.complete());
    });
    let diagnosis = probe.instrumentation().snapshot().diagnose();
    let names: Vec<String> = diagnosis.roots.iter().map(|root| root.title.to_string()).collect();
    assert_eq!(names, ["pipeline support", "agent desk / simple"]);
    let of_agent = &diagnosis.roots[1].shares;
    let expected = [("stage retrieve / qdrant", 0.75), ("tool weather", 0.25), ("pipeline support", 0.0)];
    let found: Vec<_> = of_agent.iter().map(|share| (share.title.to_string(), share.share)).collect();
    assert_eq!(found, expected.map(|(part, share)| (part.to_owned(), share)));
}

#[test]
fn calls_are_diagnosed_by_themselves_where_nothing_encloses_them() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| call(&probe, 700));
    let alone = probe.instrumentation().snapshot().diagnose();
    let root = alone.root(&titled(SeriesKind::Call, "openai", "gpt-4o")).unwrap();
    assert_eq!((root.runs, root.slowest[0].duration, root.other), (1, ms(700), None));
    assert!(alone.to_string().contains("openai / gpt-4o\n  1 call, mean 700 ms, P99 700 ms\n  slow: 700 ms, trace "));
    runs(&probe, pipeline("support"), || call(&probe, 500));
    let diagnosis = probe.instrumentation().snapshot().diagnose();
    assert_eq!(diagnosis.roots.len(), 1, "the calls are a part of the pipeline now");
}

#[test]
fn nothing_measured_is_nothing_to_diagnose() {
    let probe = Probe::new();
    let snapshot = probe.instrumentation().snapshot();
    assert_eq!(snapshot.diagnose().to_string(), "nothing to diagnose in the last hour\n");
    assert_eq!(snapshot.diagnose_in(Window::OneMinute).roots, []);
}

#[test]
fn a_window_is_diagnosed_by_what_ended_in_it() {
    let probe = Probe::new();
    runs(&probe, pipeline("support"), || takes(&probe, stage("retrieve", "qdrant"), 900));
    probe.clock().advance(Duration::from_secs(120));
    runs(&probe, pipeline("support"), || takes(&probe, stage("rerank", ""), 300));
    let snapshot = probe.instrumentation().snapshot();
    assert_eq!(shares(&snapshot.diagnose()), [("stage retrieve / qdrant".to_owned(), 100.0)]);
    assert_eq!(shares(&snapshot.diagnose_in(Window::OneMinute)), [("stage rerank".to_owned(), 100.0)]);
}

#[test]
fn failures_and_what_was_let_go_are_told_apart_too() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut run = pipeline("support").start();
        run.in_scope(|| stage("retrieve", "").in_scope(|| probe.clock().advance(ms(400)), |guard, ()| guard.fail("x")));
        run.end(Verdict::Cancelled);
    });
    assert_eq!(shares(&probe.instrumentation().snapshot().diagnose()), [("stage retrieve".to_owned(), 100.0)]);
}

/// Ready once the manual clock has come so far; whoever polls moves it.
struct Sleep {
    clock: llmperf_core::testing::ManualClock,
    lasts: Duration,
    until: Option<Duration>,
}

impl Sleep {
    fn of(probe: &Probe, millis: u64) -> Self {
        Self { clock: probe.clock().clone(), lasts: ms(millis), until: None }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<()> {
        let now = self.clock.elapsed();
        let until = now + self.lasts;
        if *self.until.get_or_insert(until) <= now { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Polls a future, ten milliseconds apart, until it is ready.
fn drive<F: Future>(probe: &Probe, future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Some(ready) = future.as_mut().now_or_never() {
            return ready;
        }
        probe.clock().advance(ms(10));
    }
}

/// A client that runs tools while its stream is read: the call waits for the tool, and the tool for a model of its own.
#[test]
fn what_goes_on_inside_a_call_takes_the_time_of_it() {
    let probe = Probe::new();
    runs(&probe, agent("desk"), || {
        let mut outer = llmperf_core::chat("openai", "gpt-4o-mini").start();
        probe.clock().advance(ms(100));
        let summary = || {
            probe.clock().advance(ms(200));
            call(&probe, 300);
        };
        outer.in_scope(|| tool("summary").in_scope(summary, |guard, ()| guard.complete()));
        outer.on_chunk(Output::text("answer"));
        let _ = outer.finish();
        probe.clock().advance(ms(400));
    });
    let diagnosis = Diagnose::new().of(&probe.instrumentation().snapshot());
    let expected = [("openai / gpt-4o", 30.0), ("tool summary", 20.0), ("openai / gpt-4o-mini", 10.0)];
    assert_eq!(shares(&diagnosis), expected.map(|(title, share)| (title.to_owned(), share)));
    let within = diagnosis.roots[0].shares.iter().map(|share| share.within.as_ref().map(Title::to_string));
    let within: Vec<Option<String>> = within.collect();
    assert_eq!(within, [Some("tool summary".to_owned()), Some("openai / gpt-4o-mini".to_owned()), None]);
}

/// What is asked of a call that was none goes on to be in the work around that.
#[test]
fn a_call_that_was_none_hides_nobody() {
    let probe = Probe::new();
    runs(&probe, pipeline("support"), || {
        let generate = || {
            let mut none = llmperf_core::chat("openai", "gpt-4o-mini").start();
            none.in_scope(|| takes(&probe, tool("lookup"), 100));
            none.withdraw("cache");
            let _ = none.finish();
            probe.clock().advance(ms(300));
        };
        stage("generate", "").in_scope(generate, |guard, ()| guard.complete());
    });
    let diagnosis = Diagnose::new().of(&probe.instrumentation().snapshot());
    let expected = [("stage generate", 75.0), ("tool lookup", 25.0)];
    assert_eq!(shares(&diagnosis), expected.map(|(title, share)| (title.to_owned(), share)));
}

/// A call, a stage inside it, and a search inside that: each is in the next one, and the innermost takes the time.
#[test]
fn what_is_in_a_stage_inside_a_call_is_in_the_stage() {
    let probe = Probe::new();
    runs(&probe, agent("desk"), || {
        let mut outer = llmperf_core::chat("openai", "gpt-4o-mini").start();
        let search = || takes(&probe, tool("search"), 100);
        outer.in_scope(|| stage("retrieve", "").in_scope(search, |guard, ()| guard.complete()));
        let _ = outer.finish();
    });
    let diagnosis = Diagnose::new().of(&probe.instrumentation().snapshot());
    let shares = &diagnosis.roots[0].shares;
    let of = |kind| shares.iter().find(|share| share.title.kind == kind).unwrap();
    let within = |kind| of(kind).within.as_ref().map(Title::to_string);
    assert_eq!((of(SeriesKind::Tool).share, within(SeriesKind::Tool)), (1.0, Some("stage retrieve".to_owned())));
    assert_eq!(within(SeriesKind::Stage).as_deref(), Some("openai / gpt-4o-mini"));
}

#[test]
fn requests_of_a_tool_are_its_own_affair_and_others_are_repeated() {
    let probe = Probe::new();
    runs(&probe, agent("desk"), || {
        let pages = || (0..4).for_each(|_| takes(&probe, operation("resources/read", "page"), 10));
        tool("book").in_scope(pages, |guard, ()| guard.complete());
        (0..3).for_each(|_| takes(&probe, operation("tools/call", "weather"), 10));
    });
    let diagnosis = Diagnose::new().of(&probe.instrumentation().snapshot());
    assert_eq!(repeated(&diagnosis), [("tools/call / weather".to_owned(), 3, 1)]);
}
