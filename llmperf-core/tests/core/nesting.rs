//! Design sections 3 and 6: calls inside calls, the scope, observers.

use std::{
    future::ready,
    io,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{
    Call, FinishedCall, InCurrentScope as _, Instrumentation, MeasureStream as _, Measured, Observer, Output, Progress,
    Read, Reader, Scope, Sees, Side, StartedCall, Usage, current_call, testing::Probe,
};
use opentelemetry::{
    Context,
    trace::{TraceContextExt as _, Tracer as _, TracerProvider as _},
};

use crate::script::{attribute, drain, ms, paced, take};

fn call(probe: &Probe) -> Call {
    probe.chat("openai", "gpt-4o-mini")
}

/// A measured transport inside the stream of a client that sees text, and nothing of usage, model or finish reason.
fn through(probe: &Probe, outer: Call, inner: impl Fn() -> Call) -> llmperf_core::Timing {
    let request = async {
        probe.clock().advance(Duration::from_millis(30));
        let body = ready(Ok::<_, io::Error>(paced(probe, [(10, "role"), (20, "hi"), (20, "stop")])));
        let wire = inner().sees(Sees::Finish).open_with(body, |item| match *item {
            "role" => Output::none().model("gpt-4o-mini-2024").id("chatcmpl-1"),
            "stop" => Output::finish("stop").and_usage(Usage::of(70, 9)),
            text => Output::text(text),
        });
        wire.await
    };
    let open = outer.open_with(request, |item| if *item == "hi" { Output::text(item) } else { Output::none() });
    let mut reply = block_on(open).unwrap();
    drain(&mut reply);
    reply.timing()
}

#[test]
fn the_same_call_inside_is_an_attempt_and_fills_what_the_outer_one_lacks() {
    let probe = Probe::new();
    let timing = through(&probe, call(&probe), || call(&probe));
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    let tokens: f64 = probe.points("llmperf.client.tokens").iter().map(|point| point.sum).sum();
    assert_eq!(tokens, 79.0, "counted once");
    assert_eq!(timing.usage, Usage::of(70, 9));
    assert_eq!((timing.attempts, timing.finish_reasons[0].reason.as_ref()), (Some(1), "stop"));
    assert_eq!(probe.tree(), "chat gpt-4o-mini\n  chat gpt-4o-mini\n");
    let spans = probe.spans();
    let outer = spans.iter().find(|span| span.events.len() == 1).unwrap();
    assert_eq!(attribute(outer, "gen_ai.response.model").as_deref(), Some("gpt-4o-mini-2024"));
    assert_eq!(attribute(outer, "gen_ai.response.id").as_deref(), Some("chatcmpl-1"));
    assert_eq!(probe.count("llmperf.client.active_calls"), 0.0);
    assert_eq!(probe.count("gen_ai.client.inference.time_per_output_chunk"), 0.0);
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn the_head_that_a_transport_saw_is_the_call_s_if_it_saw_none() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    recorder.in_scope(|| {
        probe.clock().advance(Duration::from_millis(30));
        let mut attempt = call(&probe).start();
        attempt.on_head();
        attempt.on_chunk(Output::text("hi"));
        attempt.finish();
    });
    assert_eq!(recorder.finish().time_to_head, ms(30));
    let mut told = call(&probe).start();
    probe.clock().advance(Duration::from_millis(40));
    told.in_scope(|| llmperf_core::current_call().unwrap().head());
    assert_eq!(told.finish().time_to_head, ms(40));
}

#[test]
fn another_model_provider_or_side_inside_is_a_call_of_its_own() {
    type Make = fn(&Probe) -> Call;
    let others: [Make; 3] = [
        |probe| probe.chat("openai", "router-1"),
        |probe| probe.chat("groq", "gpt-4o-mini"),
        |probe| call(probe).side(Side::Server),
    ];
    for other in others {
        let probe = Probe::new();
        let mut recorder = call(&probe).start();
        recorder.in_scope(|| other(&probe).start().finish());
        let timing = recorder.finish();
        assert_eq!(probe.count("llmperf.client.calls") + probe.count("llmperf.server.calls"), 2.0);
        assert_eq!(timing.attempts, None);
        assert_eq!(probe.spans().len(), 2);
    }
}

#[test]
fn a_transport_joins_whatever_its_names() {
    let probe = Probe::new();
    let timing = through(&probe, call(&probe), || probe.chat("api.openai.com", "").transport());
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
    assert_eq!((timing.attempts, timing.usage), (Some(1), Usage::of(70, 9)));
    let alone = Probe::new();
    drain(&mut stream::iter(["hi"]).measure(alone.chat("api.openai.com", "").transport()));
    assert_eq!(alone.count("llmperf.client.calls"), 1.0, "alone it is a call");
}

#[test]
fn a_failed_attempt_is_an_error_of_its_own_span_and_latches_no_call() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    recorder.in_scope(|| {
        call(&probe).transport().start().on_status(503);
        call(&probe).transport().start().finish();
    });
    recorder.on_chunk(Output::text("hi"));
    let timing = recorder.finish();
    assert_eq!((timing.outcome, timing.attempts), (Some(llmperf_core::Outcome::Complete), Some(2)));
    assert_eq!(probe.count("llmperf.client.retries"), 1.0);
    assert_eq!(probe.tree(), "chat gpt-4o-mini\n  chat gpt-4o-mini !\n  chat gpt-4o-mini\n");
}

#[test]
fn what_the_outer_call_saw_itself_stands() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    recorder.in_scope(|| {
        let mut attempt = call(&probe).start();
        attempt.on_chunk(Output::text("hi").model("inner").and_usage(Usage::of(5, 6).reasoning(1)));
        attempt.finish();
    });
    recorder.on_chunk(Output::text("hi").model("outer").and_usage(Usage::of(50, 60)));
    let timing = recorder.finish();
    assert_eq!(timing.usage, Usage::of(50, 60).reasoning(1));
    assert_eq!(attribute(&probe.spans()[1], "gen_ai.response.model").as_deref(), Some("outer"));
}

#[test]
fn an_early_zero_of_the_outer_call_gives_way_to_the_count_of_the_attempt() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    recorder.on_usage(Usage::of(50, 0));
    recorder.on_chunk(Output::text("hi"));
    recorder.in_scope(|| {
        let mut attempt = call(&probe).start();
        attempt.on_usage(Usage::of(50, 60));
        attempt.finish();
    });
    assert_eq!(recorder.finish().usage, Usage::of(50, 60));
}

#[test]
fn a_call_that_has_ended_takes_nothing_in() {
    let probe = Probe::new();
    let outer = call(&probe).start();
    let context = outer.context();
    let mut straggler = call(&probe).parent(context.clone()).start();
    let ended = outer.finish();
    straggler.on_usage(Usage::of(5, 6));
    straggler.finish();
    assert_eq!(ended.attempts, Some(1), "it was made, whatever became of it");
    assert_eq!(ended.usage, Usage::default());
    let _guard = context.attach();
    call(&probe).start().finish();
    assert_eq!(probe.count("llmperf.client.calls"), 2.0, "the outer one and the one made behind its end");
}

#[test]
fn a_long_call_keeps_a_bounded_number_of_attempts() {
    let probe = Probe::new();
    let mut recorder = call(&probe).start();
    for _ in 0..1_000 {
        recorder.in_scope(|| call(&probe).start().finish());
    }
    assert_eq!(recorder.finish().attempts, Some(64));
}

#[test]
fn tokens_stand_on_the_call_s_own_span_and_on_no_other() {
    let probe = Probe::new();
    let tracer = probe.tracer_provider().tracer("app");
    let agent = Context::current_with_span(tracer.start("agent"));
    let guard = agent.clone().attach();
    let mut recorder = call(&probe).start();
    recorder.on_chunk(Output::text("hi").and_usage(Usage::of(70, 9)));
    recorder.finish();
    drop(guard);
    drop(agent);
    let spans = probe.spans();
    let with_tokens: Vec<_> =
        spans.iter().filter(|span| attribute(span, "gen_ai.usage.output_tokens").is_some()).collect();
    assert_eq!(with_tokens.len(), 1);
    assert_eq!(with_tokens[0].name, "chat gpt-4o-mini");
}

/// Keeps what it was told, with a name of its own before it.
#[derive(Debug)]
struct Diary {
    name: &'static str,
    said: Arc<Mutex<Vec<String>>>,
    progress: Option<Mutex<Option<Progress>>>,
}

impl Diary {
    fn new(name: &'static str, said: &Arc<Mutex<Vec<String>>>) -> Arc<Self> {
        Arc::new(Self { name, said: Arc::clone(said), progress: None })
    }
}

impl Observer for Diary {
    fn started(&self, call: &StartedCall<'_>) {
        self.said.lock().unwrap().push(format!("{} started {}", self.name, call.model));
        if let Some(progress) = &self.progress {
            *progress.lock().unwrap() = Some(call.progress());
        }
    }

    fn finished(&self, call: &FinishedCall<'_>) {
        let outcome = call.timing.outcome.unwrap();
        self.said.lock().unwrap().push(format!("{} finished {} {outcome}", self.name, call.model));
    }
}

fn said() -> Arc<Mutex<Vec<String>>> {
    Arc::default()
}

#[test]
fn observers_see_each_call_start_and_finish_from_the_innermost_scope_outwards() {
    let said = said();
    let probe = Probe::with(|builder| builder.observer(Diary::new("global", &said)));
    let outer = Scope::open(&Context::current(), Diary::new("run", &said));
    let inner = Scope::open(outer.context(), Diary::new("step", &said));
    let recorder = {
        let _guard = inner.context().clone().attach();
        call(&probe).start()
    };
    drop(recorder);
    call(&probe).parent(outer.context().clone()).start().finish();
    call(&probe).start().finish();
    let m = "gpt-4o-mini";
    let expected = [
        format!("global started {m}"),
        format!("step started {m}"),
        format!("run started {m}"),
        format!("global finished {m} cancelled"),
        format!("step finished {m} cancelled"),
        format!("run finished {m} cancelled"),
        format!("global started {m}"),
        format!("run started {m}"),
        format!("global finished {m} complete"),
        format!("run finished {m} complete"),
        format!("global started {m}"),
        format!("global finished {m} complete"),
    ];
    assert_eq!(*said.lock().unwrap(), expected);
}

#[test]
fn an_attempt_that_joined_is_told_to_nobody() {
    let said = said();
    let probe = Probe::with(|builder| builder.observer(Diary::new("global", &said)));
    let mut recorder = call(&probe).start();
    recorder.in_scope(|| call(&probe).start().finish());
    recorder.finish();
    assert_eq!(said.lock().unwrap().len(), 2);
}

#[test]
fn what_an_observer_is_told_of_the_end_is_what_was_measured() {
    #[derive(Debug, Default)]
    struct Told(Mutex<Option<(u64, String, Option<f64>, bool, Duration)>>);
    impl Observer for Told {
        fn finished(&self, call: &FinishedCall<'_>) {
            let told = (call.id, call.timing.to_string(), call.cost, call.span.is_valid(), call.ended_ago);
            *self.0.lock().unwrap() = Some(told);
        }
    }
    let told = Arc::new(Told::default());
    let observer: Arc<dyn Observer> = told.clone();
    let probe = Probe::with(|builder| builder.observer(observer));
    let mut reply = paced(&probe, [(10, Output::text("a")), (10, Output::finish("stop"))])
        .measure_with(call(&probe).sees(Sees::Finish), |output| *output);
    take(&mut reply, 2);
    probe.clock().advance(Duration::from_secs(3));
    drop(reply);
    let told = told.0.lock().unwrap().clone().unwrap();
    assert!(told.1.starts_with("complete after 20.0ms"), "{}", told.1);
    assert_eq!((told.2, told.3, told.4), (None, true, Duration::from_secs(3)), "it ended with its last read");
}

#[test]
fn progress_is_counted_for_those_who_ask() {
    let said = said();
    let diary = Arc::new(Diary { name: "gpu", said: Arc::clone(&said), progress: Some(Mutex::new(None)) });
    let observer: Arc<dyn Observer> = diary.clone();
    let probe = Probe::with(|builder| builder.observer(observer));
    let mut recorder = call(&probe).start();
    let progress = diary.progress.as_ref().unwrap().lock().unwrap().clone().unwrap();
    assert_eq!(progress.tokens(), 0);
    recorder.on_chunk(Output::none());
    recorder.on_chunk(Output::text("a"));
    recorder.on_chunk(Output::text("b c d").tokens(3));
    assert_eq!(progress.tokens(), 4, "tokens where they are told, else events with output");
    recorder.finish();
    drain(&mut Measured::new(stream::iter(["name, arguments"]), call(&probe), Parts));
    let progress = diary.progress.as_ref().unwrap().lock().unwrap().clone().unwrap();
    assert_eq!(progress.tokens(), 1, "an event, whatever the number of its parts");
}

/// Tells each item as an event of two parts.
struct Parts;

impl Reader<&'static str> for Parts {
    const SEES: Sees = Sees::Nothing;

    fn read(&mut self, item: &&'static str, read: &mut Read<'_>) {
        read.event(Output::tool(item));
        read.also(Output::tool(item));
    }
}

/// Looks at how many calls live while it is told of an end.
#[derive(Debug, Default)]
struct Onlooker {
    instrumentation: OnceLock<Instrumentation>,
    live: AtomicUsize,
}

impl Observer for Onlooker {
    fn finished(&self, _: &FinishedCall<'_>) {
        self.live.store(self.instrumentation.get().unwrap().live_calls(), Ordering::Relaxed);
    }
}

#[test]
fn a_call_lives_until_all_of_it_was_told() {
    let onlooker = Arc::new(Onlooker::default());
    let observer: Arc<dyn Observer> = onlooker.clone();
    let probe = Probe::with(|builder| builder.observer(observer));
    onlooker.instrumentation.set(probe.instrumentation().clone()).unwrap();
    call(&probe).start().finish();
    assert_eq!(onlooker.live.load(Ordering::Relaxed), 1, "drained before that, its span would be lost");
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[test]
fn a_call_that_outlives_its_scope_is_late_and_counted_once() {
    let said = said();
    let probe = Probe::new();
    let outer = Scope::open(&Context::current(), Diary::new("run", &said));
    let inner = Scope::open(outer.context(), Diary::new("step", &said));
    let late = call(&probe).parent(inner.context().clone()).start();
    call(&probe).parent(inner.context().clone()).start().finish();
    assert_eq!(probe.count("llmperf.internal.events"), 0.0);
    inner.close();
    drop(outer);
    late.finish();
    let events = probe.points("llmperf.internal.events");
    assert_eq!((events.len(), events[0].attribute("llmperf.internal.kind"), events[0].sum), (1, "late_call", 1.0));
}

#[test]
fn an_observer_that_panics_is_caught_and_counted_and_the_next_is_told_all_the_same() {
    #[derive(Debug)]
    struct Panics;
    impl Observer for Panics {
        fn started(&self, _: &StartedCall<'_>) {
            panic!("started");
        }
        fn finished(&self, _: &FinishedCall<'_>) {
            panic!("finished");
        }
    }
    let said = said();
    let probe = Probe::with(|builder| builder.observer(Arc::new(Panics)).observer(Diary::new("next", &said)));
    assert_eq!(drain(&mut stream::iter(["a", "b"]).measure(call(&probe))), 2);
    assert_eq!(said.lock().unwrap().len(), 2);
    let events = probe.points("llmperf.internal.events");
    assert_eq!((events.len(), events[0].attribute("llmperf.internal.kind"), events[0].sum), (1, "caught_panic", 2.0));
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}

#[test]
fn a_callback_of_an_adapter_that_panics_is_caught_and_counted() {
    let probe = Probe::new();
    assert_eq!(probe.instrumentation().guarded(|| 7), Some(7));
    assert_eq!(probe.points("llmperf.internal.events").len(), 0);
    assert_eq!(probe.instrumentation().guarded(|| -> u8 { panic!("on purpose") }), None);
    let events = probe.points("llmperf.internal.events");
    assert_eq!((events[0].attribute("llmperf.internal.kind"), events[0].sum), ("caught_panic", 1.0));
}

#[test]
fn the_scope_goes_into_spawned_tasks_by_one_visible_call() {
    let said = said();
    let probe = Probe::new();
    let tracer = probe.tracer_provider().tracer("app");
    let request = Context::current_with_span(tracer.start("request"));
    let scope = Scope::open(&request, Diary::new("run", &said));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (inside, outside) = (call_from(&probe), call_from(&probe));
    runtime.block_on(async {
        let tasks = {
            let _guard = scope.context().clone().attach();
            let inside = tokio::spawn(async move { inside().start().finish() }.in_current_scope());
            let outside = tokio::spawn(async move { outside().start().finish() });
            (inside, outside)
        };
        tasks.0.await.unwrap();
        tasks.1.await.unwrap();
    });
    assert_eq!(said.lock().unwrap().len(), 2, "started and finished of the one inside");
    drop((scope, request));
    let tree = probe.tree();
    assert!(tree.contains("request\n  chat gpt-4o-mini\n") && tree.lines().count() == 3, "{tree}");
}

fn call_from(probe: &Probe) -> impl FnOnce() -> Call + Send + 'static {
    let instrumentation = probe.instrumentation().clone();
    move || instrumentation.chat("openai", "gpt-4o-mini")
}

#[test]
fn a_stream_carries_the_scope_to_wherever_it_is_polled() {
    let said = said();
    let probe = Probe::new();
    let make = call_from(&probe);
    let scope = Scope::open(&Context::current(), Diary::new("run", &said));
    let stream = {
        let _guard = scope.context().clone().attach();
        let lazy = stream::once(async move { make().start().finish() });
        Box::pin(lazy).in_current_scope()
    };
    std::thread::spawn(move || block_on(stream.collect::<Vec<_>>())).join().unwrap();
    assert_eq!(said.lock().unwrap().len(), 2);
}

#[test]
fn nothing_of_a_scope_leaks_behind_its_guard() {
    let said = said();
    let probe = Probe::new();
    let scope = Scope::open(&Context::current(), Diary::new("run", &said));
    drop(scope.context().clone().attach());
    call(&probe).start().finish();
    assert!(said.lock().unwrap().is_empty());
}

#[test]
fn an_attempt_that_is_told_and_seen_counts_once() {
    let probe = Probe::new();
    let request = async {
        for fate in ["503", ""] {
            current_call().unwrap().attempt();
            let mut transport = probe.chat("transport", "any").transport().start();
            if fate.is_empty() {
                transport.on_chunk(Output::text("hi"));
                transport.finish();
            } else {
                transport.fail(fate);
                current_call().unwrap().attempt_failed(fate);
            }
        }
        Ok::<_, std::io::Error>(())
    };
    block_on(probe.chat("openai", "gpt-4o-mini").run(request)).unwrap();
    assert_eq!(probe.count("llmperf.client.retries"), 1.0);
    assert_eq!(probe.count("llmperf.client.calls"), 1.0);
}
