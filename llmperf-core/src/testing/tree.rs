//! Spans as an indented tree.

use std::{collections::HashSet, fmt::Write as _};

use opentelemetry::trace::{SpanId, Status};
use opentelemetry_sdk::trace::SpanData;

/// Renders spans as a tree: one line each, two blanks of indent per level, siblings in the order of their starts, `!`
/// behind a span whose status is an error. A span whose parent is not among them is shown as a root, with `(orphan)`
/// behind it if it has a parent at all.
#[must_use]
pub fn render(spans: &[SpanData]) -> String {
    let mut sorted: Vec<&SpanData> = spans.iter().collect();
    sorted.sort_by_key(|span| (span.start_time, span.name.clone()));
    let ids: HashSet<SpanId> = spans.iter().map(|span| span.span_context.span_id()).collect();
    let mut text = String::new();
    for span in &sorted {
        if !ids.contains(&span.parent_span_id) {
            write_span(&mut text, span, &sorted, 0);
        }
    }
    text
}

fn write_span(text: &mut String, span: &SpanData, all: &[&SpanData], depth: usize) {
    let failed = if matches!(span.status, Status::Error { .. }) { " !" } else { "" };
    let orphan = if depth == 0 && span.parent_span_id != SpanId::INVALID { " (orphan)" } else { "" };
    // Writing to a `String` cannot fail.
    let _ = writeln!(text, "{:indent$}{}{failed}{orphan}", "", span.name, indent = depth * 2);
    for child in all.iter().filter(|child| child.parent_span_id == span.span_context.span_id()) {
        write_span(text, child, all, depth + 1);
    }
}
