//! The spans of a trace as a tree over time.

use std::time::SystemTime;

use llmperf::opentelemetry::trace::{SpanId, Status};
use opentelemetry_sdk::trace::SpanData;

use crate::terminal::{Bar, waterfall};

/// One line a span: its name, indented below its parent's, `!` if it failed, and when it was.
pub(crate) fn spans(spans: &[SpanData], width: usize) -> String {
    let mut sorted: Vec<_> = spans.iter().collect();
    sorted.sort_by_key(|span| span.start_time);
    let Some(first) = sorted.first().map(|span| span.start_time) else { return String::new() };
    let is_root = |span: &SpanData| !spans.iter().any(|other| other.span_context.span_id() == span.parent_span_id);
    let mut bars = Vec::new();
    for root in sorted.iter().filter(|span| is_root(span)) {
        add(&mut bars, root, &sorted, 0, first);
    }
    waterfall(&bars, width)
}

fn add(bars: &mut Vec<Bar>, span: &SpanData, all: &[&SpanData], depth: usize, first: SystemTime) {
    let since = |time: SystemTime| time.duration_since(first).unwrap_or_default().as_secs_f64();
    let failed = if matches!(span.status, Status::Error { .. }) { " !" } else { "" };
    let name = format!("{:indent$}{}{failed}", "", span.name, indent = 2 * depth);
    bars.push(Bar { name, from: since(span.start_time), to: since(span.end_time) });
    let id = span.span_context.span_id();
    for child in all.iter().filter(|child| id != SpanId::INVALID && child.parent_span_id == id) {
        add(bars, child, all, depth + 1, first);
    }
}
