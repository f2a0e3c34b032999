//! The trace context, written into the `_meta` of a request.

use std::fmt::Write as _;

use llmperf_core::part;
use opentelemetry::{Context, baggage::BaggageExt as _, global, propagation::Injector, trace::TraceContextExt as _};

/// Writes the current trace context into a `_meta` map, by a closure that sets one text under one key: `traceparent`,
/// `tracestate`, `baggage`, without a prefix, as the MCP convention asks. By the propagator that the application set globally, else as W3C
/// writes it. Nothing is written where there is no trace.
pub fn inject(set: impl FnMut(&str, String)) {
    inject_context(&part::current(), set);
}

/// The same for a context at hand: [`Guard::context`](llmperf_core::Guard::context).
pub fn inject_context(context: &Context, mut set: impl FnMut(&str, String)) {
    let is_set = global::get_text_map_propagator(|propagator| {
        let is_set = propagator.fields().next().is_some();
        if is_set {
            propagator.inject_context(context, &mut Setter(&mut set));
        }
        is_set
    });
    if !is_set {
        inject_w3c(context, set);
    }
}

fn inject_w3c(context: &Context, mut set: impl FnMut(&str, String)) {
    let span = context.span();
    let span = span.span_context();
    if span.is_valid() {
        let flags = span.trace_flags().to_u8();
        set("traceparent", format!("00-{}-{}-{flags:02x}", span.trace_id(), span.span_id()));
        let state = span.trace_state().header();
        if !state.is_empty() {
            set("tracestate", state);
        }
    }
    let baggage = baggage(context);
    if !baggage.is_empty() {
        set("baggage", baggage);
    }
}

fn baggage(context: &Context) -> String {
    let mut list = String::new();
    for (key, (value, metadata)) in context.baggage() {
        let comma = if list.is_empty() { "" } else { "," };
        let _ = write!(list, "{comma}{key}={}", Encoded(value.as_str()));
        if !metadata.as_str().is_empty() {
            let _ = write!(list, ";{}", metadata.as_str());
        }
    }
    list
}

/// A value as W3C Baggage allows it: what is no plain character of a name or a number is percent-encoded.
struct Encoded<'a>(&'a str);

impl std::fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for byte in self.0.bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+/:@".contains(&byte) {
                f.write_char(char::from(byte))?;
            } else {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

struct Setter<'a, S>(&'a mut S);

impl<S: FnMut(&str, String)> Injector for Setter<'_, S> {
    fn set(&mut self, key: &str, value: String) {
        (self.0)(key, value);
    }
}
