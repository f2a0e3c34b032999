//! What a transport layer needs of a call: polls of a source that is no stream, answers that come whole, statuses.

use std::{task::Poll, time::Duration};

use llmperf_core::{
    ByItem, Kind, Outcome, Output, Read, Reader, Recorder, Sees, Usage,
    opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _},
    testing::Probe,
};

use crate::script::{attribute, ms};

/// Polls the call through these items; the clock moves on before each.
fn polled(probe: &Probe, call: &mut Recorder, items: &[Poll<Option<&'static str>>]) {
    for item in items {
        probe.clock().advance(Duration::from_millis(10));
        assert_eq!(call.poll(|| *item, &mut ByItem::default()), *item);
    }
}

#[test]
fn polls_of_a_recorder_mark_what_polls_of_a_stream_mark() {
    let probe = Probe::new();
    let mut call = probe.chat("openai", "m").streams(true).start();
    polled(&probe, &mut call, &[Poll::Pending, Poll::Ready(Some("a")), Poll::Ready(Some("b")), Poll::Ready(None)]);
    let timing = call.timing();
    assert!(call.is_over());
    assert_eq!((timing.outcome, timing.outputs), (Some(Outcome::Complete), 2));
    assert_eq!((timing.time_to_first_token, timing.longest_gap), (ms(20), ms(10)));
    assert_eq!(attribute(&probe.span(), "gen_ai.request.stream").as_deref(), Some("true"));
}

#[test]
fn the_consumer_of_a_polled_source_is_waited_for_as_that_of_a_stream() {
    let probe = Probe::new();
    let mut call = probe.chat("openai", "m").start();
    assert!(call.poll(|| Poll::Ready(Some("a")), &mut ByItem::default()).is_ready());
    probe.clock().advance(Duration::from_millis(70));
    assert!(call.poll(|| Poll::Ready(Some("b")), &mut ByItem::default()).is_ready());
    assert_eq!(call.timing().consumer_wait, Duration::from_millis(70));
}

#[test]
fn what_is_polled_is_polled_inside_the_call() {
    let probe = Probe::new();
    let mut call = probe.chat("openai", "m").start();
    for _ in 0..2 {
        let source = || {
            probe.tracer_provider().tracer("app").start("inner").end();
            Poll::Ready(Some("a"))
        };
        assert!(call.poll(source, &mut ByItem::default()).is_ready());
        call.fail("late");
    }
    assert_eq!(probe.tree(), "chat m !\n  inner\n  inner\n");
}

/// Tells of an answer that came whole.
struct Whole;

impl Reader<u64> for Whole {
    const SEES: Sees = Sees::Marker;

    fn read(&mut self, bytes: &u64, read: &mut Read<'_>) {
        read.received(*bytes);
    }

    fn end(&mut self, read: &mut Read<'_>) {
        read.streams(false);
        read.event(Output::sized(Kind::Text, 9).and_usage(Usage::of(7, 3)).model("m-1"));
        read.also(Output::finish("stop").choice(1));
        read.also(Output::finish("length"));
        read.also(Output::done());
    }
}

#[test]
fn an_answer_that_comes_whole_has_usage_and_reasons_but_neither_chunk_nor_mark() {
    let probe = Probe::new();
    let mut call = probe.chat("openai", "m").streams(false).start();
    call.on_head_with(200);
    assert!(call.poll(|| Poll::Ready(Some(40)), &mut Whole).is_ready());
    probe.clock().advance(Duration::from_millis(10));
    assert!(call.poll(|| Poll::Ready(Some(2)), &mut Whole).is_ready());
    call.end_by(&mut Whole);
    let timing = call.timing();
    assert_eq!((timing.outcome, timing.chunks, timing.outputs), (Some(Outcome::Complete), 0, 0));
    assert_eq!((timing.time_to_first_token, timing.usage), (None, Usage::of(7, 3)));
    assert_eq!((timing.finish_reasons.len(), timing.duration), (2, Duration::from_millis(10)));
    let span = probe.span();
    assert_eq!(attribute(&span, "http.response.body.size").as_deref(), Some("42"));
    assert_eq!(attribute(&span, "gen_ai.request.stream"), None);
    assert_eq!(probe.count("llmperf.client.time_to_first_token"), 0.0);
    assert_eq!(probe.count("llmperf.client.consumer_wait"), 0.0);
}

/// Reads the body of a refusal.
struct Refusal;

impl Reader<()> for Refusal {
    const SEES: Sees = Sees::Marker;

    fn read(&mut self, (): &(), read: &mut Read<'_>) {
        read.streams(false);
        read.event(Output::error("rate_limit_exceeded"));
    }
}

#[test]
fn a_refused_request_fails_at_the_end_of_its_body_by_the_code_that_it_names_or_by_its_status() {
    let probe = Probe::new();
    let start = || probe.chat("openai", "m").start();

    let mut call = start();
    call.on_head_with(429);
    assert!(!call.is_over());
    assert!(call.poll(|| Poll::Ready(Some(())), &mut Refusal).is_ready());
    let named = call.timing();

    let mut call = start();
    call.on_head_with(429);
    let ended = call.end();

    let mut call = start();
    call.on_head_with(429);
    drop(call);
    let errors: Vec<_> = probe.spans().iter().map(|span| attribute(span, "error.type").unwrap()).collect();
    assert_eq!((named.outcome, ended.outcome), (Some(Outcome::Error), Some(Outcome::Error)));
    assert_eq!(errors, ["rate_limit_exceeded", "429", "429"]);
}

#[test]
fn the_status_of_a_joined_transport_is_the_calls_until_another_attempt_has_one() {
    let probe = Probe::new();
    for (statuses, outcome) in [([503, 200], Outcome::Complete), ([200, 503], Outcome::Error)] {
        let mut call = probe.chat("openai", "m").start();
        for status in statuses {
            call.in_scope(|| {
                let mut transport = probe.chat("http", "").transport().start();
                transport.on_head_with(status);
                transport.end();
            });
        }
        let timing = call.finish();
        assert_eq!((timing.outcome, timing.attempts), (Some(outcome), Some(2)));
    }
}

#[test]
fn the_status_of_a_refused_attempt_says_nothing_of_the_next_which_has_none() {
    let probe = Probe::new();
    let refused = || {
        let mut call = probe.chat("openai", "m").start();
        call.in_scope(|| {
            let mut transport = probe.chat("http", "").transport().start();
            transport.on_head_with(503);
            transport.end();
        });
        let next = call.in_scope(|| probe.chat("http", "").transport().start());
        (call, next)
    };

    let (call, next) = refused();
    drop((next, call));
    assert_eq!(attribute(&probe.spans()[2], "llmperf.outcome").as_deref(), Some("cancelled"));

    let (mut call, mut next) = refused();
    next.fail("connection_refused");
    call.fail("connection_refused");
    assert_eq!(call.timing().error_type.as_deref(), Some("connection_refused"));
}

#[test]
fn a_transport_that_does_other_work_inside_a_call_is_no_attempt_at_it() {
    let probe = Probe::new();
    let mut call = probe.chat("openai", "m").start();
    call.in_scope(|| probe.chat("openai", "e").operation("embeddings").transport().start().finish());
    assert_eq!(call.finish().attempts, None);
    assert_eq!(probe.count("llmperf.client.calls"), 2.0);

    let mut call = probe.chat("cohere", "e").operation("embeddings").start();
    call.in_scope(|| probe.chat("http", "").operation("embeddings").transport().start().finish());
    assert_eq!(call.finish().attempts, Some(1));
    assert_eq!(probe.count("llmperf.client.calls"), 3.0);
}

#[test]
fn a_model_that_is_known_late_is_the_spans_and_the_clock_has_run_before() {
    let probe = Probe::new();
    let call = probe.chat("openai", "");
    probe.clock().advance(Duration::from_millis(30));
    let timing = call.model("gpt-4o-mini").start().finish();
    assert_eq!((timing.duration, &*probe.span().name), (Duration::from_millis(30), "chat gpt-4o-mini"));
}

#[test]
fn what_has_no_choices_has_no_finish_reason_when_it_fails() {
    for (operation, reasons) in [("chat", Some(r#"["error"]"#)), ("embeddings", None), ("rerank", None)] {
        let probe = Probe::new();
        let mut call = probe.chat("openai", "m").operation(operation).start();
        call.on_head_with(429);
        assert_eq!(call.end().outcome, Some(Outcome::Error));
        assert_eq!(attribute(&probe.span(), "gen_ai.response.finish_reasons").as_deref(), reasons, "{operation}");
    }
}
