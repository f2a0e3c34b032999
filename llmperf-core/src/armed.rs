//! Arming: a call finds its series and instruments, begins its span, counts as active, is noticed by observers.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock, atomic::Ordering},
};

use opentelemetry::trace::TraceContextExt as _;

use crate::{
    Oddity, Side,
    instruments::Instruments,
    internal::caught,
    labels::{Phase, Series, Sets, Variant},
    live::Live,
    metrics::Metric,
    observe::{Progress, StartedCall},
    scope::{self, Frame},
    shared::{Outer, Shared},
    span,
};

/// What a call has since it was armed.
#[derive(Debug)]
pub(crate) struct Armed {
    pub(crate) series: Arc<Series>,
    pub(crate) instruments: Arc<Instruments>,
    pub(crate) frames: Option<Arc<Frame>>,
    pub(crate) progress: OnceLock<Progress>,
    /// The live call that this one is an attempt at: it has a child span, and no metric of its own.
    pub(crate) outer: Option<Box<Outer>>,
    attach: Attach,
    phase: Phase,
}

/// When the call's context is attached around a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attach {
    /// There is a span (or a scope) that what happens inside belongs to.
    Always,
    /// There is none: only until the request must have left, for transports that join the call.
    UntilFirstEvent,
}

impl Live {
    /// Arms the call: finds its series and instruments, begins its span, counts it as active.
    pub(crate) fn arm(&mut self) {
        if self.armed.is_some() {
            return;
        }
        if let Some(sees) = self.spec.sees {
            self.ending.sees(sees);
        }
        let instrumentation = &self.instrumentation;
        let outer = Outer::join(&self.context, &self.spec, self.marks.start()).map(Box::new);
        let joined = outer.is_some();
        let series = instrumentation.labels().series(&self.spec.identity(), instrumentation.stats());
        let frames = if joined { None } else { scope::innermost(&self.context) };
        // Samplers and processors are not ours either.
        let begun = caught(|| span::begin(self));
        let breaks = begun.is_none();
        let spanned = begun.unwrap_or_else(|| span::absent(&self.context));
        let valid = spanned.span().span_context().is_valid();
        let observed = || frames.is_some() || !instrumentation.settings().observers.is_empty();
        let id = match outer.as_deref().and_then(Outer::shared) {
            Some(outer) => outer.id(),
            None if observed() => scope::unique_id(),
            None => 0,
        };
        let shared = Shared::new(&self.spec, instrumentation.clock().clone(), self.marks.start(), id);
        let attach = if valid || frames.is_some() { Attach::Always } else { Attach::UntilFirstEvent };
        let armed = Armed {
            series,
            instruments: instrumentation.instruments(),
            frames,
            progress: OnceLock::new(),
            outer,
            attach,
            phase: Phase::Waiting,
        };
        if !joined {
            instrumentation.live().fetch_add(1, Ordering::AcqRel);
            armed.shift_active(self.spec.side, 1);
        }
        self.context = spanned.with_value(shared);
        self.armed = Some(armed);
        if breaks {
            self.oddity(Oddity::CaughtPanic, 1);
        }
        self.notify_started();
        let watched = self.armed.as_ref().is_some_and(|armed| armed.progress.get().is_some());
        self.asked = watched || self.spec.given().is_some() || self.instrumentation.settings().capture.is_on();
    }

    /// The call was none. Observers that saw it start hear of it now; its span goes on until it ends.
    pub(crate) fn withdraw(&mut self, name: Cow<'static, str>) {
        if std::mem::replace(&mut self.spec.withdrawn, true) {
            return;
        }
        let span = self.context.span();
        self.guarded(|| span.update_name(name));
        let Some(armed) = self.armed.as_ref().filter(|armed| !armed.is_joined()) else { return };
        let framed = armed.frames.iter().flat_map(Frame::outwards).filter_map(|frame| frame.observer());
        for observer in self.instrumentation.settings().observers.iter().chain(framed) {
            self.guarded(|| observer.withdrawn(self.id()));
        }
    }

    /// Tells calls apart; 0 where nobody observes.
    pub(crate) fn id(&self) -> u64 {
        Shared::of(&self.context).map_or(0, Shared::id)
    }

    fn notify_started(&self) {
        let Some(armed) = self.armed.as_ref().filter(|armed| !armed.is_joined()) else { return };
        let global = &self.instrumentation.settings().observers;
        let framed = || armed.frames.iter().flat_map(Frame::outwards).filter_map(|frame| frame.observer());
        if global.is_empty() && framed().next().is_none() {
            return;
        }
        let names = [self.spec.operation().as_str(), self.spec.provider.as_str(), self.spec.model.as_str()];
        let call = StartedCall::new(self.id(), self.spec.side, names, &armed.progress, armed.frames.as_ref());
        for observer in global.iter().chain(framed()) {
            self.guarded(|| observer.started(&call));
        }
    }
}

impl Armed {
    /// Whether a poll needs the call's context.
    #[inline]
    pub(crate) fn is_attached(&self, event_seen: bool) -> bool {
        self.attach == Attach::Always || !event_seen
    }

    /// The first event has come.
    pub(crate) fn stream(&mut self, side: Side) {
        self.shift_active(side, -1);
        self.phase = Phase::Streaming;
        self.shift_active(side, 1);
    }

    pub(crate) fn shift_active(&self, side: Side, by: i64) {
        let metric = if side == Side::Client { Metric::ClientActive } else { Metric::ServerActive };
        self.unanswered().with(Variant::Active(self.phase), |set| self.instruments.shift(metric as usize, by, set));
    }

    pub(crate) fn unanswered(&self) -> &Sets {
        self.series.unanswered()
    }

    pub(crate) fn is_joined(&self) -> bool {
        self.outer.is_some()
    }
}
