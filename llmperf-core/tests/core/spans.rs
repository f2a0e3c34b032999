//! Design section 4: names, kinds, times, attributes and events of spans; sampling; content.

use std::{
    collections::HashSet,
    future::ready,
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt as _, StreamExt as _, executor::block_on, stream};
use llmperf_core::{
    Call, Capture, Failure, GenAiNames, Kind, MeasureStream as _, Measured, Outcome, Output, Price, Prices, Read,
    Reader, Sees, Side, Usage, current_call, testing::Probe,
};
use opentelemetry::{
    Context, KeyValue, TraceId,
    trace::{Link, SpanKind, TraceContextExt as _, TraceState, Tracer as _, TracerProvider as _},
};
use opentelemetry_sdk::trace::{Sampler, SamplingDecision, SamplingResult, SdkTracerProvider, ShouldSample, SpanData};

use crate::script::{attribute, drain, paced, take};

type Chunk = Output<'static>;

fn call(probe: &Probe) -> Call {
    probe.chat("openai", "gpt-4o-mini")
}

/// Measures outputs that come 10 ms apart, to their end, and gives the span.
fn span_of(probe: &Probe, call: Call, outputs: &[Chunk]) -> SpanData {
    drain(&mut paced(probe, outputs.iter().map(|output| (10, *output))).measure_with(call, |output| *output));
    unique(probe.spans().pop().unwrap())
}

/// The span, once it is sure that no key stands twice on it.
fn unique(span: SpanData) -> SpanData {
    let keys: HashSet<_> = span.attributes.iter().map(|attribute| attribute.key.as_str()).collect();
    assert_eq!(keys.len(), span.attributes.len(), "a key stands twice: {:?}", span.attributes);
    assert_eq!(span.dropped_attributes_count, 0);
    span
}

fn keys(span: &SpanData) -> Vec<&str> {
    let mut keys: Vec<_> = span.attributes.iter().map(|attribute| attribute.key.as_str()).collect();
    keys.sort_unstable();
    keys
}

fn text() -> Chunk {
    Output::text("word")
}

#[test]
fn a_span_is_named_after_operation_and_model_and_is_the_client_s() {
    let probe = Probe::new();
    let span = span_of(&probe, call(&probe), &[text()]);
    assert_eq!((span.name.as_ref(), span.span_kind), ("chat gpt-4o-mini", SpanKind::Client));
    let embeddings = span_of(&probe, probe.chat("openai", "ada").operation("embeddings"), &[text()]);
    assert_eq!(embeddings.name, "embeddings ada");
    let nameless = span_of(&probe, probe.chat("openai", ""), &[text()]);
    assert_eq!((nameless.name.as_ref(), attribute(&nameless, "gen_ai.request.model")), ("chat", None));
    assert_eq!(span_of(&probe, call(&probe).side(Side::Server), &[text()]).span_kind, SpanKind::Internal);
}

#[test]
fn scope_and_schema_are_ours() {
    let probe = Probe::new();
    let scope = span_of(&probe, call(&probe), &[text()]).instrumentation_scope;
    assert_eq!((scope.name(), scope.version()), ("llmperf", Some(env!("CARGO_PKG_VERSION"))));
    assert_eq!(scope.schema_url(), Some("https://opentelemetry.io/schemas/gen-ai/1.42.0"));
}

#[test]
fn a_span_begins_when_the_call_was_made_and_lasts_as_long_as_its_duration() {
    let probe = Probe::new();
    let begun = std::time::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    probe.clock().advance(Duration::from_millis(7));
    let made = call(&probe);
    probe.clock().advance(Duration::from_millis(500)); // before it is armed
    let span = span_of(&probe, made, &[text(), Output::done(), text()]);
    assert_eq!(span.start_time, begun + Duration::from_millis(7));
    assert_eq!(span.end_time.duration_since(span.start_time).unwrap(), Duration::from_millis(520));
    assert_eq!(probe.points("llmperf.client.duration")[0].sum, 0.52);
    assert_eq!(probe.points("gen_ai.client.inference.duration")[0].sum, 0.52);
}

#[test]
fn a_whole_call_has_exactly_these_attributes() {
    let prices = Prices::new().model("*", "*", Price::new(1.0, 2.0));
    let probe = Probe::with(|builder| builder.prices(prices));
    let usage = Usage::of(700, 4).cache_read(100).cache_write(50).reasoning(1).audio_input(2).audio_output(1);
    let outputs = [
        Output::none().model("gpt-4o-mini-2024-07-18").id("chatcmpl-1"),
        Output::reasoning("hmmm"),
        text(),
        text(),
        Output::finish("stop").and_usage(usage).and_done(),
    ];
    let made = call(&probe).server("api.openai.com", 443).attribute("gen_ai.request.temperature", 0.5);
    let span = span_of(&probe, made, &outputs);
    let expected = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "openai"),
        ("gen_ai.request.model", "gpt-4o-mini"),
        ("gen_ai.request.stream", "true"),
        ("gen_ai.request.temperature", "0.5"),
        ("gen_ai.response.finish_reasons", r#"["stop"]"#),
        ("gen_ai.response.id", "chatcmpl-1"),
        ("gen_ai.response.model", "gpt-4o-mini-2024-07-18"),
        ("gen_ai.response.time_to_first_chunk", "0.01"),
        ("gen_ai.usage.audio.input_tokens", "2"),
        ("gen_ai.usage.audio.output_tokens", "1"),
        ("gen_ai.usage.cache_read.input_tokens", "100"),
        ("gen_ai.usage.cache_write.input_tokens", "50"),
        ("gen_ai.usage.input_tokens", "700"),
        ("gen_ai.usage.output_tokens", "4"),
        ("gen_ai.usage.reasoning.output_tokens", "1"),
        ("llmperf.chunks", "5"),
        ("llmperf.consumer_wait", "0"),
        ("llmperf.cost", "0.000708"),
        ("llmperf.generation_time", "0.04"),
        ("llmperf.longest_gap", "0.01"),
        ("llmperf.outcome", "complete"),
        ("llmperf.output_chunks", "3"),
        ("llmperf.output_token_rate", "100"),
        ("llmperf.time_per_output_token", "0.006666666666666667"),
        ("llmperf.time_to_first_answer", "0.03"),
        ("llmperf.time_to_first_token", "0.02"),
        ("llmperf.token.source", "usage"),
        ("server.address", "api.openai.com"),
        ("server.port", "443"),
    ];
    assert_eq!(keys(&span), expected.map(|(key, _)| key));
    for (key, value) in expected {
        assert_eq!(attribute(&span, key).as_deref(), Some(value), "{key}");
    }
    assert!(span.events.is_empty(), "no event per chunk");
}

#[test]
fn the_v1_41_names_call_a_cache_write_a_creation() {
    let probe = Probe::with(|builder| builder.gen_ai_names(GenAiNames::V1_41));
    let span = span_of(&probe, call(&probe), &[text(), Output::none().and_usage(Usage::of(9, 2).cache_write(4))]);
    assert_eq!(attribute(&span, "gen_ai.usage.cache_creation.input_tokens").as_deref(), Some("4"));
    assert_eq!(attribute(&span, "gen_ai.usage.cache_write.input_tokens"), None);
}

/// Samples everything and keeps what it was shown.
#[derive(Clone, Debug, Default)]
struct Shown(Arc<Mutex<Vec<(String, Vec<KeyValue>)>>>);

impl ShouldSample for Shown {
    fn should_sample(
        &self,
        _: Option<&Context>,
        _: TraceId,
        name: &str,
        _: &SpanKind,
        attributes: &[KeyValue],
        _: &[Link],
    ) -> SamplingResult {
        self.0.lock().unwrap().push((name.to_owned(), attributes.to_vec()));
        let trace_state = TraceState::default();
        SamplingResult { decision: SamplingDecision::RecordAndSample, attributes: Vec::new(), trace_state }
    }
}

#[test]
fn a_sampler_sees_what_it_may_decide_on() {
    let shown = Shown::default();
    let tracers = SdkTracerProvider::builder().with_sampler(shown.clone()).build();
    let probe = Probe::with(|builder| builder.tracer_provider(&tracers));
    drop(call(&probe).server("10.0.0.7", 8000).attribute("tenant", "acme").start());
    let shown = shown.0.lock().unwrap();
    let (name, attributes) = &shown[0];
    let keys: Vec<_> = attributes.iter().map(|attribute| attribute.key.as_str()).collect();
    assert_eq!((name.as_str(), shown.len()), ("chat gpt-4o-mini", 1));
    let expected = ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "server.address"];
    assert_eq!(keys, [&expected[..], &["server.port", "tenant"]].concat());
}

/// Tells the same timing with each item.
struct Timed(i64);

impl Reader<&'static str> for Timed {
    const SEES: Sees = Sees::Nothing;

    fn read(&mut self, item: &&'static str, read: &mut Read<'_>) {
        self.0 += 1;
        read.attribute("server.timing", self.0);
        read.event(Output::text(item));
    }
}

#[test]
fn no_key_stands_twice_and_of_what_was_told_the_last_value_stands() {
    let probe = Probe::new();
    let made = call(&probe).attribute("tenant", "first").attribute("tenant", "acme");
    let made = made.attribute("gen_ai.request.model", "mine").attribute("llmperf.outcome", "mine");
    let stream = paced(&probe, [(1, "a"), (1, "b")]);
    let request = async {
        let call = current_call().unwrap();
        call.attribute("http.response.header.retry-after", 1);
        call.attribute("http.response.header.retry-after", 2);
        call.attribute("gen_ai.usage.output_tokens", 7_000);
        call.attribute("tenant", "late");
        Ok::<_, io::Error>(stream)
    };
    let request = block_on(made.open_with(request, |_| Output::usage(3, 4))).unwrap();
    let mut reply = request;
    drain(&mut reply);
    let span = unique(probe.span());
    let is = |key: &str, value: &str| assert_eq!(attribute(&span, key).as_deref(), Some(value), "{key}");
    is("tenant", "acme");
    is("gen_ai.request.model", "gpt-4o-mini");
    is("llmperf.outcome", "complete");
    is("http.response.header.retry-after", "2");
    is("gen_ai.usage.output_tokens", "4");
    let mut timed = Measured::new(paced(&probe, [(1, "a"), (1, "b")]), call(&probe), Timed(0));
    drain(&mut timed);
    assert_eq!(attribute(&unique(probe.spans().pop().unwrap()), "server.timing").as_deref(), Some("2"));
}

#[test]
fn attributes_of_the_user_s_push_out_none_of_ours() {
    let probe = Probe::new();
    let made = (0..500).fold(call(&probe), |call, n| call.attribute(format!("mine.{n}"), n));
    let mut recorder = made.start();
    recorder.in_scope(|| {
        let call = current_call().unwrap();
        (0..500).for_each(|n| call.attribute(format!("told.{n}"), n));
    });
    (0..500).for_each(|n| recorder.attribute(format!("recorded.{n}"), n));
    recorder.on_chunk(text());
    recorder.on_usage(Usage::of(9, 2));
    recorder.finish();
    let span = probe.span();
    for ours in ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "llmperf.outcome", "llmperf.chunks"] {
        assert!(attribute(&span, ours).is_some(), "{ours}");
    }
    assert!(span.attributes.len() <= 128, "{}", span.attributes.len());
}

#[test]
fn an_attribute_that_is_told_again_and_again_leaves_room_for_others() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    for n in 0..500 {
        recorder.attribute("queue.position", n);
        recorder.in_scope(|| current_call().unwrap().attribute("poll", n));
    }
    recorder.attribute("server.timing", 7);
    recorder.in_scope(|| current_call().unwrap().attribute("request.id", "r-1"));
    recorder.finish();
    let span = unique(probe.span());
    let is = |key: &str, value: &str| assert_eq!(attribute(&span, key).as_deref(), Some(value), "{key}");
    is("queue.position", "499");
    is("poll", "499");
    is("server.timing", "7");
    is("request.id", "r-1");
}

#[test]
fn attempts_are_events_with_their_model_and_error() {
    let probe = Probe::new();
    let step = |millis| probe.clock().advance(Duration::from_millis(millis));
    let mut recorder = call(&probe).start();
    recorder.in_scope(|| {
        let call = current_call().unwrap();
        step(100);
        call.attempt_failed("429");
        step(1_000);
        call.attempt();
        step(100);
        call.attempt_failed("the prompt 'x' was bad");
        step(2_000);
        call.attempt_by("gpt-4o");
    });
    step(300);
    recorder.on_chunk(text());
    let timing = recorder.finish();
    assert_eq!(timing.attempts, Some(3), "the first one was told by its failure");
    let span = unique(probe.span());
    let value = |event: usize, key: &str| {
        let attributes = &span.events[event].attributes;
        attributes.iter().find(|attribute| attribute.key.as_str() == key).map(|found| found.value.to_string())
    };
    let at = |event: usize| span.events[event].timestamp.duration_since(span.start_time).unwrap().as_millis();
    assert_eq!((at(0), at(1), at(2)), (0, 1_100, 3_200));
    assert_eq!(value(0, "error.type").as_deref(), Some("429"));
    assert_eq!(value(1, "error.type").as_deref(), Some("_OTHER"));
    assert_eq!((value(2, "error.type"), value(2, "gen_ai.request.model").as_deref()), (None, Some("gpt-4o")));
    assert!(span.events.iter().all(|event| event.name == "llmperf.attempt"));
    assert_eq!(attribute(&span, "llmperf.attempts").as_deref(), Some("3"));
    assert_eq!(attribute(&span, "llmperf.time_to_first_token").as_deref(), Some("3.5"), "from the call's start");
    assert_eq!(attribute(&span, "llmperf.attempt.time_to_first_token").as_deref(), Some("0.3"), "and its own");
}

#[test]
fn the_first_token_belongs_to_the_attempt_that_streamed_it() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    recorder.in_scope(|| current_call().unwrap().attempt());
    probe.clock().advance(Duration::from_millis(200));
    recorder.on_chunk(text());
    probe.clock().advance(Duration::from_millis(50));
    recorder.in_scope(|| current_call().unwrap().attempt()); // resumes the stream
    recorder.finish();
    assert_eq!(attribute(&probe.span(), "llmperf.attempt.time_to_first_token").as_deref(), Some("0.2"));
}

#[test]
fn code_inside_a_call_has_a_handle_of_it_and_none_outside_or_behind() {
    let probe = Probe::new();
    assert!(current_call().is_none());
    let mut kept = None;
    let items = stream::poll_fn(|_| {
        kept = current_call();
        std::task::Poll::Ready(Some("hi"))
    });
    let mut reply = items.take(2).measure(call(&probe));
    drain(&mut reply);
    drop(reply);
    let handle = kept.unwrap();
    handle.attribute("late", 1);
    handle.fail("late");
    let span = probe.span();
    assert_eq!((attribute(&span, "late"), attribute(&span, "error.type")), (None, None));
    assert!(current_call().is_none());
}

#[test]
fn what_code_inside_the_call_says_of_it_beats_end_drop_and_marker() {
    for (ending, outputs, taken) in
        [("marker", [text(), Output::done()], 2), ("end", [text(), text()], 3), ("drop", [text(), text()], 2)]
    {
        let probe = Probe::new();
        let mut at = 0;
        let items = stream::poll_fn(move |_| {
            current_call().inspect(|call| call.fail("moderation"));
            at += 1;
            std::task::Poll::Ready(outputs.get(at - 1).copied())
        });
        let mut reply = items.measure_with(call(&probe), |output| *output);
        take(&mut reply, taken);
        drop(reply);
        assert_eq!(attribute(&probe.span(), "error.type").as_deref(), Some("moderation"), "{ending}");
    }
}

#[test]
fn a_status_that_failed_beats_the_transport_that_breaks_in_its_body() {
    let probe = Probe::new();
    let reset = || Err::<&str, _>(io::Error::from(io::ErrorKind::ConnectionReset));
    let request = async {
        current_call().unwrap().status(503);
        Ok::<_, io::Error>(stream::iter([reset()]))
    };
    let mut reply = block_on(call(&probe).open(request)).unwrap();
    drain(&mut reply);
    let timing = reply.timing();
    assert_eq!((timing.outcome, timing.error_type.as_deref()), (Some(Outcome::Error), Some("503")));
}

#[test]
fn head_and_status_are_the_last_attempt_s() {
    let probe = Probe::new();
    let request = async {
        let call = current_call().unwrap();
        call.attempt();
        probe.clock().advance(Duration::from_millis(10));
        call.head();
        call.status(503);
        call.attempt(); // this one tells neither
        probe.clock().advance(Duration::from_millis(50));
        Ok::<_, io::Error>("whole")
    };
    block_on(call(&probe).run(request)).unwrap();
    let span = probe.span();
    assert_eq!(attribute(&span, "llmperf.outcome").as_deref(), Some("complete"));
    assert_eq!(attribute(&span, "llmperf.time_to_head"), None);
}

#[test]
fn an_unsampled_call_is_measured_and_its_children_are_no_roots() {
    let released = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&released);
    let capture = Capture::on_spans().redact(move |text| {
        count.fetch_add(1, Ordering::Relaxed);
        text.into()
    });
    let sampler = Sampler::ParentBased(Box::new(Sampler::AlwaysOff));
    let probe = Probe::sampled(sampler, |builder| builder.capture(capture));
    let tracer = probe.tracer_provider().tracer("app");
    let inside = Mutex::new(Vec::new());
    let items = stream::iter(["a", "b"]).inspect(|_| {
        let child = Context::current_with_span(tracer.start("inner"));
        let parent = Context::current().span().span_context().clone();
        inside.lock().unwrap().push((parent, child.span().span_context().clone()));
    });
    let mut reply = items.measure(call(&probe).prompt("secret"));
    drain(&mut reply);
    let inside = inside.lock().unwrap();
    assert_eq!(inside.len(), 2);
    for (parent, child) in inside.iter() {
        assert!(parent.is_valid() && !parent.is_sampled());
        assert_eq!(child.trace_id(), parent.trace_id());
        assert!(!child.is_sampled());
    }
    assert!(probe.spans().is_empty());
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(probe.count("llmperf.client.time_to_first_token"), 1.0);
    assert_eq!(released.load(Ordering::Relaxed), 0, "no attribute is built for a span that records none");
}

/// A stream with a prompt before it: its span.
fn captured(probe: &Probe, spec: impl FnOnce(Call) -> Call) -> SpanData {
    let outputs = [Output::reasoning("so"), text(), Output::of(Kind::Tool, "{\"q\":1}"), Output::finish("tool_calls")];
    span_of(probe, spec(call(probe)).prompt("what is it?"), &outputs)
}

const MESSAGES: [&str; 2] = ["gen_ai.input.messages", "gen_ai.output.messages"];

#[test]
fn content_is_off_by_default() {
    let span = captured(&Probe::new(), |call| call);
    let said = format!("{span:?}");
    assert!(MESSAGES.iter().all(|key| attribute(&span, key).is_none()));
    assert!(!said.contains("what is it") && !said.contains("word"), "{said}");
}

#[test]
fn content_goes_to_the_span_where_it_is_asked_for_in_all_or_for_a_call() {
    let probe = Probe::with(|builder| builder.capture(Capture::on_spans()));
    let span = captured(&probe, |call| call);
    let input = r#"[{"parts":[{"content":"what is it?","type":"text"}],"role":"user"}]"#;
    assert_eq!(attribute(&span, MESSAGES[0]).as_deref(), Some(input));
    let output = attribute(&span, MESSAGES[1]).unwrap();
    for said in
        [r#""content":"so""#, r#""content":"word""#, r#""arguments":"{\"q\":1}""#, r#""finish_reason":"tool_calls""#]
    {
        assert!(output.contains(said), "{output} lacks {said}");
    }
    assert_eq!(attribute(&captured(&probe, |call| call.capture(Capture::off())), MESSAGES[0]), None);
    let off = Probe::new();
    assert!(attribute(&captured(&off, |call| call.capture(Capture::on_spans())), MESSAGES[0]).is_some());
    let events = Probe::with(|builder| builder.capture(Capture::on_events()));
    assert_eq!(attribute(&captured(&events, |call| call), MESSAGES[0]), None);
}

#[test]
fn content_stands_behind_the_figures() {
    let probe = Probe::with(|builder| builder.capture(Capture::on_spans()));
    let span = captured(&probe, |call| call);
    let last: Vec<_> = span.attributes.iter().rev().take(2).map(|attribute| attribute.key.as_str()).collect();
    assert_eq!(last, [MESSAGES[1], MESSAGES[0]]);
}

#[test]
fn content_is_cut_at_a_character_boundary() {
    let probe = Probe::with(|builder| builder.capture(Capture::on_spans().limit(4)));
    let span = span_of(&probe, call(&probe).prompt("añño"), &[Output::text("éé"), Output::text("éé")]);
    assert!(attribute(&span, MESSAGES[0]).unwrap().contains(r#""content":"añ""#));
    assert!(attribute(&span, MESSAGES[1]).unwrap().contains(r#""content":"éé""#));
}

#[test]
fn a_hook_that_panics_costs_the_content_and_nothing_else() {
    let probe = Probe::with(|builder| builder.capture(Capture::on_spans().redact(|_| panic!("hook"))));
    let span = captured(&probe, |call| call);
    assert!(MESSAGES.iter().all(|key| attribute(&span, key).is_none()));
    assert_eq!(attribute(&span, "llmperf.outcome").as_deref(), Some("complete"));
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!(probe.count("llmperf.internal.events"), 1.0);
}

#[test]
fn a_provider_s_message_is_content() {
    let message = || Output::failure(Failure::new("invalid_request").message("bad prompt: secret"));
    let said = |capture: Capture| {
        let probe = Probe::with(|builder| builder.capture(capture));
        let span = span_of(&probe, call(&probe), &[message()]);
        assert!(!format!("{:?}", span.status).contains("secret"));
        attribute(&span, "error.message")
    };
    assert_eq!(said(Capture::off()), None);
    assert_eq!(said(Capture::on_events()), None);
    assert_eq!(said(Capture::on_spans()).as_deref(), Some("bad prompt: secret"));
    let redacted = Capture::on_spans().redact(|text| text.replace("secret", "***").into());
    assert_eq!(said(redacted).as_deref(), Some("bad prompt: ***"));
}

#[test]
fn the_parent_is_the_context_in_which_the_call_was_made() {
    let probe = Probe::new();
    let tracer = probe.tracer_provider().tracer("app");
    let parent = Context::current_with_span(tracer.start("request"));
    let made = {
        let _guard = parent.clone().attach();
        call(&probe)
    };
    drop(made.start());
    drop(call(&probe).parent(parent.clone()).start());
    drop(parent);
    assert_eq!(probe.tree(), "request\n  chat gpt-4o-mini\n  chat gpt-4o-mini\n");
}

#[test]
fn spans_made_inside_the_stream_are_children_and_those_of_the_consumer_are_not() {
    let probe = Probe::new();
    let tracer = probe.tracer_provider().tracer("app");
    let items = stream::iter(["a"]).inspect(|_| drop(tracer.start("connection")));
    let mut reply = items.measure(call(&probe));
    drain(&mut reply);
    drop(tracer.start("consumer"));
    let tree = probe.tree();
    assert!(tree.contains("chat gpt-4o-mini\n  connection\n") && tree.contains("\nconsumer\n"), "{tree}");
}

#[test]
fn a_context_is_held_across_no_poll() {
    let probe = Probe::new();
    let mut open = Box::pin(call(&probe).open(std::future::pending::<io::Result<stream::Empty<&str>>>()));
    assert!(open.as_mut().now_or_never().is_none());
    assert!(!Context::current().has_active_span());
    let mut reply = block_on(call(&probe).open(ready(Ok::<_, io::Error>(stream::pending::<&str>())))).unwrap();
    assert!(reply.next().now_or_never().is_none());
    assert!(!Context::current().has_active_span() && current_call().is_none());
}

#[test]
fn scenario_and_labels_are_on_the_span_whole_and_once() {
    let probe = Probe::with(|builder| builder.name_cap(0));
    let call = probe.chat("openai", "gpt-4o-mini").scenario("batch");
    let call = call.label("tenant", "a").label("tenant", "b").label("llmperf.outcome", "mine").attribute("tenant", "c");
    call.start().finish();
    let span = probe.span();
    let values = |key: &str| {
        let of_key = span.attributes.iter().filter(|attribute| attribute.key.as_str() == key);
        of_key.map(|attribute| attribute.value.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(values("llmperf.scenario"), ["batch"]);
    assert_eq!(values("tenant"), ["b"]);
    assert_eq!(values("llmperf.outcome"), ["complete"]);
}
