//! What happens at the end of work, once: frame, metrics, statistics, journals, span, log event.

use std::{borrow::Cow, iter::once, sync::atomic::Ordering, time::Duration};

use opentelemetry::{
    KeyValue,
    trace::{SpanContext, Status, TraceContextExt as _},
};
use tracing::Level;

use super::{Ended, Title, Verdict, Work, guard::Alive};
use crate::{
    Oddity, Outcome, current,
    failure::OTHER,
    journal::Entry,
    labels::NameKind,
    scope::Frame,
    semconv as name,
    stats::{Breakdown, Figure, SeriesKind, SlowCall},
};

/// Records work that has ended. Uses the stored context only.
pub(super) fn finish<W: Work>(work: &mut W, alive: &mut Alive, verdict: Verdict) {
    let said = alive.verdict.take().unwrap_or(verdict);
    let verdict = alive.instrumentation.guarded(|| work.closing(&said)).flatten().unwrap_or(said);
    let alive = &*alive;
    let clock = alive.instrumentation.clock();
    let end = clock.tick();
    if let Some(frame) = &alive.frame {
        frame.close();
    }
    let nanos = clock.nanos_between(alive.start, end);
    let began = clock.nanos_between(0, alive.start);
    let (outcome, error_type) = alive.outcome(verdict);
    let span = alive.context.span();
    let none = SpanContext::empty_context();
    let mut ended = Ended {
        instrumentation: &alive.instrumentation,
        outcome,
        error_type: error_type.as_deref(),
        began: Duration::from_nanos(began),
        duration: Duration::from_nanos(nanos),
        first_output: alive.first_output.map(|at| Duration::from_nanos(clock.nanos_between(alive.start, at))),
        span: if alive.spanned { span.span_context() } else { &none },
        late: alive.frames().into_iter().flat_map(Frame::outwards).any(|frame| frame.is_closed()),
        figures: Vec::new(),
        frames: alive.frames(),
    };
    // A view of the SDK, a provider or a callback of the user's may panic.
    let title = alive.instrumentation.guarded(|| work.title());
    let title = title.unwrap_or_else(|| Title::new(SeriesKind::Operation, OTHER, ""));
    alive.instrumentation.guarded(|| work.ended(&mut ended));
    alive.instrumentation.guarded(|| alive.statistics(&title, &ended, began + nanos));
    alive.note(&title, began, began + nanos);
    alive.instrumentation.guarded(|| end_span(work, alive, &ended));
    alive.instrumentation.guarded(|| emit(work, alive, &title, &ended));
    if ended.late {
        alive.instrumentation.odd(Oddity::LateCall);
    }
    if alive.instrumentation.labels().take_folded() {
        alive.instrumentation.odd(Oddity::FoldedName);
    }
    // Last of all: whoever waits for what lives to end shuts telemetry down next.
    alive.instrumentation.live().fetch_sub(1, Ordering::AcqRel);
}

impl Alive {
    fn outcome(&self, verdict: Verdict) -> (Outcome, Option<Cow<'static, str>>) {
        match verdict {
            Verdict::Complete => (Outcome::Complete, None),
            Verdict::Cancelled => (Outcome::Cancelled, None),
            Verdict::Failed(error_type) => {
                let names = self.instrumentation.labels().names();
                let capped = names.capped(NameKind::ErrorType, &error_type.clone().into());
                let known = capped.as_str() == &*error_type;
                (Outcome::Error, Some(if known { error_type } else { OTHER.into() }))
            }
        }
    }

    fn statistics(&self, title: &Title, ended: &Ended<'_>, now: u64) {
        let nanos = u64::try_from(ended.duration.as_nanos()).unwrap_or(u64::MAX);
        let first = ended.first_output.map(|first| u64::try_from(first.as_nanos()).unwrap_or(u64::MAX));
        let figures = once((Figure::Duration, nanos)).chain(ended.figures.iter().copied());
        let trace_id = self.context.span().span_context().trace_id().to_bytes();
        let slow = SlowCall::new(nanos, first, trace_id).broken_down(self.breakdown(now - nanos, now));
        let series = self.instrumentation.stats().series(title.kind, title.name.as_str(), title.detail.as_str());
        series.record(now, figures, ended.outcome, false, Some(slow));
    }

    /// Where its time went, if somebody wrote that down.
    fn breakdown(&self, began: u64, ended: u64) -> Option<Breakdown> {
        let journal = self.frame.as_ref()?.journal()?;
        Some(Breakdown::of(began, ended, journal.close()))
    }

    /// Tells those around it that it has ended.
    fn note(&self, title: &Title, began: u64, ended: u64) {
        let Some(frames) = self.frames() else { return };
        frames.note(self.instrumentation.clock(), || {
            let id = self.frame.as_ref().map_or(0, |frame| frame.id());
            Entry { title: title.clone(), id, call: self.call, within: frames.id_of_work(), began, ended }
        });
    }
}

fn end_span<W: Work>(work: &W, alive: &Alive, ended: &Ended<'_>) {
    if !alive.spanned {
        return;
    }
    let span = alive.context.span();
    if span.is_recording() {
        let mut attributes = work.attributes(ended);
        attributes.push(KeyValue::new(name::OUTCOME, ended.outcome.as_str()));
        if let Some(error_type) = ended.error_type {
            attributes.push(KeyValue::new(name::ERROR_TYPE, error_type.to_owned()));
            span.set_status(Status::error(error_type.to_owned()));
        }
        span.set_attributes(attributes);
    }
    span.end_with_timestamp(alive.begun + ended.duration);
}

/// One `tracing` event: target `llmperf`, DEBUG, WARN for errors, with the ids of the span as fields.
fn emit<W: Work>(work: &W, alive: &Alive, title: &Title, ended: &Ended<'_>) {
    if !current::is_in_reach() {
        return;
    }
    macro_rules! event {
        ($level:expr) => {
            if tracing::enabled!(target: "llmperf", $level) {
                let _current = current::attach(&alive.context);
                tracing::event!(
                    target: "llmperf",
                    $level,
                    trace_id = ended.span.is_valid().then(|| tracing::field::display(ended.span.trace_id())),
                    span_id = ended.span.is_valid().then(|| tracing::field::display(ended.span.span_id())),
                    kind = title.kind.as_str(),
                    name = title.name.as_str(),
                    detail = Some(title.detail.as_str()).filter(|detail| !detail.is_empty()),
                    outcome = ended.outcome.as_str(),
                    error.r#type = ended.error_type,
                    duration_s = ended.duration.as_secs_f64(),
                    first_output_s = ended.first_output.map(|first| first.as_secs_f64()),
                    remark = work.remark(),
                    "work finished"
                );
            }
        };
    }
    if ended.outcome == Outcome::Error {
        event!(Level::WARN);
    } else {
        event!(Level::DEBUG);
    }
}
