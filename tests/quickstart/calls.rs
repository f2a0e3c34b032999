//! Seeded plans of every fate: what was measured of them is exact where it can be, and never less than what happened.

use std::collections::BTreeMap;
use std::time::Duration;

use llmperf::stats::{Figure, SeriesKind, Snapshot, Summary, Window};
use llmperf::testing::Probe;
use llmperf::{Instrumentation, Outcome, Timing, TokenSource};

use crate::load::{Client, Load, Pair, Question, measured};
use crate::server::{Consumer, Ending, Finish, Piece, Plan, Server};

const SEED: u64 = 11;
const CALLS: u64 = 150;
const LIMIT: Duration = Duration::from_secs(20);

/// One call with its own statistics.
struct Call {
    index: u64,
    pair: Pair,
    statistics: Snapshot,
}

/// Runs all calls as the quickstart does. Each has an instrumentation of its own, so that its gaps can be told from
/// those of the others; all share a tracer provider.
async fn calls(spans: &Probe) -> Vec<Call> {
    let server = Server::start(|index| Plan::nth(SEED, index)).unwrap();
    let client = Client::new(&server.base_url(), None).unwrap();
    let call = |index| {
        let client = client.clone();
        let instrumentation = Instrumentation::builder().tracer_provider(spans.tracer_provider()).build();
        async move {
            let plan = Plan::nth(SEED, index);
            let question = Question::planned(index, &plan);
            let timing = measured(&instrumentation, "local", &client, &question, plan.consumer).await.unwrap();
            (index, plan, timing, instrumentation.snapshot())
        }
    };
    let mut ended = Vec::new();
    Load { calls: CALLS, concurrency: 48 }.run(call, |call| ended.push(call.unwrap())).await;
    drop(client);
    let ledger = server.ledger().clone();
    assert!(server.stop(LIMIT), "some response never ended");
    let call = |(index, plan, timing, statistics)| Call {
        index,
        pair: Pair::of(plan, index, &ledger, timing).unwrap(),
        statistics,
    };
    ended.into_iter().map(call).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_noise_cannot_break_is_exact() {
    let spans = Probe::new();
    let calls = calls(&spans).await;
    assert_eq!(calls.len(), usize::try_from(CALLS).unwrap());
    for call in &calls {
        ends_as_planned(call);
        has_the_planned_tokens(call);
        is_never_before_what_happened(call);
        has_its_marks_in_order(call);
        has_its_gaps_within_its_time(call);
    }
    let with_gaps = calls.iter().filter(|call| gaps(call).is_some()).count();
    assert!(with_gaps * 2 > calls.len(), "{with_gaps} calls have gaps");
    outcomes_add_up(&calls);
    assert_eq!(spans.spans().len(), calls.len(), "one span per call");
    assert!(spans.spans().iter().all(|span| span.name.starts_with("chat ")));
}

fn ends_as_planned(Call { index, pair: Pair { plan, measured, .. }, .. }: &Call) {
    assert_eq!(measured.outcome, Some(plan.outcome()), "call {index}: {measured}");
    let error_type = match (plan.outcome(), plan.ending) {
        (Outcome::Error, Ending::Refused(429)) => Some("rate_limit_exceeded"),
        (Outcome::Error, Ending::Refused(_)) => Some("internal_error"),
        (Outcome::Error, _) => Some("engine_overloaded"),
        (Outcome::Interrupted, _) => Some("stream_interrupted"),
        (Outcome::Complete | Outcome::Cancelled, _) => None,
    };
    assert_eq!(measured.error_type.as_deref(), error_type, "call {index}");
    let word = match plan.ending {
        Ending::Complete(finish) | Ending::Unmarked(finish) => Some(match finish {
            Finish::Stop => "stop",
            Finish::Length => "length",
            Finish::ToolCalls => "tool_calls",
        }),
        _ => None,
    };
    let reasons: Vec<_> = measured.finish_reasons.iter().map(|finish| &*finish.reason).collect();
    assert_eq!(reasons, Vec::from_iter(word), "call {index}");
}

/// Usage comes at the end and only there; events with output are counted as far as the client read.
fn has_the_planned_tokens(Call { index, pair: Pair { plan, measured, .. }, .. }: &Call) {
    let usage = &measured.usage;
    let counts = [usage.input_tokens(), usage.output_tokens(), usage.cache_read_tokens(), usage.reasoning_tokens()];
    let outputs = plan.pieces().filter(|piece| matches!(piece, Piece::Output { .. })).count();
    let outputs = u64::try_from(outputs).unwrap();
    if plan.outcome() == Outcome::Complete {
        let planned =
            [plan.prompt_tokens, plan.output_tokens(), plan.cached_tokens, plan.reasoning_tokens()].map(u64::from);
        assert_eq!(counts.map(Option::unwrap_or_default), planned, "call {index}");
        assert_eq!(measured.token_source, Some(TokenSource::Usage), "call {index}");
    } else {
        assert_eq!((counts, measured.token_source), ([None; 4], None), "call {index}: nothing is made up");
    }
    match plan.consumer {
        Consumer::Leaves { .. } if plan.outcome() == Outcome::Cancelled => assert!(measured.outputs <= outputs),
        _ => assert_eq!(measured.outputs, outputs, "call {index}"),
    }
}

/// The call begins before its request arrives, and bytes are read after they were written. What never happened is absent;
/// what happened is absent only if the client had left.
fn is_never_before_what_happened(Call { index, pair: Pair { injected, measured, .. }, .. }: &Call) {
    let left = measured.outcome == Some(Outcome::Cancelled);
    let marks = [
        ("head", injected.time_to_head(), measured.time_to_head),
        ("first chunk", injected.time_to_first_chunk(), measured.time_to_first_chunk),
        ("TTFT", injected.time_to_first_token(), measured.time_to_first_token),
        ("first answer", injected.time_to_first_answer(), measured.time_to_first_answer),
    ];
    for (mark, injected, measured) in marks {
        match (injected, measured) {
            (Some(injected), Some(measured)) => {
                assert!(measured >= injected, "call {index}: {mark} is {measured:?}, {injected:?} was injected");
            }
            (None, Some(_)) => panic!("call {index}: {mark} is made up"),
            (Some(_), None) => assert!(left, "call {index}: {mark} is missing"),
            (None, None) => {}
        }
    }
    let whole = injected.duration().unwrap_or_default();
    assert!(measured.duration >= whole, "call {index}: E2E is {:?}, {whole:?} was injected", measured.duration);
}

fn has_its_marks_in_order(Call { index, pair: Pair { measured, .. }, .. }: &Call) {
    let Timing { time_to_head, time_to_first_chunk, time_to_first_token, time_to_first_answer, .. } = measured;
    let Timing { generation_time, duration, .. } = measured;
    let marks = [*time_to_head, *time_to_first_chunk, *time_to_first_token, *time_to_first_answer, *generation_time];
    let marks: Vec<_> = marks.into_iter().flatten().chain([*duration]).collect();
    assert!(time_to_head.is_some() && marks.is_sorted(), "call {index}: {measured:?}");
}

/// Gaps lie side by side between the first output and the last.
fn has_its_gaps_within_its_time(call: &Call) {
    let Some(gaps) = gaps(call) else { return };
    let Call { index, pair: Pair { measured, .. }, .. } = call;
    assert!(gaps.count < measured.outputs, "call {index}: {} gaps, {} outputs", gaps.count, measured.outputs);
    // Each gap is kept to the microsecond.
    let rounding = gaps.count as f64 * 1e-6;
    let (sum, whole) = (gaps.mean * gaps.count as f64, measured.duration.as_secs_f64());
    assert!(sum <= whole + rounding, "call {index}: {sum} s of gaps in {whole} s");
    let longest = measured.longest_gap.unwrap().as_secs_f64();
    assert!(gaps.max <= longest + 1e-6, "call {index}: a gap of {} s, the longest is {longest} s", gaps.max);
}

/// The gaps of one call; none if it had fewer than two reads with output, or if its client held it up.
fn gaps(call: &Call) -> Option<&Summary> {
    call.statistics.series.first()?.figure(Window::SinceStart, Figure::ChunkGap)
}

/// The statistics of all calls, merged, count each once under its model and outcome.
fn outcomes_add_up(calls: &[Call]) {
    let mut planned = BTreeMap::<(&str, Outcome), u64>::new();
    let mut merged = Snapshot::default();
    for call in calls {
        *planned.entry((call.pair.plan.model, call.pair.plan.outcome())).or_default() += 1;
        merged.merge(&call.statistics);
    }
    let fates: Vec<_> = planned.keys().map(|(_, outcome)| *outcome).collect();
    assert!(Outcome::ALL.iter().all(|outcome| fates.contains(outcome)), "{planned:?}");
    for ((model, outcome), count) in planned {
        let series = merged.get(SeriesKind::Call, "local", model).unwrap();
        let outcomes = series.window(Window::SinceStart).unwrap().outcomes;
        assert_eq!(outcomes.count(outcome), count, "{model} {outcome}");
    }
    let all: u64 = merged.series.iter().map(|series| series.window(Window::SinceStart).unwrap().outcomes.all()).sum();
    assert_eq!(all, CALLS);
}
