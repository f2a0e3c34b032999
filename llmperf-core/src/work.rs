//! Work that is no call: a stage, a run, a step, a tool. It has one start, one end, a span, and whoever awaits it sees
//! nothing of that.
//!
//! What all sorts of work have in common is here: the clock, the span and its parent, the scope, the outcome, the place
//! in the statistics, the log event. What tells them apart is an implementation of [`Work`].

mod finish;
mod future;
mod guard;
mod objectives;
mod stream;

use std::{borrow::Cow, fmt, future::Future, sync::Arc, time::Duration};

use opentelemetry::{
    Context, KeyValue,
    trace::{SpanContext, SpanKind},
};

use crate::{
    Classify, Failure, Instrumentation, Objective, Observer, Outcome,
    failure::bounded,
    scope::{self, Frame},
    stats::{Figure, Title},
};

pub use future::WorkFuture;
pub use guard::Guard;
pub use stream::WorkStream;

/// Ends work as its value says, and gives the value on.
type Judge<W, T> = fn(Guard<W>, T) -> T;

/// A sort of work, and its verbs. The types that implement it are made by the parts: a retrieval, a tool, an agent's run.
///
/// A verb *arms* it: [`start`](Self::start) and [`in_scope`](Self::in_scope) at once, [`run`](Self::run) and its kin at
/// their first poll. The parent of its span, and the scope that it belongs to, are those in which the verb was called.
/// Work that was armed is recorded exactly once, however it ends; work that never was records nothing.
pub trait Work: fmt::Debug + Send + Sized + 'static {
    /// The work begins: what is its span, what does it put into its scope.
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening;

    /// The work has begun, in this context. Gives the one that it runs in, if that is another: that of a call whose span
    /// is the work's.
    fn opened(&mut self, context: &Context) -> Option<Context> {
        let _ = context;
        None
    }

    /// What it is called in the statistics, in the log and where time is told apart.
    fn title(&self) -> Title;

    /// The work is about to end like this; its scope is still open, for what must end inside. Gives another verdict where
    /// what the work consists of has one: a call whose span is the work's. A panic in it is caught and counted.
    fn closing(&mut self, verdict: &Verdict) -> Option<Verdict> {
        let _ = verdict;
        None
    }

    /// The work has ended: this is where metrics are recorded and figures given. A panic in it is caught and counted.
    fn ended(&mut self, ended: &mut Ended<'_>);

    /// What the end adds to its span. Asked only if the span records.
    fn attributes(&self, ended: &Ended<'_>) -> Vec<KeyValue> {
        let _ = ended;
        Vec::new()
    }

    /// What its log event says beside the title, the outcome and the duration. Asked only if somebody listens.
    fn remark(&self) -> Option<String> {
        None
    }

    /// The caller's own time limit, since the start: a drop after it is an error (`timeout`). No timer runs.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// How it ended if it is dropped before anybody said so; `None`: by its deadline, else as cancelled.
    fn if_dropped(&self) -> Option<Verdict> {
        None
    }

    /// Arms it now. Dropped before it was told how it ended, it is cancelled; dropped by a panic, an error `panic`.
    fn start(self) -> Guard<Self> {
        Guard::start(self)
    }

    /// Runs code that does not wait as this work; then `then` says how it ended. A panic in it is an error and goes on.
    fn in_scope<T, U>(self, code: impl FnOnce() -> T, then: impl FnOnce(Guard<Self>, T) -> U) -> U {
        let mut guard = self.start();
        let value = guard.in_scope(code);
        then(guard, value)
    }

    /// Runs code that neither waits nor fails as this work: it is complete at its end. A panic in it is an error and goes on.
    fn time<T>(self, code: impl FnOnce() -> T) -> T {
        self.in_scope(code, |guard, value| {
            guard.complete();
            value
        })
    }

    /// Awaits a future as this work: `Ok` is complete, `Err` an error, a drop cancelled.
    fn run<F, T, E, By>(self, future: F) -> WorkFuture<F, Self, Judge<Self, Result<T, E>>>
    where
        F: Future<Output = Result<T, E>>,
        E: Classify<By>,
    {
        self.run_then(future, |guard, result: Result<T, E>| {
            guard.end(Verdict::of(&result));
            result
        })
    }

    /// Awaits a future as this work; then `then` says how it ended, or hands the guard on to the stream that it gave.
    fn run_then<F, M, U>(self, future: F, then: M) -> WorkFuture<F, Self, M>
    where
        F: Future,
        M: FnOnce(Guard<Self>, F::Output) -> U,
    {
        WorkFuture::new(self, future, then)
    }
}

/// What a beginning sees.
#[derive(Debug)]
#[non_exhaustive]
pub struct Beginning<'a> {
    /// Where its telemetry goes.
    pub instrumentation: &'a Instrumentation,
    /// The context around it.
    pub parent: &'a Context,
    /// The start, on a time axis of which only differences mean anything.
    pub began: Duration,
}

impl Beginning<'_> {
    /// The nearest observer of this type around it: the run or the pipeline that it is part of.
    #[must_use]
    pub fn nearest<T: Observer>(&self) -> Option<Arc<T>> {
        scope::nearest_around(self.parent)
    }
}

/// What a piece of work begins with.
#[derive(Debug, Default)]
#[must_use]
pub struct Opening {
    pub(crate) span: Option<Spanned>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) journals: bool,
}

#[derive(Debug)]
pub(crate) struct Spanned {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: SpanKind,
    pub(crate) attributes: Vec<KeyValue>,
}

impl Opening {
    /// Work without a span of its own: what is made inside is a child of the span around it.
    pub fn without_span() -> Self {
        Self::default()
    }

    /// Work with a span: its name and kind, and what samplers may decide on.
    pub fn span(name: impl Into<Cow<'static, str>>, kind: SpanKind, attributes: Vec<KeyValue>) -> Self {
        Self { span: Some(Spanned { name: name.into(), kind, attributes }), ..Self::default() }
    }

    /// Lets an observer see the calls made inside, and work made inside find it ([`Beginning::nearest`]).
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Keeps what ends inside, so that the statistics can tell where the time of the slowest went.
    pub fn journaled(self) -> Self {
        Self { journals: true, ..self }
    }
}

/// How a piece of work ended, as its value says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It did what it should.
    Complete,
    /// It failed, with this `error.type`: a code or a type, never a message.
    Failed(Cow<'static, str>),
    /// The caller let go.
    Cancelled,
}

impl Verdict {
    /// A failure. What does not look like a code becomes `_OTHER`.
    #[must_use]
    pub fn failed(error_type: &str) -> Self {
        Self::Failed(bounded(error_type))
    }

    /// `Ok` is complete, `Err` a failure named by its classification.
    #[must_use]
    pub fn of<T, E: Classify<By>, By>(result: &Result<T, E>) -> Self {
        result.as_ref().err().map_or(Self::Complete, Self::of_error)
    }

    /// A failure named by the classification of an error.
    #[must_use]
    pub fn of_error<E: Classify<By>, By>(error: &E) -> Self {
        error.failure().into()
    }
}

impl From<Failure<'_>> for Verdict {
    fn from(failure: Failure<'_>) -> Self {
        Self::Failed(failure.error_type())
    }
}

/// What an end sees, and what is told of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ended<'a> {
    /// Where its telemetry goes.
    pub instrumentation: &'a Instrumentation,
    /// How it ended.
    pub outcome: Outcome,
    /// The `error.type` of a failure, capped.
    pub error_type: Option<&'a str>,
    /// The start, on a time axis of which only differences mean anything.
    pub began: Duration,
    /// From the start to the end.
    pub duration: Duration,
    /// From the start to the first output, where one was seen.
    pub first_output: Option<Duration>,
    /// Its span; invalid where it has none or no tracer is installed.
    pub span: &'a SpanContext,
    /// Whether a run around it had ended already.
    pub late: bool,
    pub(crate) figures: Vec<(Figure, u64)>,
    pub(crate) frames: Option<&'a Arc<Frame>>,
}

impl Ended<'_> {
    /// Adds a figure of its statistics, in its [unit](Figure::unit). What is negative or not a number is left out.
    pub fn figure(&mut self, figure: Figure, value: f64) {
        self.figures.extend(figure.recorded(value).map(|recorded| (figure, recorded)));
    }

    /// The nearest observer of this type around it.
    #[must_use]
    pub fn nearest<T: Observer>(&self) -> Option<Arc<T>> {
        self.frames?.nearest()
    }

    /// Whether any SLO is declared: else nothing need be looked up to [judge](Self::judge) by.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        !self.instrumentation.settings().slos.is_empty()
    }

    /// Judges it against each declared SLO of an objective; `value` is what the objective limits, absent where that was
    /// not seen. `attributes` are those of its own metrics: names, capped.
    pub fn judge(&self, objective: Objective, value: Option<Duration>, attributes: &[KeyValue]) {
        objectives::judge(self, objective, value, attributes);
    }
}
