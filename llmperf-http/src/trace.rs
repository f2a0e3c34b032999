//! Trace context in headers: by the propagator that the application set, else as W3C writes it.

use http::{HeaderMap, HeaderName, HeaderValue};
use llmperf_core::opentelemetry::{
    Context, global,
    propagation::{Extractor, Injector},
    trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState},
};

const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");

/// Writes the context into headers.
pub(crate) fn inject(context: &Context, headers: &mut HeaderMap) {
    let set = global::get_text_map_propagator(|propagator| {
        let set = propagator.fields().next().is_some();
        if set {
            propagator.inject_context(context, &mut Into(headers));
        }
        set
    });
    let span = context.span();
    let span = span.span_context();
    if set || !span.is_valid() {
        return;
    }
    let parent = format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8());
    if let Ok(parent) = HeaderValue::from_str(&parent) {
        write(headers, PARENT, parent);
    }
    let state = span.trace_state().header();
    match HeaderValue::from_str(&state) {
        Ok(state) if !state.is_empty() => write(headers, STATE, state),
        _ => {
            headers.remove(STATE);
        }
    }
}

/// Sets a header; in a map that is full, it does not.
fn write(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) {
    let _full = headers.try_insert(name, value);
}

/// The parent that headers name: a span of this thread's comes first.
pub(crate) fn extract(headers: &HeaderMap) -> Context {
    let current = Context::current();
    if current.span().span_context().is_valid() {
        return current;
    }
    let extracted = global::get_text_map_propagator(|propagator| {
        let set = propagator.fields().next().is_some();
        set.then(|| propagator.extract_with_context(&current, &From(headers)))
    });
    match extracted {
        Some(context) => context,
        None => match parent(headers) {
            Some(parent) => current.with_remote_span_context(parent),
            None => current,
        },
    }
}

fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    let mut values = headers.get_all(PARENT).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let mut parts = value.to_str().ok()?.trim().split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let of_a_later_version = version != "00";
    if !hex(version, 2) || version == "ff" || !hex(trace, 32) || !hex(span, 16) || !hex(flags, 2) {
        return None;
    }
    if parts.next().is_some() && !of_a_later_version {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let states: Vec<&str> = headers.get_all(STATE).iter().filter_map(|state| state.to_str().ok()).collect();
    let state = states.join(",").parse().unwrap_or_else(|_| TraceState::default());
    let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
    Some(SpanContext::new(trace, span, flags, true, state)).filter(SpanContext::is_valid)
}

struct Into<'a>(&'a mut HeaderMap);

impl Injector for Into<'_> {
    fn set(&mut self, key: &str, value: String) {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(key.as_bytes()), HeaderValue::from_str(&value)) {
            write(self.0, name, value);
        }
    }
}

struct From<'a>(&'a HeaderMap);

impl Extractor for From<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(parent: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(PARENT, HeaderValue::from_static(parent))])
    }

    #[test]
    fn a_traceparent_is_read_as_the_standard_has_it() {
        for (value, read) in [
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", true),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", false),
            ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
            ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
            ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", false),
            ("", false),
        ] {
            assert_eq!(parent(&headers(value)).is_some(), read, "{value}");
        }
    }

    #[test]
    fn headers_that_are_full_stay_as_they_are() {
        let context = extract(&headers("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
        let mut full = HeaderMap::new();
        let mut names = (0..).map(|index| HeaderName::try_from(format!("x-{index}")).unwrap());
        while full.try_insert(names.next().unwrap(), HeaderValue::from_static("1")).is_ok() {}
        let before = full.clone();
        inject(&context, &mut full);
        assert_eq!(full, before);
    }

    #[test]
    fn what_is_injected_is_extracted() {
        let mut given = headers("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        given.insert(STATE, HeaderValue::from_static("vendor=value"));
        let context = extract(&given);
        let mut written = HeaderMap::new();
        inject(&context, &mut written);
        assert_eq!(written, given);
    }
}
