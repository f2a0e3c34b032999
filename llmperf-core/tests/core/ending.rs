//! Design section 3: the outcome table, deadlines, several choices, what is said of each ending.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, executor::block_on};
use llmperf_core::{Call, Failure, FinishKind, MeasureStream as _, Outcome, Output, Sees, Timing, testing::Probe};
use opentelemetry::trace::Status;

use crate::script::{Step, drain, paced, script, take};

type Chunk = Output<'static>;

/// Measures outputs, 10 ms apart, to the end of the stream or until `drop_after` of them were taken.
fn ended(probe: &Probe, sees: Sees, outputs: &[Chunk], drop_after: Option<usize>) -> Timing {
    ended_as(probe, |call| call.sees(sees), outputs, drop_after)
}

fn ended_as(probe: &Probe, spec: impl FnOnce(Call) -> Call, outputs: &[Chunk], drop_after: Option<usize>) -> Timing {
    let call = spec(probe.chat("openai", "gpt-4o-mini"));
    let items = outputs.iter().map(|output| (10, *output));
    let mut reply = paced(probe, items).measure_with(call, |output| *output);
    match drop_after {
        Some(items) => take(&mut reply, items),
        None => _ = drain(&mut reply),
    }
    let before = reply.timing();
    drop(reply);
    if before.outcome.is_some() { before } else { last(probe) }
}

/// What the span of a dropped call says.
fn last(probe: &Probe) -> Timing {
    let mut timing = probe.chat("x", "y").start().timing();
    let span = probe.spans().into_iter().find(|span| span.name.starts_with("chat gpt")).unwrap();
    let attribute = |key: &str| {
        span.attributes
            .iter()
            .find(|attribute| attribute.key.as_str() == key)
            .map(|attribute| attribute.value.to_string())
    };
    timing.outcome =
        Outcome::ALL.into_iter().find(|outcome| Some(outcome.as_str().to_owned()) == attribute("llmperf.outcome"));
    timing.error_type = attribute("error.type").map(Into::into);
    timing.duration = span.end_time.duration_since(span.start_time).unwrap();
    timing
}

fn outcome(sees: Sees, outputs: &[Chunk], drop_after: Option<usize>) -> (Outcome, Option<String>) {
    let timing = ended(&Probe::new(), sees, outputs, drop_after);
    (timing.outcome.unwrap(), timing.error_type.map(Into::into))
}

fn text() -> Chunk {
    Output::text("word")
}

fn reset() -> Chunk {
    Output::failure(Failure::transport("connection_reset"))
}

const INTERRUPTED: (Outcome, Option<&str>) = (Outcome::Interrupted, Some("stream_interrupted"));
const COMPLETE: (Outcome, Option<&str>) = (Outcome::Complete, None);
const CANCELLED: (Outcome, Option<&str>) = (Outcome::Cancelled, None);

fn is(found: (Outcome, Option<String>), expected: (Outcome, Option<&str>)) {
    assert_eq!((found.0, found.1.as_deref()), expected);
}

#[test]
fn the_terminal_marker_completes() {
    is(outcome(Sees::Marker, &[text(), Output::done()], None), COMPLETE);
    is(outcome(Sees::Marker, &[text(), Output::done(), text()], Some(2)), COMPLETE);
}

#[test]
fn a_finish_reason_latches_nothing_by_itself_and_completes_with_end_drop_and_broken_transport() {
    let finished = [text(), Output::finish("length")];
    is(outcome(Sees::Finish, &finished, None), COMPLETE);
    is(outcome(Sees::Finish, &finished, Some(2)), COMPLETE);
    is(outcome(Sees::Finish, &[text(), Output::finish("stop"), reset()], None), COMPLETE);
}

#[test]
fn an_end_before_the_finish_reason_interrupts_if_the_reader_can_see_an_end() {
    is(outcome(Sees::Finish, &[text()], None), INTERRUPTED);
    is(outcome(Sees::Marker, &[text()], None), INTERRUPTED);
    is(outcome(Sees::Nothing, &[text()], None), COMPLETE);
}

#[test]
fn a_stream_that_closes_without_its_marker_after_its_finish_reasons_is_complete_and_counted() {
    let probe = Probe::new();
    let timing = ended(&probe, Sees::Marker, &[text(), Output::finish("stop")], None);
    assert_eq!(timing.outcome, Some(Outcome::Complete));
    assert_eq!(probe.count("llmperf.client.markers_missing"), 1.0);
    let by_drop = Probe::new();
    ended(&by_drop, Sees::Marker, &[text(), Output::finish("stop")], Some(2));
    assert_eq!(by_drop.count("llmperf.client.markers_missing"), 0.0);
}

#[test]
fn a_transport_that_fails_interrupts() {
    for sees in [Sees::Nothing, Sees::Finish, Sees::Marker] {
        is(outcome(sees, &[text(), reset()], None), INTERRUPTED);
    }
}

#[test]
fn an_error_event_is_an_error_also_behind_a_finish_reason_and_beats_a_later_marker() {
    let error = Output::error("overloaded_error");
    is(outcome(Sees::Marker, &[text(), error], None), (Outcome::Error, Some("overloaded_error")));
    let behind = [text(), Output::finish("stop"), error, Output::done()];
    is(outcome(Sees::Marker, &behind, None), (Outcome::Error, Some("overloaded_error")));
}

#[test]
fn the_first_latch_stands() {
    is(outcome(Sees::Marker, &[text(), Output::done(), Output::error("late")], None), COMPLETE);
}

#[test]
fn usage_is_taken_before_the_outcome_of_the_same_event() {
    let timing = ended(&Probe::new(), Sees::Marker, &[text(), Output::usage(7, 9).and_done()], None);
    assert_eq!(timing.usage.output_tokens(), Some(9));
}

#[test]
fn an_error_item_is_recorded_by_us() {
    fn measured<E: std::error::Error + Unpin + 'static>(error: E) -> (Outcome, Option<String>) {
        let probe = Probe::new();
        let items = [(10, Ok("hi")), (10, Err(error))];
        let mut reply = paced(&probe, items).measure(probe.chat("openai", "gpt-4o-mini"));
        block_on(async { while reply.next().await.is_some() {} });
        (reply.timing().outcome.unwrap(), reply.timing().error_type.map(Into::into))
    }
    is(measured(std::fmt::Error), (Outcome::Error, Some("core::fmt::Error")));
    is(measured(io::Error::from(io::ErrorKind::ConnectionReset)), INTERRUPTED);
}

#[test]
fn a_recoverable_failure_latches_nothing() {
    let lagged = Output::failure(Failure::recoverable("lagged"));
    is(outcome(Sees::Finish, &[text(), lagged, text(), Output::finish("stop")], None), COMPLETE);
}

#[test]
fn a_request_that_fails_before_the_head_is_an_error() {
    let probe = Probe::new();
    let refused = async { Err::<futures::stream::Empty<&str>, _>(io::Error::from(io::ErrorKind::ConnectionRefused)) };
    assert!(block_on(probe.chat("openai", "gpt-4o-mini").open(refused)).is_err());
    let timing = last(&probe);
    assert_eq!((timing.outcome, timing.error_type.as_deref()), (Some(Outcome::Error), Some("connection_refused")));
}

#[test]
fn a_status_of_400_or_more_is_an_error_of_that_number() {
    let probe = Probe::new();
    let mut call = probe.chat("openai", "gpt-4o-mini").start();
    call.on_status(429);
    assert_eq!(call.timing().outcome, Some(Outcome::Error));
    assert_eq!(call.timing().error_type.as_deref(), Some("429"));
}

#[test]
fn the_application_s_own_verdict_is_an_error() {
    let probe = Probe::new();
    let mut reply = paced(&probe, [(10, "hi")]).measure(probe.chat("openai", "gpt-4o-mini"));
    take(&mut reply, 1);
    reply.fail("bad_json");
    assert_eq!(reply.timing().error_type.as_deref(), Some("bad_json"));
    drain(&mut reply);
    assert_eq!(reply.timing().outcome, Some(Outcome::Error));
}

#[test]
fn a_drop_cancels_in_every_state() {
    is(outcome(Sees::Marker, &[text(), text()], Some(0)), CANCELLED);
    is(outcome(Sees::Marker, &[text(), text()], Some(1)), CANCELLED);
    is(outcome(Sees::Nothing, &[text(), text()], Some(2)), CANCELLED);
}

#[test]
fn a_request_dropped_before_the_head_is_cancelled() {
    let probe = Probe::new();
    let never = std::future::pending::<io::Result<futures::stream::Empty<&str>>>();
    let open = probe.chat("openai", "gpt-4o-mini").open(never);
    assert!(open.now_or_never().is_none());
    assert_eq!(last(&probe).outcome, Some(Outcome::Cancelled));
}

#[test]
fn what_was_never_armed_records_nothing() {
    let probe = Probe::new();
    drop(probe.chat("openai", "gpt-4o-mini"));
    drop(probe.chat("openai", "gpt-4o-mini").open(std::future::pending::<io::Result<futures::stream::Empty<&str>>>()));
    assert!(probe.spans().is_empty() && probe.metric_names().is_empty());
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn a_drop_after_a_declared_deadline_is_a_timeout() {
    let limit = Duration::from_millis(15);
    let deadline = |call: Call| call.deadline(limit);
    let timing = ended_as(&Probe::new(), deadline, &[text(), text()], Some(2));
    assert_eq!((timing.outcome, timing.error_type.as_deref()), (Some(Outcome::Error), Some("timeout")));
    let before = ended_as(&Probe::new(), deadline, &[text(), text()], Some(1));
    assert_eq!(before.outcome, Some(Outcome::Cancelled));
    let whole = ended_as(&Probe::new(), deadline, &[text(), Output::finish("stop")], Some(2));
    assert_eq!(whole.outcome, Some(Outcome::Complete));
}

#[test]
fn a_drop_after_an_idle_deadline_is_a_timeout() {
    let probe = Probe::new();
    let call = probe.chat("openai", "gpt-4o-mini").idle_deadline(Duration::from_millis(100));
    let steps = [Step::Item("hi"), Step::Busy(100), Step::Hang];
    let mut reply = script(&probe, steps).measure(call);
    take(&mut reply, 1);
    assert!(reply.next().now_or_never().is_none());
    drop(reply);
    assert_eq!(last(&probe).error_type.as_deref(), Some("timeout"));
}

#[test]
fn a_deadline_may_be_a_point_in_time() {
    let probe = Probe::new();
    let call = probe.chat("openai", "gpt-4o-mini").deadline_at(std::time::Instant::now() + Duration::from_secs(1));
    let recorder = call.start();
    probe.clock().advance(Duration::from_secs(2));
    drop(recorder);
    assert_eq!(last(&probe).error_type.as_deref(), Some("timeout"));
}

#[test]
fn a_panic_inside_our_poll_is_an_error_and_propagates() {
    let probe = Probe::new();
    let mut reply = script(&probe, [Step::Item("hi"), Step::Panic]).measure(probe.chat("openai", "gpt-4o-mini"));
    let panicked = catch_unwind(AssertUnwindSafe(|| drain(&mut reply)));
    assert!(panicked.is_err());
    assert_eq!(reply.timing().error_type.as_deref(), Some("panic"));
}

#[test]
fn a_reader_that_panics_is_an_error_and_propagates() {
    let probe = Probe::new();
    let mut reply = paced(&probe, [(1, "hi")])
        .measure_with(probe.chat("openai", "gpt-4o-mini"), |_| -> Output<'_> { panic!("reader") });
    assert!(catch_unwind(AssertUnwindSafe(|| drain(&mut reply))).is_err());
    assert_eq!(reply.timing().error_type.as_deref(), Some("panic"));
}

#[test]
fn after_its_finish_reasons_end_and_drop_alike_count_as_the_last_read() {
    for drop_after in [None, Some(2)] {
        let probe = Probe::new();
        let call = probe.chat("openai", "gpt-4o-mini").sees(Sees::Finish);
        let items = [(10, text()), (10, Output::finish("stop"))];
        let mut reply = paced(&probe, items).measure_with(call, |output| *output);
        take(&mut reply, 2);
        probe.clock().advance(Duration::from_secs(7));
        if drop_after.is_none() {
            drain(&mut reply);
        }
        drop(reply);
        assert_eq!(last(&probe).duration, Duration::from_millis(20));
    }
}

#[test]
fn a_call_with_choices_is_whole_when_each_that_was_seen_has_its_reason() {
    let first = Output::finish("stop");
    let second = Output::finish("length").choice(1);
    let both = [text(), text().choice(1), first, second];
    is(outcome(Sees::Finish, &both, None), COMPLETE);
    is(outcome(Sees::Finish, &both[..3], None), INTERRUPTED);
}

#[test]
fn a_reader_that_shows_one_finish_reason_sees_the_others() {
    let both = [text(), text().choice(1), Output::finish("stop")];
    is(outcome(Sees::Nothing, &both, None), INTERRUPTED);
}

#[test]
fn the_first_finish_reason_of_a_choice_stands_in_the_provider_s_words() {
    let timing =
        ended(&Probe::new(), Sees::Finish, &[text(), Output::finish("end_turn"), Output::finish("stop")], None);
    assert_eq!(timing.finish_reasons.len(), 1);
    assert_eq!(timing.finish_reasons[0].reason, "end_turn");
    assert_eq!(timing.finish_reasons[0].kind, FinishKind::Stop);
}

fn reasons(probe: &Probe) -> String {
    let span = probe.span();
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == "gen_ai.response.finish_reasons");
    found.map_or(String::new(), |attribute| attribute.value.to_string())
}

#[test]
fn a_choice_that_was_cut_off_has_the_reason_error() {
    let probe = Probe::new();
    let outputs = [text(), text().choice(1), Output::finish("stop").choice(1)];
    ended(&probe, Sees::Marker, &outputs, None);
    assert_eq!(probe.spans().len(), 1);
    assert_eq!(reasons(&probe), r#"["error","stop"]"#);
}

#[test]
fn only_error_and_interruption_are_errors_of_the_span_and_no_message_is_said() {
    let status = |outputs: &[Chunk], drop_after| {
        let probe = Probe::new();
        ended(&probe, Sees::Finish, outputs, drop_after);
        probe.spans().remove(0).status
    };
    assert_eq!(status(&[text(), Output::finish("stop")], None), Status::Unset);
    assert_eq!(status(&[text()], Some(1)), Status::Unset);
    assert_eq!(status(&[text()], None), Status::error("stream_interrupted"));
    let message = Output::failure(Failure::new("invalid_request").message("your prompt 'secret' is too long"));
    assert_eq!(status(&[message], None), Status::error("invalid_request"));
}

#[test]
fn rates_of_complete_calls_only_count_those() {
    let probe = Probe::new();
    ended(&probe, Sees::Finish, &[text()], None);
    ended(&probe, Sees::Finish, &[text(), Output::finish("stop")], None);
    let points = probe.points("llmperf.client.duration");
    let complete: Vec<_> = points.iter().filter(|point| point.attribute("llmperf.outcome") == "complete").collect();
    assert_eq!((points.len(), complete.len(), complete[0].count), (2, 1, 1));
}
