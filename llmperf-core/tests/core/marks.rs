//! Design section 3: start, arrival, output, the marks and when they are absent, consumer wait.

use std::time::Duration;

use futures::executor::block_on;
use llmperf_core::{
    Kind, MeasureStream as _, Measured, Output, Read, Reader, Sees, Timing, TokenSource, Usage, testing::Probe,
};

use crate::script::{Script, Step, attribute, drain, ms, paced, script, take};

type Chunk = Output<'static>;

fn carries(chunk: &Chunk) -> Output<'_> {
    *chunk
}

/// Measures outputs that come so many milliseconds apart, to their end.
fn timed(outputs: impl IntoIterator<Item = (u64, Chunk)>) -> Timing {
    timed_as(&Probe::new(), |call| call, outputs)
}

fn timed_as(
    probe: &Probe,
    spec: impl FnOnce(llmperf_core::Call) -> llmperf_core::Call,
    outputs: impl IntoIterator<Item = (u64, Chunk)>,
) -> Timing {
    let call = spec(probe.chat("openai", "gpt-4o-mini"));
    let mut reply = paced(probe, outputs).measure_with(call, carries);
    drain(&mut reply);
    reply.timing()
}

fn text() -> Chunk {
    Output::text("word")
}

#[test]
fn the_clock_starts_when_the_call_is_made() {
    let probe = Probe::new();
    let call = probe.chat("openai", "gpt-4o-mini");
    probe.clock().advance(Duration::from_millis(40)); // connecting, queueing
    let mut reply = paced(&probe, [(60, "hi")]).measure(call);
    drain(&mut reply);
    assert_eq!(reply.timing().time_to_first_token, ms(100));
    assert_eq!(reply.timing().duration, Duration::from_millis(100));
}

#[test]
fn the_head_is_marked_when_the_awaited_request_is_ready() {
    let probe = Probe::new();
    let call = probe.chat("openai", "gpt-4o-mini");
    let request = async {
        probe.clock().advance(Duration::from_millis(70));
        Ok::<_, std::io::Error>(paced(&probe, [(30, "hi")]))
    };
    let mut reply = block_on(call.open(request)).unwrap();
    drain(&mut reply);
    assert_eq!(reply.timing().time_to_head, ms(70));
    assert_eq!(reply.timing().time_to_first_token, ms(100));
}

#[test]
fn a_head_that_nobody_saw_is_absent() {
    assert_eq!(timed([(10, text())]).time_to_head, None);
}

#[test]
fn the_first_chunk_is_the_first_event_of_any_kind_and_the_first_token_the_first_output() {
    let timing = timed([(50, Output::none()), (20, Output::text("")), (30, text()), (5, text())]);
    assert_eq!(timing.time_to_first_chunk, ms(50));
    assert_eq!(timing.time_to_first_token, ms(100));
    assert_eq!((timing.chunks, timing.outputs), (4, 2));
}

#[test]
fn what_is_no_event_marks_nothing() {
    let timing = timed([(50, Output::ignored()), (50, text())]);
    assert_eq!(timing.time_to_first_chunk, ms(100));
    assert_eq!(timing.chunks, 1);
}

#[test]
fn reasoning_counts_for_the_first_token_and_not_for_the_first_answer() {
    let timing = timed([(100, Output::reasoning("hm")), (200, Output::reasoning("so")), (50, text())]);
    assert_eq!(timing.time_to_first_token, ms(100));
    assert_eq!(timing.time_to_first_answer, ms(350));
}

#[test]
fn every_kind_of_output_is_output() {
    for kind in [Kind::Text, Kind::Reasoning, Kind::ReasoningSummary, Kind::Refusal, Kind::Tool, Kind::Media] {
        assert_eq!(timed([(10, Output::sized(kind, 3))]).time_to_first_token, ms(10), "{kind:?}");
    }
}

#[test]
fn without_output_every_output_mark_is_absent() {
    let timing = timed([(10, Output::none()), (10, Output::usage(16, 0))]);
    assert_eq!(timing.time_to_first_token, None);
    assert_eq!(timing.time_to_first_answer, None);
    assert_eq!(timing.longest_gap, None);
    assert_eq!(timing.time_per_output_token, None);
    assert_eq!(timing.generation_time, None);
    assert_eq!(timing.output_token_rate, None);
    assert_eq!(timing.usage.output_tokens(), Some(0));
}

#[test]
fn gaps_lie_between_reads_that_carry_output() {
    let timing = timed([(10, text()), (40, Output::none()), (30, text()), (20, text())]);
    assert_eq!(timing.longest_gap, ms(70));
}

#[test]
fn one_read_of_output_has_no_gap() {
    assert_eq!(timed([(10, text()), (90, Output::usage(1, 1))]).longest_gap, None);
}

#[test]
fn a_call_that_does_not_complete_adds_the_gap_at_its_end() {
    let probe = Probe::new();
    let call = probe.chat("openai", "gpt-4o-mini").sees(Sees::Finish);
    let steps = [Step::Busy(10), Step::Item(text()), Step::Busy(20), Step::Item(text()), Step::Busy(500)];
    let mut reply = script(&probe, steps).measure_with(call, carries);
    drain(&mut reply);
    assert_eq!(reply.timing().longest_gap, ms(500));
}

#[test]
fn who_holds_an_item_and_does_not_ask_for_more_waits_for_nothing() {
    let probe = Probe::new();
    let held = |comes_back: bool| {
        let call = probe.chat("openai", "gpt-4o-mini").sees(Sees::Finish);
        let mut reply = paced(&probe, [(10, text()), (20, text())]).measure_with(call, carries);
        take(&mut reply, 2);
        probe.clock().advance(Duration::from_millis(500));
        if comes_back {
            drain(&mut reply);
        }
        reply
    };
    drop(held(false));
    assert_eq!(attribute(&probe.span(), "llmperf.longest_gap").as_deref(), Some("0.02"));
    assert_eq!(held(true).timing().longest_gap, ms(20));
}

#[test]
fn tpot_divides_the_output_window_by_the_tokens_after_the_first_read() {
    let timing = timed([(100, text()), (20, text()), (20, text()), (40, Output::usage(9, 3))]);
    assert_eq!(timing.time_per_output_token, ms(20));
    assert_eq!(timing.generation_time, ms(140));
    assert_eq!(timing.token_source, Some(TokenSource::Usage));
}

#[test]
fn usage_frames_and_the_marker_behind_the_last_token_do_not_inflate_tpot() {
    let trailing = timed([(100, text()), (20, text()), (500, Output::usage(9, 2)), (500, Output::done())]);
    assert_eq!(trailing.time_per_output_token, ms(20));
    assert_eq!(trailing.duration, Duration::from_millis(1_120));
}

#[test]
fn with_one_token_in_the_first_read_and_nothing_behind_the_last_tpot_is_e2e_less_ttft_over_tokens_less_one() {
    let timing = timed([(100, text()), (30, text()), (30, text().and_usage(Usage::of(9, 3)).and_done())]);
    let first = timing.time_to_first_token.unwrap();
    assert_eq!(timing.time_per_output_token, Some((timing.duration - first) / 2));
}

#[test]
fn tokens_of_the_first_read_are_what_the_dialect_tells() {
    let timing = timed([(100, text().tokens(5)), (50, text().tokens(5)), (0, Output::usage(9, 10))]);
    assert_eq!(timing.time_per_output_token, ms(10));
}

#[test]
fn else_they_are_its_share_of_the_bytes() {
    let timing = timed([(100, Output::text("12345678")), (60, Output::text("1234")), (0, Output::usage(9, 12))]);
    // 8 of 12 bytes: 8 of 12 tokens came at once, 4 in 60 ms
    assert_eq!(timing.time_per_output_token, ms(15));
}

#[test]
fn and_one_where_no_bytes_are_known_or_the_share_is_less() {
    let shares = timed([(100, Output::text("1")), (60, Output::text("123456789")), (0, Output::usage(9, 4))]);
    assert_eq!(shares.time_per_output_token, ms(20));
}

#[test]
fn reasoning_that_was_not_streamed_is_no_streamed_token() {
    let usage = Usage::of(9, 103).reasoning(100);
    let timing = timed([(100, text()), (20, text()), (20, text()), (0, Output::none().and_usage(usage))]);
    assert_eq!(timing.time_per_output_token, ms(20));
}

#[test]
fn of_summarised_reasoning_the_window_is_the_answer_alone() {
    let usage = Usage::of(9, 103).reasoning(100);
    let summary = Output::of(Kind::ReasoningSummary, "thought about it");
    let timing =
        timed([(100, summary), (900, text()), (20, text()), (20, text()), (0, Output::none().and_usage(usage))]);
    assert_eq!(timing.time_to_first_token, ms(100));
    assert_eq!(timing.time_per_output_token, ms(20));
}

#[test]
fn streamed_reasoning_counts_in_tpot() {
    let usage = Usage::of(9, 4).reasoning(2);
    let thought = Output::reasoning("word");
    let timing =
        timed([(100, thought), (20, thought), (20, text()), (20, text()), (0, Output::none().and_usage(usage))]);
    assert_eq!(timing.time_per_output_token, ms(20));
}

#[test]
fn tpot_is_absent_when_the_count_is_unknown_or_too_small_or_came_in_one_read() {
    assert_eq!(timed([(10, text()), (10, text())]).time_per_output_token, None);
    assert_eq!(timed([(10, text()), (10, text()), (0, Output::usage(9, 1))]).time_per_output_token, None);
    assert_eq!(timed([(10, text()), (0, Output::usage(9, 30))]).time_per_output_token, None);
    let more_reasoning_than_output = Output::none().and_usage(Usage::of(9, 16).reasoning(19));
    assert_eq!(timed([(10, text()), (10, text()), (0, more_reasoning_than_output)]).time_per_output_token, None);
}

#[test]
fn tpot_of_several_choices_is_absent() {
    let timing = timed([(10, text().choice(0)), (10, text().choice(1)), (10, text()), (0, Output::usage(9, 9))]);
    assert_eq!(timing.time_per_output_token, None);
    assert_eq!(timing.longest_gap, ms(10));
}

#[test]
fn the_rate_is_output_tokens_over_generation_time() {
    let timing = timed([(100, text()), (400, text()), (500, Output::usage(9, 10))]);
    assert_eq!(timing.output_token_rate, Some(20.0));
}

#[test]
fn a_tokenizer_of_the_caller_s_counts_where_no_usage_came() {
    let count = |call: llmperf_core::Call| call.tokenizer(|text| text.split(' ').count() as u64);
    let chunks = [(100, Output::text("a b")), (40, Output::text("c d"))];
    let timing = timed_as(&Probe::new(), count, chunks);
    assert_eq!((timing.usage.output_tokens(), timing.token_source), (Some(4), Some(TokenSource::Tokenizer)));
    let reported = timed_as(&Probe::new(), count, chunks.into_iter().chain([(0, Output::usage(1, 9))]));
    assert_eq!((reported.usage.output_tokens(), reported.token_source), (Some(9), Some(TokenSource::Usage)));
}

#[test]
fn an_estimate_from_chunks_is_opt_in_and_marked_and_no_count() {
    let chunks = [(100, text()), (30, text()), (30, text())];
    let timing = timed_as(&Probe::new(), llmperf_core::Call::estimate_tokens, chunks);
    assert_eq!(timing.token_source, Some(TokenSource::Chunks));
    assert_eq!(timing.time_per_output_token, ms(30));
    assert_eq!(timing.usage.output_tokens(), None);
    assert_eq!(timed(chunks).token_source, None);
}

/// A reader that finds two events in each item.
struct Coalesced;

impl Reader<&'static str> for Coalesced {
    const SEES: Sees = Sees::Nothing;

    fn read(&mut self, item: &&'static str, read: &mut Read<'_>) {
        for word in item.split(' ') {
            read.event(Output::text(word));
        }
    }
}

#[test]
fn events_of_one_read_share_its_time() {
    let probe = Probe::new();
    let stream = paced(&probe, [(50, "ab cd"), (30, "ef gh")]);
    let mut reply = Measured::new(stream, probe.chat("openai", "gpt-4o-mini"), Coalesced);
    drain(&mut reply);
    let timing = reply.timing();
    assert_eq!((timing.chunks, timing.outputs), (4, 4));
    assert_eq!(timing.longest_gap, ms(30));
    assert_eq!(probe.count("gen_ai.client.inference.time_per_output_chunk"), 1.0);
}

/// Three chunks, 10 ms of model time apart, with so much of the consumer's time between the reads.
fn consumed(probe: &Probe, consumer: u64, model: u64) -> Measured<Script<Chunk>, impl Reader<Chunk>> {
    let steps = if model == 0 {
        crate::script::script(probe, [1, 2, 3].map(|_| crate::script::Step::Item(text())))
    } else {
        paced(probe, [1, 2, 3].map(|_| (model, text())))
    };
    let mut reply = steps.measure_with(probe.chat("openai", "gpt-4o-mini"), carries);
    for _ in 0..3 {
        take(&mut reply, 1);
        probe.clock().advance(Duration::from_millis(consumer));
    }
    drain(&mut reply);
    reply
}

#[test]
fn the_consumer_s_time_is_a_wait_only_if_the_next_item_was_ready_at_once() {
    let probe = Probe::new();
    let ready = consumed(&probe, 30, 0).timing();
    assert_eq!(ready.consumer_wait, Duration::from_millis(60));
    assert!(ready.consumer_bound);
    let busy = consumed(&Probe::new(), 30, 10).timing();
    assert_eq!(busy.consumer_wait, Duration::ZERO);
    assert!(!busy.consumer_bound);
}

#[test]
fn a_consumer_bound_call_keeps_pace_and_gaps_out_of_our_metrics_and_on_the_span() {
    let probe = Probe::new();
    let reply = consumed(&probe, 30, 0);
    drop(reply);
    assert_eq!(probe.count("llmperf.client.longest_gap"), 0.0);
    assert_eq!(probe.count("llmperf.client.output_token_rate"), 0.0);
    assert_eq!(probe.count("llmperf.client.time_to_first_token"), 1.0);
    assert_eq!(probe.count("llmperf.client.consumer_wait"), 1.0);
    assert_eq!(probe.count("gen_ai.client.inference.time_per_output_chunk"), 2.0);
    let span = probe.span();
    let has = |key: &str| span.attributes.iter().any(|attribute| attribute.key.as_str() == key);
    assert!(has("llmperf.consumer_bound") && has("llmperf.longest_gap"));
}

#[test]
fn a_wait_behind_the_last_output_delays_no_output() {
    let probe = Probe::new();
    let items = [(10, text()), (100, text())];
    let mut reply = paced(&probe, items).measure_with(probe.chat("openai", "gpt-4o-mini"), carries);
    take(&mut reply, 2);
    probe.clock().advance(Duration::from_secs(9));
    drain(&mut reply);
    assert!(!reply.timing().consumer_bound);
}

#[test]
fn marks_freeze_at_the_latch() {
    let timing = timed([(10, text()), (10, Output::done()), (500, text()), (10, Output::usage(9, 9))]);
    assert_eq!(timing.duration, Duration::from_millis(20));
    assert_eq!((timing.outputs, timing.usage), (1, Usage::new()));
}
