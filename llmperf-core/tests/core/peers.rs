//! Forty things that went wrong for users of other tools: those that a core can get wrong, each a test with its number.

use std::{
    future::{pending, ready},
    io,
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, executor::block_on, stream};
use llmperf_core::{
    Call, Capture, Failure, InCurrentScope as _, Kind, MeasureStream as _, Observer, Outcome, Output, Sees,
    StartedCall, Timing, Usage, current_call, testing::Probe,
};
use opentelemetry::{
    Context,
    trace::{Status, TraceContextExt as _, Tracer as _, TracerProvider as _},
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{Sampler, SdkTracerProvider, Span, SpanData, SpanProcessor},
};

use crate::script::{Step, attribute, drain, ms, paced, script, take};

type Chunk = Output<'static>;

fn call(probe: &Probe) -> Call {
    probe.chat("openai", "gpt-4o-mini")
}

fn text() -> Chunk {
    Output::text("word")
}

fn timed(probe: &Probe, outputs: &[(u64, Chunk)]) -> Timing {
    let mut reply =
        paced(probe, outputs.iter().copied()).measure_with(call(probe).sees(Sees::Finish), |output| *output);
    drain(&mut reply);
    reply.timing()
}

fn of_span(probe: &Probe, key: &str) -> Option<String> {
    attribute(&probe.span(), key)
}

#[test]
fn report_01_a_stream_left_early_is_one_cancelled_span_with_what_was_seen() {
    let probe = Probe::new();
    let items = [(10, text().and_usage(Usage::of(9, 1))), (10, text()), (10, text())];
    let mut reply = paced(&probe, items).measure_with(call(&probe), |output| *output);
    take(&mut reply, 2);
    drop(reply);
    assert_eq!(of_span(&probe, "llmperf.outcome").as_deref(), Some("cancelled"));
    assert_eq!(of_span(&probe, "gen_ai.usage.input_tokens").as_deref(), Some("9"));
    assert_eq!(of_span(&probe, "llmperf.output_chunks").as_deref(), Some("2"));
}

#[test]
fn report_02_there_is_one_span_whose_parent_is_that_of_the_request() {
    let probe = Probe::new();
    let tracer = probe.tracer_provider().tracer("app");
    let request = Context::current_with_span(tracer.start("request"));
    let guard = request.clone().attach();
    let mut reply = paced(&probe, [(10, text())]).measure_with(call(&probe), |output| *output);
    drop(guard);
    let _elsewhere = Context::current_with_span(tracer.start("elsewhere")).attach();
    drain(&mut reply);
    drop(request);
    assert_eq!(probe.tree(), "request\n  chat gpt-4o-mini\n");
}

#[test]
fn report_03_a_failure_in_mid_stream_is_an_error_and_stays_one() {
    let probe = Probe::new();
    timed(&probe, &[(10, text()), (10, Output::error("overloaded")), (10, text()), (10, Output::finish("stop"))]);
    assert_eq!(probe.span().status, Status::error("overloaded"));
}

#[test]
fn report_05_whatever_ends_it_again_a_call_ends_once() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    recorder.fail("first");
    recorder.fail("second");
    recorder.on_chunk(Output::done());
    drop(recorder.finish());
    assert_eq!(of_span(&probe, "error.type").as_deref(), Some("first"));
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}

#[test]
fn report_06_a_cancellation_is_neither_an_error_nor_a_success() {
    let probe = Probe::new();
    drop(call(&probe).start());
    assert_eq!(probe.span().status, Status::Unset);
    let point = &probe.points("llmperf.client.calls")[0];
    assert_eq!((point.attribute("llmperf.outcome"), point.attribute("error.type")), ("cancelled", ""));
}

#[test]
fn report_07_a_drop_behind_the_terminal_item_is_no_abandonment() {
    let probe = Probe::new();
    let items = [(10, text()), (10, Output::done())];
    let mut reply = paced(&probe, items).measure_with(call(&probe).sees(Sees::Marker), |output| *output);
    take(&mut reply, 2);
    drop(reply); // the consumer never sees the end of the stream
    assert_eq!(of_span(&probe, "llmperf.outcome").as_deref(), Some("complete"));
}

#[test]
fn report_08_a_request_cancelled_before_its_head_leaves_a_record() {
    let probe = Probe::new();
    assert!(call(&probe).open(pending::<io::Result<stream::Empty<&str>>>()).now_or_never().is_none());
    assert_eq!(of_span(&probe, "llmperf.outcome").as_deref(), Some("cancelled"));
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}

#[test]
fn report_09_a_truncated_stream_is_given_no_finish_reason_that_nobody_said() {
    let probe = Probe::new();
    let timing = timed(&probe, &[(10, text())]);
    assert_eq!((timing.outcome, timing.finish_reasons.len()), (Some(Outcome::Interrupted), 0));
    assert_eq!(of_span(&probe, "gen_ai.response.finish_reasons").as_deref(), Some(r#"["error"]"#));
}

#[test]
fn report_10_the_duration_covers_the_stream_and_not_its_making_alone() {
    let probe = Probe::new();
    let items = paced(&probe, [(100, "a"), (900, "b")]);
    let mut reply = block_on(call(&probe).open(ready(Ok::<_, io::Error>(items)))).unwrap();
    assert!(probe.spans().is_empty());
    drain(&mut reply);
    let span = probe.span();
    assert_eq!(span.end_time.duration_since(span.start_time).unwrap(), Duration::from_secs(1));
}

#[test]
fn report_11_a_stream_that_was_never_polled_finishes_its_span() {
    let probe = Probe::new();
    drop(stream::iter(["a"]).measure(call(&probe)));
    assert_eq!(of_span(&probe, "llmperf.outcome").as_deref(), Some("cancelled"));
}

#[test]
fn report_12_each_item_comes_at_once() {
    let probe = Probe::new();
    let steps = [Step::Item("a"), Step::Busy(10), Step::Item("b"), Step::Hang];
    let mut reply = script(&probe, steps).measure(call(&probe));
    assert_eq!(reply.next().now_or_never(), Some(Some("a")));
    assert_eq!(reply.next().now_or_never(), None);
    assert_eq!(reply.next().now_or_never(), Some(Some("b")));
}

#[test]
fn report_13_reasoning_is_output_and_the_first_answer_a_second_figure() {
    let timing = timed(&Probe::new(), &[(100, Output::reasoning("hm")), (900, text()), (0, Output::finish("stop"))]);
    assert_eq!((timing.time_to_first_token, timing.time_to_first_answer), (ms(100), ms(1_000)));
}

#[test]
fn report_14_window_and_count_of_tpot_are_of_the_same_kind() {
    let usage = Output::finish("stop").and_usage(Usage::of(9, 103).reasoning(100));
    let timing = timed(&Probe::new(), &[(5_000, text()), (20, text()), (20, text()), (0, usage)]);
    assert_eq!(timing.time_per_output_token, ms(20), "of the three visible tokens");
}

#[test]
fn report_15_the_first_token_is_never_rewritten() {
    let probe = Probe::new();
    let items = [(100, text()), (900, text()), (0, Output::usage(9, 2).and_finish("stop"))];
    let mut reply = paced(&probe, items).measure_with(call(&probe), |output| *output);
    for _ in 0..4 {
        take(&mut reply, 1);
        assert_eq!(reply.timing().time_to_first_token, ms(100));
    }
    assert_eq!(of_span(&probe, "llmperf.time_to_first_token").as_deref(), Some("0.1"));
}

#[test]
fn report_16_a_tool_call_alone_has_a_first_token() {
    let items = [(50, Output::none()), (50, Output::tool("search")), (50, Output::tool("{\"q\":1}"))];
    assert_eq!(timed(&Probe::new(), &items).time_to_first_token, ms(100));
}

#[test]
fn report_17_a_slow_consumer_is_no_latency_of_the_model() {
    let probe = Probe::new();
    let steps = [Step::Busy(100), Step::Item(text()), Step::Item(text()), Step::Item(Output::usage(9, 2).and_done())];
    let mut reply = script(&probe, steps).measure_with(call(&probe), |output| *output);
    take(&mut reply, 1);
    probe.clock().advance(Duration::from_secs(5));
    drain(&mut reply);
    let timing = reply.timing();
    assert_eq!((timing.time_to_first_token, timing.consumer_wait), (ms(100), Duration::from_secs(5)));
    assert!(timing.consumer_bound);
    assert!(probe.points("llmperf.client.time_per_output_token").is_empty());
    assert!(probe.points("llmperf.client.longest_gap").is_empty());
}

#[test]
fn report_18_speed_is_made_of_reported_tokens_and_the_first_chunk_s_share_is_left_out() {
    let burst = Output::sized(Kind::Text, 80);
    let items = [(100, burst), (50, Output::sized(Kind::Text, 20)), (0, Output::usage(9, 100).and_finish("stop"))];
    let timing = timed(&Probe::new(), &items);
    assert_eq!(timing.time_per_output_token, Some(Duration::from_micros(2_500)), "20 tokens in 50 ms");
    let unreported = timed(&Probe::new(), &items[..2]);
    assert_eq!((unreported.time_per_output_token, unreported.output_token_rate), (None, None));
}

#[test]
fn report_19_a_missing_usage_is_no_zero() {
    let probe = Probe::new();
    let timing = timed(&probe, &[(10, text()), (0, Output::finish("stop"))]);
    assert!(timing.usage.is_empty() && timing.token_source.is_none());
    assert_eq!(of_span(&probe, "gen_ai.usage.output_tokens"), None);
    assert!(probe.points("llmperf.client.tokens").is_empty());
    assert!(probe.points("gen_ai.client.inference.operation.output_tokens").is_empty());
}

#[test]
fn report_20_a_usage_in_every_chunk_is_not_summed_up() {
    let probe = Probe::new();
    let items = [1, 2, 3].map(|tokens| (10, text().and_usage(Usage::of(28, tokens))));
    assert_eq!(timed(&probe, &items).usage, Usage::of(28, 3));
    let tokens: f64 = probe.points("llmperf.client.tokens").iter().map(|point| point.sum).sum();
    assert_eq!(tokens, 31.0);
}

#[test]
fn report_21_a_reported_usage_is_recorded_whatever_else_is_off() {
    let probe =
        Probe::sampled(Sampler::AlwaysOff, |builder| builder.per_chunk_histogram(false).capture(Capture::off()));
    timed(&probe, &[(10, text()), (0, Output::usage(28, 3).and_finish("stop"))]);
    assert_eq!(probe.points("llmperf.client.tokens").len(), 2);
    assert_eq!(probe.count("gen_ai.client.inference.operation.output_tokens"), 1.0);
}

#[test]
fn report_22_a_usage_of_no_choice_is_a_chunk_and_nothing_more() {
    let items = [(10, text()), (10, Output::finish("stop")), (10, Output::usage(28, 1))];
    let timing = timed(&Probe::new(), &items);
    assert_eq!((timing.outcome, timing.chunks, timing.outputs), (Some(Outcome::Complete), 3, 1));
    assert_eq!(timing.usage, Usage::of(28, 1));
}

#[test]
fn report_23_tokens_stand_on_one_exported_span() {
    let probe = Probe::new();
    let tracer = probe.tracer_provider().tracer("app");
    let agent = Context::current_with_span(tracer.start("invoke_agent"));
    let guard = agent.clone().attach();
    let mut recorder = call(&probe).start();
    recorder.on_usage(Usage::of(28, 3));
    drop(recorder.finish());
    drop((guard, agent));
    let tokens: Vec<_> = probe.spans().iter().filter_map(|span| attribute(span, "gen_ai.usage.input_tokens")).collect();
    assert_eq!((probe.spans().len(), tokens), (2, vec!["28".to_owned()]));
}

#[test]
fn report_24_nothing_is_written_to_a_span_that_we_did_not_make() {
    let probe = Probe::new();
    let tracer = probe.tracer_provider().tracer("app");
    let ambient = Context::current_with_span(tracer.start("handler"));
    let guard = ambient.clone().attach();
    timed(&probe, &[(10, text()), (0, Output::usage(28, 3))]);
    drop((guard, ambient));
    let handler = probe.spans().into_iter().find(|span| span.name == "handler").unwrap();
    assert!(handler.attributes.is_empty() && handler.events.is_empty() && handler.status == Status::Unset);
}

#[test]
fn report_25_latencies_of_minutes_have_their_buckets_and_these_can_be_changed() {
    let probe = Probe::with(|builder| builder.boundaries("llmperf.client.time_to_head", [600.0]));
    let mut recorder = call(&probe).start();
    probe.clock().advance(Duration::from_secs(70));
    recorder.on_head();
    recorder.finish();
    for metric in ["llmperf.client.duration", "gen_ai.client.inference.duration"] {
        let point = &probe.points(metric)[0];
        assert!(point.bounds.last().is_some_and(|last| *last >= 80.0), "{metric}");
        assert_eq!(point.buckets.last(), Some(&0), "{metric}: not in the bucket without an end");
    }
    assert_eq!(probe.points("llmperf.client.time_to_head")[0].bounds, [600.0]);
}

#[test]
fn report_26_seconds_and_tokens_have_each_their_own_buckets() {
    let probe = Probe::new();
    timed(&probe, &[(10, text()), (0, Output::usage(28, 3))]);
    let last = |metric: &str| probe.points(metric)[0].bounds.last().copied();
    assert_eq!(last("gen_ai.client.inference.duration"), Some(81.92));
    assert_eq!(last("gen_ai.client.inference.operation.input_tokens"), Some(67_108_864.0));
    assert_eq!(last("llmperf.client.time_to_first_token"), Some(300.0));
    assert_eq!(last("llmperf.client.prompt.tokens"), Some(67_108_864.0));
}

#[test]
fn report_27_names_without_end_make_no_series_without_end() {
    let probe = Probe::with(|builder| builder.name_cap(20));
    for n in 0..500 {
        let named = probe.chat(format!("provider-{n}"), format!("model-{n}"));
        named
            .server(format!("10.0.{n}.1"), 8_000 + n)
            .scenario(format!("s{n}"))
            .label("tenant", format!("t{n}"))
            .start()
            .finish();
    }
    assert!(probe.points("llmperf.client.calls").len() <= 21);
    assert_eq!(probe.count("llmperf.client.calls"), 500.0);
}

#[test]
fn report_28_an_error_type_is_a_code_and_the_other_keys_are_always_the_same() {
    let probe = Probe::new();
    timed(&probe, &[(10, Output::failure(Failure::new("The model 'x' does not exist")))]);
    timed(&probe, &[(10, text()), (0, Output::finish("stop"))]);
    let points = probe.points("llmperf.client.calls");
    let mut keys: Vec<Vec<_>> = points.iter().map(|point| point.attributes.keys().collect()).collect();
    keys.sort_by_key(Vec::len);
    assert_eq!(points.iter().filter(|point| point.attribute("error.type") == "_OTHER").count(), 1);
    assert_eq!(
        keys[1].iter().filter(|key| **key != "error.type").collect::<Vec<_>>(),
        keys[0].iter().collect::<Vec<_>>()
    );
}

#[test]
fn report_29_a_failed_stream_is_counted_and_its_duration_too() {
    let probe = Probe::new();
    timed(&probe, &[(10, text()), (10, Output::error("overloaded"))]);
    for metric in ["llmperf.client.calls", "llmperf.client.duration", "gen_ai.client.inference.duration"] {
        assert_eq!(probe.count(metric), 1.0, "{metric}");
    }
    assert_eq!(probe.points("llmperf.client.duration")[0].attribute("llmperf.outcome"), "error");
    assert_eq!(probe.points("gen_ai.client.inference.duration")[0].attribute("error.type"), "overloaded");
}

#[test]
fn report_30_between_polls_a_call_is_nobody_s_context() {
    let probe = Probe::new();
    let mut first = paced(&probe, [(10, "a"), (10, "b")]).measure(call(&probe));
    take(&mut first, 1);
    assert!(!Context::current().has_active_span(), "another task on this thread");
    drop(probe.tracer_provider().tracer("app").start("other task"));
    drain(&mut first);
    assert!(probe.tree().contains("\nother task\n"), "{}", probe.tree());
}

#[test]
fn report_31_a_spawned_task_keeps_its_parent() {
    let probe = Probe::new();
    let instrumentation = probe.instrumentation().clone();
    let request = Context::current_with_span(probe.tracer_provider().tracer("app").start("request"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async {
        let task = {
            let _guard = request.clone().attach();
            async move { instrumentation.chat("openai", "m").start().finish() }.in_current_scope()
        };
        tokio::spawn(task).await.unwrap();
    });
    drop(request);
    assert_eq!(probe.tree(), "request\n  chat m\n");
}

#[test]
fn report_32_a_lazy_stream_polled_later_and_elsewhere_belongs_to_whoever_made_the_call() {
    let probe = Probe::new();
    let agent = Context::current_with_span(probe.tracer_provider().tracer("app").start("invoke_agent"));
    let made = {
        let _guard = agent.clone().attach();
        call(&probe)
    };
    let lazy = made.open(ready(Ok::<_, io::Error>(stream::iter(["a", "b"]))));
    let polled = std::thread::spawn(move || drain(&mut block_on(lazy).unwrap()));
    assert_eq!(polled.join().unwrap(), 2);
    drop(agent);
    assert_eq!(probe.tree(), "invoke_agent\n  chat gpt-4o-mini\n");
}

#[test]
fn report_33_calls_in_parallel_are_siblings() {
    let probe = Probe::new();
    let step = Context::current_with_span(probe.tracer_provider().tracer("app").start("step"));
    let guard = step.clone().attach();
    let mut first = paced(&probe, [(10, "a"), (10, "b")]).measure(call(&probe));
    take(&mut first, 1);
    let mut second = paced(&probe, [(10, "a")]).measure(call(&probe));
    drain(&mut second);
    drain(&mut first);
    drop((guard, step));
    assert_eq!(probe.tree(), "step\n  chat gpt-4o-mini\n  chat gpt-4o-mini\n");
    assert_eq!(probe.count("llmperf.client.calls"), 2.0);
}

#[test]
fn report_35_retries_show_and_so_does_the_first_token_of_the_one_that_streamed() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    recorder.in_scope(|| {
        current_call().unwrap().attempt();
        current_call().unwrap().attempt_failed("429");
        probe.clock().advance(Duration::from_secs(8)); // back-off
        current_call().unwrap().attempt();
    });
    probe.clock().advance(Duration::from_millis(200));
    recorder.on_chunk(text());
    recorder.finish();
    assert_eq!(probe.count("llmperf.client.retries"), 1.0);
    assert_eq!(of_span(&probe, "llmperf.attempts").as_deref(), Some("2"));
    assert_eq!(of_span(&probe, "llmperf.time_to_first_token").as_deref(), Some("8.2"));
    assert_eq!(of_span(&probe, "llmperf.attempt.time_to_first_token").as_deref(), Some("0.2"));
    assert_eq!(probe.span().events.len(), 2);
}

#[test]
fn report_36_no_word_leaves_unless_it_is_asked_for() {
    let probe = Probe::new();
    let mut recorder = call(&probe).prompt("my password").start();
    recorder.on_chunk(Output::text("your password"));
    recorder.failure(Failure::new("bad_request").message("password is no prompt"));
    drop(recorder);
    assert!(!format!("{:?}", probe.spans()).contains("password"));
    for metric in probe.metric_names() {
        assert!(!format!("{:?}", probe.points(&metric)).contains("password"), "{metric}");
    }
}

#[test]
fn report_37_content_is_bounded_and_pushes_out_no_figure() {
    let probe = Probe::with(|builder| builder.capture(Capture::on_spans().limit(100)));
    let mut recorder = call(&probe).prompt(&"p".repeat(1 << 20)).start();
    (0..1_000).for_each(|_| recorder.on_chunk(Output::text("a long answer ")));
    (0..500).for_each(|n| recorder.attribute(format!("mine.{n}"), n));
    recorder.on_usage(Usage::of(28, 3));
    recorder.finish();
    let span = probe.span();
    let size: usize = span.attributes.iter().map(|attribute| attribute.value.as_str().len()).sum();
    assert!(size < 4_096, "{size}");
    assert_eq!(of_span(&probe, "gen_ai.usage.output_tokens").as_deref(), Some("3"));
    assert_eq!(span.dropped_attributes_count, 0);
}

#[test]
fn report_38_whatever_breaks_in_here_the_stream_goes_on() {
    #[derive(Debug)]
    struct Panics;
    impl Observer for Panics {
        fn started(&self, _: &StartedCall<'_>) {
            panic!("telemetry");
        }
        fn finished(&self, _: &llmperf_core::FinishedCall<'_>) {
            panic!("telemetry");
        }
    }
    let capture = Capture::on_spans_and_events().redact(|_| panic!("telemetry"));
    let probe = Probe::with(|builder| builder.observer(std::sync::Arc::new(Panics)).capture(capture));
    let reply = stream::iter(["a", "b", "c"]).measure(call(&probe).prompt("hi"));
    assert_eq!(block_on(reply.collect::<Vec<_>>()), ["a", "b", "c"]);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(of_span(&probe, "llmperf.outcome").as_deref(), Some("complete"));
}

/// An exporter that breaks on every span.
#[derive(Debug)]
struct Breaks;

impl SpanProcessor for Breaks {
    fn on_start(&self, _: &mut Span, _: &Context) {}
    fn on_end(&self, _: SpanData) {
        panic!("exporter");
    }
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }
    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

#[test]
fn report_38_nor_an_exporter_that_breaks() {
    let tracers = SdkTracerProvider::builder().with_span_processor(Breaks).build();
    let probe = Probe::with(|builder| builder.tracer_provider(&tracers));
    assert_eq!(drain(&mut stream::iter(["a", "b"]).measure(call(&probe))), 2);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}
