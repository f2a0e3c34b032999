//! Traces as Jaeger gives them back, held to what the calls returned and to the local statistics.

use std::collections::BTreeMap;
use std::time::Duration;

use llmperf::Outcome;
use llmperf::stats::{Figure, Snapshot, Window};
use serde_json::{Value, json};

use crate::backends::{Kind, Span, Status, Trace};
use crate::calls::{Called, HOST, PRICE, PROVIDER};
use crate::server::{Ending, SWIFT};

type Attributes = BTreeMap<&'static str, Value>;

/// Spans of one call: the application's, ours, and two inside.
pub(crate) const SPANS: usize = 4;
/// Wall time orders spans; durations of ours come from another clock, which may run a little faster.
const CLOCKS: Duration = Duration::from_millis(5);

/// Each call is one whole tree, and the spans of all calls are what the statistics counted.
pub(crate) fn agree(traces: &[Trace], calls: &[Called], statistics: &Snapshot, service: &str) {
    assert_eq!(traces.len(), calls.len(), "one trace for each call");
    let mut spans = Vec::new();
    for called in calls {
        let chat = tree(find(traces, called.index), called, service);
        span_says_what_the_call_returned(chat, called);
        spans.push(chat);
    }
    spans_are_what_the_statistics_counted(&spans, statistics);
}

fn find(traces: &[Trace], plan: u64) -> &Trace {
    let of_plan = |trace: &&Trace| trace.roots().any(|root| root.number("plan") == Some(plan as f64));
    let mut found = traces.iter().filter(of_plan);
    let trace = found.next().unwrap_or_else(|| panic!("no trace of plan {plan}"));
    assert!(found.next().is_none(), "two traces of plan {plan}");
    trace
}

/// ask → chat → POST and first read: nothing else, and no stray root.
fn tree<'a>(trace: &'a Trace, called: &Called, service: &str) -> &'a Span {
    let [root] = trace.roots().collect::<Vec<_>>()[..] else { panic!("stray roots: {trace:#?}") };
    assert_eq!((root.name.as_str(), root.parent_id.as_deref(), root.kind), ("ask", None, Kind::Internal));
    let [chat] = trace.children(root).collect::<Vec<_>>()[..] else { panic!("not one child: {trace:#?}") };
    assert_eq!((chat.name.as_str(), chat.kind), (format!("chat {}", called.plan.model).as_str(), Kind::Client));
    assert_eq!((chat.scope.as_str(), chat.scope_version.as_str()), ("llmperf", env!("CARGO_PKG_VERSION")));
    let inside: Vec<_> = trace.children(chat).collect();
    let names: Vec<_> = inside.iter().map(|span| (span.name.as_str(), span.kind)).collect();
    assert_eq!(names, [("POST", Kind::Internal), ("first read", Kind::Internal)], "{trace:#?}");
    assert_eq!(trace.spans.len(), SPANS, "{trace:#?}");

    for (inner, outer) in [(chat, root), (inside[0], chat), (inside[1], chat)] {
        assert!(inner.start + CLOCKS >= outer.start, "{inner:?} begins before {outer:?}");
        assert!(inner.start <= outer.end() + CLOCKS, "{inner:?} begins after {outer:?}");
    }
    for span in &trace.spans {
        assert_eq!(
            (span.trace_id.as_str(), span.resource["service.name"].as_str()),
            (trace.id.as_str(), Some(service))
        );
    }
    chat
}

fn span_says_what_the_call_returned(span: &Span, called: &Called) {
    let Called { index, timing, .. } = called;
    assert_eq!(timing.outcome, Some(called.planned_outcome()), "call {index}");
    assert_eq!(span.duration, timing.duration, "call {index}");
    let (status, message) = match called.planned_outcome() {
        Outcome::Error | Outcome::Interrupted => (Status::Error, planned_error(called)),
        Outcome::Complete | Outcome::Cancelled => (Status::Unset, None),
    };
    assert_eq!((span.status, span.status_message.as_str()), (status, message.unwrap_or_default()), "call {index}");
    assert!(span.events.is_empty(), "no event per chunk: {:?}", span.events);

    let expected = attributes(called);
    let (keys, found): (Vec<_>, Vec<_>) = (expected.keys().copied().collect(), span.attributes.keys().collect());
    assert_eq!(found, keys, "call {index}: {:?}", called.plan);
    for (key, value) in &expected {
        assert!(same(&span.attributes[*key], value), "call {index}: {key} is {}, not {value}", span.attributes[*key]);
    }
}

/// The bounded `error.type` that a plan leads to.
fn planned_error(called: &Called) -> Option<&'static str> {
    match called.plan.ending {
        // The code in the body says more than the status.
        Ending::Refused(429) => Some("rate_limit_exceeded"),
        Ending::Refused(_) => Some("internal_error"),
        Ending::ErrorFrame => Some("engine_overloaded"),
        Ending::Cut => Some("stream_interrupted"),
        _ => None,
    }
}

/// All attributes of a call's span.
fn attributes(called: &Called) -> Attributes {
    let Called { plan, timing, .. } = called;
    let mut all = Attributes::from([
        ("app.tier", json!("gold")),
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!(PROVIDER)),
        ("gen_ai.request.model", json!(plan.model)),
        ("gen_ai.request.stream", json!(true)),
        ("gen_ai.response.finish_reasons", json!(finish_reasons(called))),
        ("server.address", json!(HOST)),
        ("server.port", json!(called.port)),
        ("llmperf.outcome", json!(called.planned_outcome().as_str())),
        ("llmperf.chunks", json!(timing.chunks)),
        ("llmperf.output_chunks", json!(timing.outputs)),
        ("llmperf.consumer_wait", json!(seconds(timing.consumer_wait))),
    ]);
    let mut optional = |key: &'static str, value: Option<Value>| all.extend(value.map(|value| (key, value)));
    for (key, mark) in [
        ("gen_ai.response.time_to_first_chunk", timing.time_to_first_chunk),
        ("llmperf.time_to_head", timing.time_to_head),
        ("llmperf.time_to_first_token", timing.time_to_first_token),
        ("llmperf.time_to_first_answer", timing.time_to_first_answer),
        ("llmperf.time_per_output_token", timing.time_per_output_token),
        ("llmperf.longest_gap", timing.longest_gap),
        ("llmperf.generation_time", timing.generation_time),
    ] {
        optional(key, mark.map(|mark| json!(seconds(mark))));
    }
    optional("llmperf.output_token_rate", timing.output_token_rate.map(|rate| json!(rate)));
    optional("llmperf.consumer_bound", timing.consumer_bound.then_some(json!(true)));
    optional("error.type", planned_error(called).map(|error| json!(error)));
    if !matches!(plan.ending, Ending::Refused(_)) {
        optional("gen_ai.response.id", Some(json!(format!("chatcmpl-{}", called.index))));
        optional("gen_ai.response.model", Some(json!(plan.model)));
    }
    // The usage frame comes at the very end: who left, or was cut off, has not seen it.
    if called.planned_outcome() == Outcome::Complete {
        let (input, output) = (f64::from(plan.prompt_tokens), f64::from(plan.output_tokens()));
        optional("gen_ai.usage.input_tokens", Some(json!(input)));
        optional("gen_ai.usage.output_tokens", Some(json!(output)));
        optional("gen_ai.usage.cache_read.input_tokens", Some(json!(plan.cached_tokens)));
        optional("gen_ai.usage.reasoning.output_tokens", Some(json!(plan.reasoning_tokens())));
        optional("llmperf.token.source", Some(json!("usage")));
        let cost = (input * PRICE.0 + output * PRICE.1) / 1e6;
        optional("llmperf.cost", (plan.model == SWIFT).then(|| json!(cost)));
    }
    all
}

fn finish_reasons(called: &Called) -> [&'static str; 1] {
    match called.plan.ending {
        Ending::Complete(finish) | Ending::Unmarked(finish) if called.planned_outcome() == Outcome::Complete => {
            [finish.word()]
        }
        _ => ["error"],
    }
}

/// The same number, but for the last digits of a quotient, or the same anything else.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-9 + 1e-12 * other.abs(),
        _ => one == other,
    }
}

/// By model: as many spans as calls, by outcome; the least, the greatest and the mean E2E and TTFT; the slowest trace.
fn spans_are_what_the_statistics_counted(spans: &[&Span], statistics: &Snapshot) {
    let mut by_model = BTreeMap::<&str, Vec<&Span>>::new();
    for span in spans {
        by_model.entry(span.text("gen_ai.request.model").unwrap()).or_default().push(span);
    }
    assert_eq!(by_model.len(), statistics.series.len());
    for (model, spans) in by_model {
        let local = statistics.call(PROVIDER, model).unwrap();
        let window = local.window(Window::SinceStart).unwrap();
        for outcome in Outcome::ALL {
            let ended = spans.iter().filter(|span| span.text("llmperf.outcome") == Some(outcome.as_str())).count();
            assert_eq!(window.outcomes.count(outcome), ended as u64, "{model}: {outcome}");
        }
        let durations = spans.iter().map(|span| seconds(span.duration)).collect();
        let first_tokens = spans.iter().filter_map(|span| span.number("llmperf.time_to_first_token")).collect();
        let figures = [(Figure::Duration, durations), (Figure::TimeToFirstToken, first_tokens)];
        for (figure, values) in figures {
            let values: Vec<f64> = values;
            let summary = local.figure(Window::SinceStart, figure).unwrap();
            assert_eq!(summary.count, values.len() as u64, "{model}: {figure}");
            let (least, greatest) = (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max));
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            for (local, of_spans) in [(summary.min, least), (summary.max, greatest), (summary.mean, Some(mean))] {
                let of_spans = of_spans.unwrap();
                assert!((local - of_spans).abs() < 2e-6, "{model}: {figure} {local} here, {of_spans} in Jaeger");
            }
        }
        let slowest = spans.iter().max_by_key(|span| span.duration).unwrap();
        let trace_id = window.slowest[0].trace_id.map(|id| id.to_string());
        assert_eq!(
            (trace_id.as_deref(), window.slowest[0].duration),
            (Some(slowest.trace_id.as_str()), slowest.duration)
        );
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e9
}
