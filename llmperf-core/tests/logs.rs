//! What log appenders see of a call: one event, its marks as fields, the ids of the call's own span.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use llmperf_core::{
    Outcome, Output, Usage,
    testing::{Point, Probe},
};
use opentelemetry::{InstrumentationScope, trace::TracerProvider as _};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    logs::{LogProcessor, SdkLogRecord, SdkLoggerProvider},
};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    info_span,
    subscriber::Interest,
};
use tracing_subscriber::{
    Layer, Registry,
    filter::LevelFilter,
    layer::{Context, SubscriberExt as _},
};

/// An event as any subscriber sees it.
#[derive(Clone, Debug)]
struct Line {
    level: Level,
    target: String,
    fields: BTreeMap<String, String>,
}

impl Line {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.fields.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

#[derive(Clone, Debug)]
struct Lines(Arc<Mutex<Vec<Line>>>);

impl Default for Lines {
    fn default() -> Self {
        keep_call_sites_awake();
        Self(Arc::default())
    }
}

/// Keeps one subscriber registered for as long as the tests run. With a single one at a time, `tracing` asks only the thread
/// that meets a call site first, and one that has no subscriber would switch the site off for all.
fn keep_call_sites_awake() {
    static AWAKE: OnceLock<Dispatch> = OnceLock::new();
    AWAKE.get_or_init(|| Dispatch::new(Registry::default()));
}

impl Lines {
    fn all(&self) -> Vec<Line> {
        self.0.lock().unwrap().clone()
    }

    fn only(&self) -> Line {
        let [line] = <[Line; 1]>::try_from(self.all()).unwrap();
        line
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        // The SDK tells of itself too, where a feature of it says so.
        if metadata.target() != "llmperf" {
            return;
        }
        let mut line = Line { level: *metadata.level(), target: metadata.target().to_owned(), fields: BTreeMap::new() };
        event.record(&mut line);
        self.0.lock().unwrap().push(line);
    }
}

/// Log records with the trace context that the SDK gave them.
#[derive(Clone, Debug, Default)]
struct Records(Arc<Mutex<Vec<SdkLogRecord>>>);

impl LogProcessor for Records {
    fn emit(&self, record: &mut SdkLogRecord, _: &InstrumentationScope) {
        self.0.lock().unwrap().push(record.clone());
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }
}

fn logged(what: impl FnOnce(&Probe)) -> (Probe, Lines) {
    let (probe, lines) = (Probe::new(), Lines::default());
    let subscriber = Registry::default().with(lines.clone());
    tracing::subscriber::with_default(subscriber, || what(&probe));
    (probe, lines)
}

#[test]
fn a_finished_call_is_one_event_with_its_marks_and_the_ids_of_its_span() {
    let (probe, lines) = logged(|probe| {
        let mut call = probe.chat("openai", "gpt-4o-mini").start();
        for step in [300, 100, 50] {
            probe.clock().advance(Duration::from_millis(step));
            call.on_chunk(Output::text("word"));
        }
        call.on_usage(Usage::of(12, 3));
        call.finish();
    });
    let (line, span) = (lines.only(), probe.span());
    assert_eq!((line.level, line.target.as_str()), (Level::DEBUG, "llmperf"));
    let expected = [
        ("message", "call finished".to_owned()),
        ("trace_id", span.span_context.trace_id().to_string()),
        ("span_id", span.span_context.span_id().to_string()),
        ("operation", "chat".to_owned()),
        ("provider", "openai".to_owned()),
        ("model", "gpt-4o-mini".to_owned()),
        ("outcome", "complete".to_owned()),
        ("duration_s", "0.45".to_owned()),
        ("time_to_first_token_s", "0.3".to_owned()),
        ("time_to_first_answer_s", "0.3".to_owned()),
        ("time_per_output_token_s", "0.075".to_owned()),
        ("longest_gap_s", "0.1".to_owned()),
        ("output_token_rate", "6.666666666666667".to_owned()),
        ("input_tokens", "12".to_owned()),
        ("output_tokens", "3".to_owned()),
        ("chunks", "3".to_owned()),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(line.fields, BTreeMap::from(expected));
}

#[test]
fn failed_and_interrupted_calls_are_warnings_and_cancelled_ones_are_not() {
    let (_, lines) = logged(|probe| {
        probe.chat("openai", "a").start().fail("429");
        let mut interrupted = probe.chat("openai", "b").sees(llmperf_core::Sees::Finish).start();
        interrupted.on_chunk(Output::text("word"));
        interrupted.end();
        drop(probe.chat("openai", "c").start());
    });
    let seen: Vec<_> = lines.all().iter().map(|line| (line.level, line.field("error.type").to_owned())).collect();
    let expected = [(Level::WARN, "429"), (Level::WARN, "stream_interrupted"), (Level::DEBUG, "")];
    assert_eq!(seen, expected.map(|(level, error)| (level, error.to_owned())));
}

#[test]
fn a_call_that_joins_another_is_no_event_of_its_own() {
    let (probe, lines) = logged(|probe| {
        let mut outer = probe.chat("openai", "gpt-4o-mini").start();
        outer.in_scope(|| probe.chat("openai", "gpt-4o-mini").start().finish());
        outer.finish();
    });
    assert_eq!(probe.spans().len(), 2);
    assert_eq!(lines.only().field("attempts"), "1");
}

#[test]
fn a_call_without_a_tracer_has_an_event_without_ids() {
    let lines = Lines::default();
    tracing::subscriber::with_default(Registry::default().with(lines.clone()), || {
        llmperf_core::chat("openai", "gpt-4o-mini").start().finish();
    });
    assert_eq!((lines.only().field("trace_id"), lines.only().field("outcome")), ("", "complete"));
}

#[test]
fn a_subscriber_that_wants_less_than_debug_sees_failures_alone() {
    let (probe, lines) = (Probe::new(), Lines::default());
    let subscriber = Registry::default().with(lines.clone().with_filter(LevelFilter::INFO));
    tracing::subscriber::with_default(subscriber, || {
        probe.chat("openai", "gpt-4o-mini").start().finish();
        probe.chat("openai", "gpt-4o-mini").start().fail("500");
    });
    assert_eq!(lines.only().field("error.type"), "500");
}

/// The OpenTelemetry appender takes the ids from the context that is current while the event is emitted.
#[test]
fn a_log_record_has_the_trace_context_of_the_call_whatever_tracing_span_is_around_it() {
    keep_call_sites_awake();
    let (probe, records) = (Probe::new(), Records::default());
    let loggers = SdkLoggerProvider::builder().with_log_processor(records.clone()).build();
    let bridge = tracing_opentelemetry::layer().with_tracer(probe.tracer_provider().tracer("application"));
    let subscriber = Registry::default().with(bridge).with(OpenTelemetryTracingBridge::new(&loggers));
    tracing::subscriber::with_default(subscriber, || {
        info_span!("request").in_scope(|| {
            let call = probe.chat("openai", "gpt-4o-mini").start();
            info_span!("elsewhere").in_scope(|| call.finish());
        });
    });
    let call = probe.spans().into_iter().find(|span| span.name == "chat gpt-4o-mini").unwrap().span_context;
    let records = records.0.lock().unwrap();
    let of_call: Vec<_> = records.iter().filter(|record| record.target().is_some_and(|t| t == "llmperf")).collect();
    let context = of_call.first().unwrap().trace_context().unwrap();
    assert_eq!((of_call.len(), context.trace_id, context.span_id), (1, call.trace_id(), call.span_id()));
}

/// The bridge's rule: it writes an event onto the nearest `tracing` span, which is why ours carries ids.
#[test]
fn the_bridge_puts_the_event_on_the_nearest_tracing_span() {
    keep_call_sites_awake();
    let probe = Probe::new();
    let bridge = tracing_opentelemetry::layer().with_tracer(probe.tracer_provider().tracer("application"));
    tracing::subscriber::with_default(Registry::default().with(bridge), || {
        info_span!("request").in_scope(|| probe.chat("openai", "gpt-4o-mini").start().finish());
    });
    let events = |name: &str| {
        let span = probe.spans().into_iter().find(|span| span.name == name).unwrap();
        span.events.iter().map(|event| event.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(events("request"), ["call finished"]);
    assert_eq!(events("chat gpt-4o-mini"), [""; 0]);
}

/// A subscriber that panics is the application's affair: the call is recorded all the same.
#[test]
fn a_subscriber_that_panics_harms_no_call() {
    struct Panics;
    impl<S: Subscriber> Layer<S> for Panics {
        fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
            panic!("scripted");
        }
    }
    struct PanicsWhenAsked;
    impl<S: Subscriber> Layer<S> for PanicsWhenAsked {
        fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
            Interest::sometimes()
        }

        fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
            assert_ne!(metadata.target(), "llmperf", "scripted");
            true
        }
    }
    let subscribers =
        [Dispatch::new(Registry::default().with(Panics)), Dispatch::new(Registry::default().with(PanicsWhenAsked))];
    for subscriber in subscribers {
        let probe = Probe::new();
        let outcomes = tracing::dispatcher::with_default(&subscriber, || {
            [(); 2].map(|()| probe.chat("openai", "gpt-4o-mini").start().finish().outcome)
        });
        assert_eq!(outcomes, [Some(Outcome::Complete); 2]);
        assert_eq!((probe.count("llmperf.client.calls"), probe.spans().len()), (2.0, 2));
        let [oddities] = <[Point; 1]>::try_from(probe.points("llmperf.internal.events")).unwrap();
        assert_eq!((oddities.attribute("llmperf.internal.kind"), oddities.sum), ("caught_panic", 2.0));
    }
}
