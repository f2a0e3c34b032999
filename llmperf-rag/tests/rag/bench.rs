//! What the tests share: a probe, steps of its clock, looks at what was recorded.

use std::{future::poll_fn, task::Poll, time::Duration};

use llmperf_core::{
    Instrumentation,
    stats::{Figure, SeriesKind, Window},
    testing::{ManualClock, Point, Probe},
};
use opentelemetry_sdk::trace::SpanData;

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Work that takes so long by the probe's clock, and is pending once.
pub(crate) async fn takes(clock: &ManualClock, time: u64) {
    clock.advance(millis(time));
    yield_once().await;
}

pub(crate) async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Makes a future and runs it under the probe.
pub(crate) fn under<F: Future>(probe: &Probe, make: impl FnOnce() -> F) -> F::Output {
    let from = probe.instrumentation();
    futures::executor::block_on(from.scope(from.sync_scope(make)))
}

/// The value of a span's attribute as text; empty if it has none.
pub(crate) fn attribute(span: &SpanData, key: &str) -> String {
    span.attributes
        .iter()
        .find(|attribute| attribute.key.as_str() == key)
        .map(|attribute| attribute.value.to_string())
        .unwrap_or_default()
}

pub(crate) fn span(probe: &Probe, name: &str) -> SpanData {
    let found: Vec<_> = probe.spans().into_iter().filter(|span| span.name == name).collect();
    assert_eq!(found.len(), 1, "one span `{name}` in {}", probe.tree());
    found[0].clone()
}

/// The only series of a metric.
pub(crate) fn point(probe: &Probe, metric: &str) -> Point {
    let mut points = probe.points(metric);
    assert_eq!(points.len(), 1, "{metric}: {points:?}");
    points.pop().unwrap()
}

/// The sum of a metric's only series, in milliseconds.
pub(crate) fn in_millis(probe: &Probe, metric: &str) -> u64 {
    (point(probe, metric).sum * 1_000.0).round() as u64
}

/// How often, and the mean, of a figure since the start; none if there is none.
pub(crate) fn figure(
    from: &Instrumentation,
    kind: SeriesKind,
    name: &str,
    detail: &str,
    figure: Figure,
) -> Option<(u64, f64)> {
    let snapshot = from.snapshot();
    let found = snapshot.get(kind, name, detail)?.figure(Window::SinceStart, figure)?;
    Some((found.count, found.mean))
}
