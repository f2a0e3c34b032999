//! The span of a call: made with the OpenTelemetry trace API, begun when the call was made, ended at its latch.

use std::{borrow::Cow, time::Duration};

use opentelemetry::{
    Array, Context, KeyValue, StringValue, Value,
    trace::{SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _},
};

use crate::{
    GenAiNames, Outcome, Side,
    failure::OTHER,
    finish::{Finished, is_inference},
    live::Live,
    semconv as name,
    shared::Attempt,
    spec::{Extras, Spec},
    text::cut,
    timing::FinishReason,
};

/// Longest finish reason that is kept, in bytes.
const LONGEST_REASON: usize = 64;

/// Begins the span of a call; gives the parent's context with it.
pub(crate) fn begin(live: &Live) -> Context {
    let spec = &live.spec;
    let (operation, model) = (spec.operation().as_str(), spec.model.as_str());
    let mut span_name = String::with_capacity(operation.len() + 1 + model.len());
    span_name.push_str(operation);
    if !model.is_empty() {
        span_name.push(' ');
        span_name.push_str(model);
    }
    let kind = spec.kind.clone().unwrap_or(match spec.side {
        Side::Client => SpanKind::Client,
        Side::Server => SpanKind::Internal,
    });
    let builder =
        SpanBuilder::from_name(span_name).with_kind(kind).with_start_time(live.begun).with_attributes(identity(spec));
    let span = live.instrumentation.with_tracer(|tracer| tracer.build_with_context(builder, &live.context));
    live.context.with_span(span)
}

/// The context of a call that could have no span: what happens inside belongs to the parent's, which is not ours to end.
pub(crate) fn absent(parent: &Context) -> Context {
    parent.with_remote_span_context(parent.span().span_context().clone())
}

/// What is known at the start, for samplers to decide on: names, server, the user's own attributes.
fn identity(spec: &Spec) -> Vec<KeyValue> {
    let given = spec.given();
    let own = given.map_or(&[][..], |extras| &extras.attributes);
    let of_series = given.map_or(0, |extras| usize::from(extras.scenario.is_some()) + extras.labels.len());
    // Room for these alone: the span keeps it while the call lives.
    let of_server = spec.server.as_ref().map_or(0, |(_, port)| 1 + usize::from(port.is_some()));
    let of_model = usize::from(!spec.model.as_str().is_empty());
    let mut attributes = Vec::with_capacity(2 + of_model + of_server + of_series + own.len());
    attributes.push(KeyValue::new(name::OPERATION, spec.operation().clone()));
    attributes.push(KeyValue::new(name::PROVIDER, spec.provider.clone()));
    if !spec.model.as_str().is_empty() {
        attributes.push(KeyValue::new(name::REQUEST_MODEL, spec.model.clone()));
    }
    if let Some((address, port)) = &spec.server {
        attributes.push(KeyValue::new(name::SERVER_ADDRESS, address.clone()));
        attributes.extend(port.map(|port| KeyValue::new(name::SERVER_PORT, i64::from(port))));
    }
    if let Some(extras) = given {
        attributes.extend(extras.scenario.iter().map(|scenario| KeyValue::new(name::SCENARIO, scenario.clone())));
        attributes.extend(extras.labels.iter().map(|(key, value)| KeyValue::new(*key, value.clone())));
    }
    // A key that stands here already keeps its value: none is exported twice.
    attributes.extend(own.iter().filter(|own| !is_label(given, own.key.as_str())).cloned());
    attributes
}

fn is_label(given: Option<&Extras>, key: &str) -> bool {
    given.is_some_and(|extras| extras.labels.iter().any(|(label, _)| *label == key))
}

/// Writes what was measured onto the span and ends it. Attributes are built only if it records; a span without an
/// identity is the API's own no-op, and there is nothing to end.
pub(crate) fn end(live: &Live, finished: &Finished) {
    let span = live.context.span();
    if !span.span_context().is_valid() {
        return;
    }
    let ended = live.begun + Duration::from_nanos(finished.figures.duration);
    if span.is_recording() {
        span.set_attributes(attributes(live, finished));
        live.guarded(|| span.set_attributes(content(live, finished)));
        let stamp = |tick| live.begun + Duration::from_nanos(live.clock().nanos_between(live.marks.start(), tick));
        for (index, attempt) in finished.attempts.iter().enumerate() {
            span.add_event_with_timestamp(name::ATTEMPT, stamp(attempt.started), attempt_attributes(index, attempt));
        }
        if matches!(finished.outcome, Outcome::Error | Outcome::Interrupted) {
            // No message of the provider's: it may quote the prompt.
            let description = finished.error_type.clone().unwrap_or(OTHER.into());
            span.set_status(Status::error(description));
        }
    }
    span.end_with_timestamp(ended);
}

/// A finish reason as it is kept: the common ones without an allocation, others cut.
pub(crate) fn reason_words(reason: &str) -> Cow<'static, str> {
    const COMMON: [&str; 8] =
        ["stop", "length", "tool_calls", "content_filter", "end_turn", "tool_use", "max_tokens", "STOP"];
    match COMMON.into_iter().find(|common| *common == reason) {
        Some(common) => Cow::Borrowed(common),
        None => Cow::Owned(cut(reason, LONGEST_REASON).to_owned()),
    }
}

/// The figures first, then what the provider said; content follows: nothing can push a figure out.
fn attributes(live: &Live, finished: &Finished) -> Vec<KeyValue> {
    let mut all = Vec::with_capacity(32);
    usage(live, finished, &mut all);
    marks(live, finished, &mut all);
    let mut text = |key: &'static str, value: Option<&str>| {
        all.extend(value.map(|value| KeyValue::new(key, value.to_owned())));
    };
    text(name::RESPONSE_MODEL, live.answer.model.as_deref());
    text(name::RESPONSE_ID, live.answer.id.as_deref());
    text(name::ERROR_TYPE, finished.error_type.as_deref());
    if let Some(received) = live.spec.given().map(|extras| extras.received).filter(|received| *received > 0) {
        all.push(KeyValue::new(name::HTTP_RESPONSE_SIZE, i64::try_from(received).unwrap_or(i64::MAX)));
    }
    all.extend(finish_reasons(live, finished));
    told(live, finished, &mut all);
    all
}

/// What the provider and code inside the call told, which goes before; none of a key that is taken. The SDK would export
/// both.
fn told(live: &Live, finished: &Finished, all: &mut Vec<KeyValue>) {
    if live.answer.attributes.is_empty() && finished.told.is_empty() {
        return;
    }
    let at_start = identity(&live.spec);
    for told in finished.told.iter().chain(&live.answer.attributes) {
        if !at_start.iter().chain(all.iter()).any(|taken| taken.key == told.key) {
            all.push(told.clone());
        }
    }
}

/// Messages, where they are captured. The user's hook runs here.
fn content(live: &Live, finished: &Finished) -> Vec<KeyValue> {
    let content = live.spec.given().and_then(|extras| extras.content.as_ref());
    let Some(content) = content.filter(|content| content.capture().to_spans()) else { return Vec::new() };
    let finish = finished.finish_reasons.first().map_or("", |reason| &*reason.reason);
    let input = content.input_messages().map(|json| KeyValue::new(name::INPUT_MESSAGES, json));
    let output = content.output_messages(finish).map(|json| KeyValue::new(name::OUTPUT_MESSAGES, json));
    let error = content.error_message().map(|message| KeyValue::new(name::ERROR_MESSAGE, message));
    input.into_iter().chain(output).chain(error).collect()
}

fn usage(live: &Live, finished: &Finished, all: &mut Vec<KeyValue>) {
    let usage = &finished.usage;
    let cache_write = match live.instrumentation.settings().names {
        GenAiNames::V1_41 => name::USAGE_CACHE_CREATION,
        GenAiNames::Latest => name::USAGE_CACHE_WRITE,
    };
    let mut tokens = |key: &'static str, tokens: Option<u64>| {
        all.extend(tokens.map(|tokens| KeyValue::new(key, i64::try_from(tokens).unwrap_or(i64::MAX))));
    };
    tokens(name::USAGE_INPUT, usage.input_tokens());
    tokens(name::USAGE_OUTPUT, usage.output_tokens());
    tokens(name::USAGE_CACHE_READ, usage.cache_read_tokens());
    tokens(cache_write, usage.cache_write_tokens());
    tokens(name::USAGE_REASONING, usage.reasoning_tokens());
    tokens(name::USAGE_AUDIO_INPUT, usage.audio_input_tokens());
    tokens(name::USAGE_AUDIO_OUTPUT, usage.audio_output_tokens());
    all.extend(finished.token_source.map(|source| KeyValue::new(name::TOKEN_SOURCE, source.as_str())));
    all.extend(finished.cost.map(|cost| KeyValue::new(name::COST, cost)));
}

fn marks(live: &Live, finished: &Finished, all: &mut Vec<KeyValue>) {
    let figures = &finished.figures;
    all.push(KeyValue::new(name::OUTCOME, finished.outcome.as_str()));
    let mut seconds = |key: &'static str, nanos: Option<f64>| {
        all.extend(nanos.map(|nanos| KeyValue::new(key, nanos / 1e9)));
    };
    let exact = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64);
    seconds(name::TIME_TO_HEAD, exact(figures.head));
    if live.spec.streamed {
        seconds(name::RESPONSE_TTFC, exact(figures.first_chunk));
        seconds(name::TTFT, exact(figures.first_token));
        seconds(name::TTFA, exact(figures.first_answer));
        seconds(name::TPOT, figures.per_token);
        seconds(name::LONGEST_GAP, exact(figures.longest_gap));
        seconds(name::GENERATION_TIME, exact(figures.generation));
        seconds(name::CONSUMER_WAIT, Some(figures.consumer_wait as f64));
        all.push(KeyValue::new(name::REQUEST_STREAM, true));
        all.push(KeyValue::new(name::CHUNKS, i64::try_from(figures.chunks).unwrap_or(i64::MAX)));
        all.push(KeyValue::new(name::OUTPUT_CHUNKS, i64::try_from(figures.outputs).unwrap_or(i64::MAX)));
        all.extend(figures.token_rate.map(|rate| KeyValue::new(name::TOKEN_RATE, rate)));
    }
    if figures.consumer_bound {
        all.push(KeyValue::new(name::CONSUMER_BOUND, true));
    }
    if let Some(attempts) = finished.attempts() {
        all.push(KeyValue::new(name::ATTEMPTS, i64::from(attempts)));
        all.extend(finished.attempt_ttft.map(|nanos| KeyValue::new(name::ATTEMPT_TTFT, nanos as f64 / 1e9)));
    }
}

/// One entry per choice in the order of the choices; `error` for one that should have had a reason.
fn finish_reasons(live: &Live, finished: &Finished) -> Option<KeyValue> {
    let reasons = &finished.finish_reasons;
    let choices = live.ending.choices().max(reasons.len() as u32) as usize;
    let whole = finished.outcome == Outcome::Complete;
    // What is no inference has no choices: neither vectors nor an order of documents are finished for a reason.
    let least = usize::from(is_inference(live.spec.operation().as_str()));
    let expected = if whole { choices } else { choices.max(least) };
    let mut words: Vec<(u32, StringValue)> =
        reasons.iter().map(|FinishReason { choice, reason, .. }| (*choice, reason.clone().into())).collect();
    if !whole {
        let mut index = 0;
        while words.len() < expected {
            if !words.iter().any(|(choice, _)| *choice == index) {
                words.push((index, "error".into()));
            }
            index += 1;
        }
    }
    words.sort_by_key(|(choice, _)| *choice);
    let words: Vec<StringValue> = words.into_iter().map(|(_, words)| words).collect();
    (!words.is_empty()).then(|| KeyValue::new(name::FINISH_REASONS, Value::Array(Array::String(words))))
}

fn attempt_attributes(index: usize, attempt: &Attempt) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new(name::ATTEMPT, i64::try_from(index + 1).unwrap_or(i64::MAX))];
    attributes.extend(attempt.model.clone().map(|model| KeyValue::new(name::REQUEST_MODEL, model)));
    attributes.extend(attempt.error_type.clone().map(|error| KeyValue::new(name::ERROR_TYPE, error)));
    attributes
}
