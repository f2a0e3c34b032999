//! One `tracing` event per finished call: for those who have a log and nothing else.

use opentelemetry::trace::TraceContextExt as _;
use tracing::Level;

use crate::{Outcome, current, finish::Finished, live::Live, semconv as name};

/// Emits the event of a finished call: target `llmperf`, DEBUG, WARN for `error` and `interrupted`.
///
/// It carries `trace_id` and `span_id`, since the bridge gives events to the nearest `tracing` span, not to ours. The
/// call's context is attached meanwhile, for appenders that take the ids from there. A thread that ends emits none:
/// subscribers keep their buffers in thread-locals.
pub(crate) fn emit(live: &Live, finished: &Finished) {
    let failed = matches!(finished.outcome, Outcome::Error | Outcome::Interrupted);
    // The subscriber may panic, and so may attaching: inside a borrow of the current context.
    live.guarded(|| {
        if !current::is_in_reach() {
            return;
        }
        let enabled = if failed {
            tracing::enabled!(target: "llmperf", Level::WARN)
        } else {
            tracing::enabled!(target: "llmperf", Level::DEBUG)
        };
        if enabled {
            let _current = current::attach(live.context());
            if failed {
                warn(live, finished);
            } else {
                debug(live, finished);
            }
            details(live, finished);
        }
    });
}

macro_rules! event {
    ($level:expr, $live:expr, $finished:expr) => {{
        let (spec, figures, usage) = (&$live.spec, &$finished.figures, &$finished.usage);
        let span = $live.context().span();
        let ids = span.span_context();
        let seconds = |nanos: Option<u64>| nanos.map(|nanos| nanos as f64 / 1e9);
        tracing::event!(
            target: "llmperf",
            $level,
            trace_id = ids.is_valid().then(|| tracing::field::display(ids.trace_id())),
            span_id = ids.is_valid().then(|| tracing::field::display(ids.span_id())),
            operation = spec.operation().as_str(),
            provider = spec.provider.as_str(),
            model = spec.model.as_str(),
            outcome = $finished.outcome.as_str(),
            error.r#type = $finished.error_type.as_deref(),
            duration_s = figures.duration as f64 / 1e9,
            time_to_head_s = seconds(figures.head),
            time_to_first_token_s = seconds(figures.first_token),
            time_to_first_answer_s = seconds(figures.first_answer),
            time_per_output_token_s = figures.per_token.map(|nanos| nanos / 1e9),
            longest_gap_s = seconds(figures.longest_gap),
            output_token_rate = figures.token_rate,
            consumer_bound = figures.consumer_bound.then_some(true),
            input_tokens = usage.input_tokens(),
            output_tokens = usage.output_tokens(),
            chunks = figures.chunks,
            attempts = $finished.attempts(),
            "call finished"
        );
    }};
}

fn debug(live: &Live, finished: &Finished) {
    event!(Level::DEBUG, live, finished);
}

fn warn(live: &Live, finished: &Finished) {
    event!(Level::WARN, live, finished);
}

/// The convention's event with the messages, where content is captured as events.
fn details(live: &Live, finished: &Finished) {
    let Some(content) = live.spec.given().and_then(|extras| extras.content.as_ref()) else { return };
    if !content.capture().to_events() {
        return;
    }
    let finish = finished.finish_reasons.first().map_or("", |reason| &*reason.reason);
    tracing::event!(
        name: "gen_ai.client.inference.operation.details",
        target: "llmperf",
        Level::DEBUG,
        { name::OPERATION } = live.spec.operation().as_str(),
        { name::PROVIDER } = live.spec.provider.as_str(),
        { name::REQUEST_MODEL } = live.spec.model.as_str(),
        { name::INPUT_MESSAGES } = content.input_messages(),
        { name::OUTPUT_MESSAGES } = content.output_messages(finish),
    );
}
