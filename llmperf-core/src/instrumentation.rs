//! The handle that calls are made from: where telemetry goes, which names it has, what is judged and what it costs.

use std::{
    any::{Any, TypeId},
    borrow::Cow,
    fmt,
    future::Future,
    hash::BuildHasher as _,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use opentelemetry::{
    Context, InstrumentationScope, KeyValue,
    context::{FutureExt as _, WithContext},
    global::{self, BoxedTracer},
    metrics::MeterProvider,
    trace::{Span, Tracer, TracerProvider},
};
use rustc_hash::FxBuildHasher;

use crate::{
    Call, Capture, GenAiNames, Observer, Oddity, Prices, Slo,
    clock::Clock,
    current,
    instruments::{Instruments, Meters, Shape},
    internal::{Internal, caught},
    kept::Kept,
    labels::Labels,
    metrics::{Definition, Metric, TABLE},
    part::Part,
    scope::{self, Frame},
    semconv,
    stats::{self, Figure, SeriesKind},
    text::Text,
};

/// Where calls are made from. Cheap to clone; clones share statistics and instruments.
///
/// Most applications need none of their own: [`chat`](crate::chat) uses the [current](Instrumentation::current) one, which
/// is the global one unless a scope says otherwise. Its telemetry goes to OpenTelemetry's global providers, whichever they
/// are by the time a call is made.
///
/// ```
/// use llmperf_core::{Instrumentation, Price, Prices, Slo};
///
/// let instrumentation = Instrumentation::builder()
///     .slos(Slo::standard())
///     .prices(Prices::new().model("openai", "gpt-4o-mini*", Price::new(0.15, 0.60)))
///     .build();
/// let call = instrumentation.chat("openai", "gpt-4o-mini");
/// # drop(call);
/// ```
#[derive(Clone)]
pub struct Instrumentation(Arc<Inner>);

struct Inner {
    clock: Clock,
    tracer: Option<BoxedTracer>,
    meters: Meters,
    labels: Labels,
    stats: stats::Registry,
    internal: Internal,
    live: AtomicUsize,
    parts: Kept<Arc<dyn Any + Send + Sync>>,
    settings: Settings,
}

/// What was decided when the instrumentation was built.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) names: GenAiNames,
    pub(crate) per_chunk: bool,
    pub(crate) slos: Vec<Slo>,
    pub(crate) prices: Prices,
    pub(crate) capture: Capture,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
    build_info: Vec<KeyValue>,
}

static ENABLED: LazyLock<AtomicBool> = LazyLock::new(|| {
    let disabled = std::env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value.trim().eq_ignore_ascii_case("true"));
    AtomicBool::new(!disabled)
});

static GLOBAL: LazyLock<ArcSwap<Inner>> = LazyLock::new(|| ArcSwap::new(Instrumentation::builder().build().0));

/// Turns all measuring on or off at run time. Calls made while it is off record nothing and wrapped streams pass
/// straight through; live calls are measured to their end.
///
/// Off from the start if `OTEL_SDK_DISABLED` is `true`.
pub fn set_enabled(enabled: bool) {
    ENABLED.store(enabled, Ordering::Relaxed);
}

/// Whether calls are measured.
#[must_use]
pub fn is_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

impl Instrumentation {
    /// Starts a builder whose defaults are those of the global instrumentation.
    pub fn builder() -> InstrumentationBuilder {
        InstrumentationBuilder::new()
    }

    /// The global instrumentation: the one that was [made so](Self::make_global), else one with all defaults.
    #[must_use]
    pub fn global() -> Self {
        Self(GLOBAL.load_full())
    }

    /// The instrumentation of the [scope](Self::scope) that we are in, else the global one.
    #[must_use]
    pub fn current() -> Self {
        let innermost = current::map_current(scope::innermost);
        innermost.as_ref().and_then(Frame::instrumentation).cloned().unwrap_or_else(Self::global)
    }

    /// Polls a future with this instrumentation as the [current](Self::current) one: calls and work that are made inside,
    /// and name none of their own, go there.
    ///
    /// ```
    /// use llmperf_core::{Instrumentation, chat};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let instrumentation = Instrumentation::builder().build();
    /// instrumentation.scope(async { drop(chat("openai", "gpt-4o-mini").start()) }).await;
    /// assert!(instrumentation.snapshot().call("openai", "gpt-4o-mini").is_some());
    /// # }
    /// ```
    pub fn scope<F: Future>(&self, future: F) -> WithContext<F> {
        future.with_context(self.context())
    }

    /// Runs code with this instrumentation as the [current](Self::current) one.
    pub fn sync_scope<T>(&self, code: impl FnOnce() -> T) -> T {
        let _current = current::attach(&self.context());
        code()
    }

    /// The current context with this instrumentation in it.
    fn context(&self) -> Context {
        scope::instrumented(&current::current(), self.clone())
    }

    /// Makes this the global instrumentation. Live calls keep the one that they started with.
    ///
    /// This is the application's decision: libraries leave it alone.
    pub fn make_global(self) {
        GLOBAL.store(self.0);
    }

    /// A chat call to `model` of `provider`: its clock starts now. See [`chat`](crate::chat).
    pub fn chat(&self, provider: impl Into<Cow<'static, str>>, model: impl Into<Cow<'static, str>>) -> Call {
        Call::new(self.clone(), provider, model)
    }

    /// What was measured, by this instrumentation alone.
    #[must_use]
    pub fn snapshot(&self) -> stats::Snapshot {
        self.0.stats.snapshot(self.0.clock.nanos())
    }

    /// Runs a callback of the application's outside any call; a panic in it is caught and counted. For authors of adapters.
    pub fn guarded<T>(&self, callback: impl FnOnce() -> T) -> Option<T> {
        let value = caught(callback);
        if value.is_none() {
            self.odd(Oddity::CaughtPanic);
        }
        value
    }

    /// Counts what could not be measured; the meter that it goes to may panic itself.
    pub(crate) fn odd(&self, oddity: Oddity) {
        let _counted = caught(|| self.internal().count(&self.instruments(), oddity, 1));
    }

    /// Where the metrics of a part's own table go: the same provider, boundaries and names as the calls' metrics, under
    /// the part's scope. Each provider needs it once; ask [`Meters::current`] before each record.
    #[must_use]
    pub fn meters(&self, scope: InstrumentationScope, table: &'static [Definition]) -> Meters {
        self.0.meters.of_part(scope, table)
    }

    /// Adds figures that a part measured to the local statistics, each in its [unit](Figure::unit), now. Values that
    /// are negative or not a number are not figures and are left out.
    pub fn record_figures(&self, kind: SeriesKind, name: &str, detail: &str, figures: &[(Figure, f64)]) {
        if !is_enabled() {
            return;
        }
        let (series, now) = (self.0.stats.series(kind, name, detail), self.0.clock.nanos());
        for (figure, value) in figures {
            if let Some(recorded) = figure.recorded(*value) {
                series.record_many(now, *figure, &[recorded]);
            }
        }
    }

    /// What a part keeps for this instrumentation, made when it is first asked for.
    #[must_use]
    pub fn part<P: Part>(&self) -> &P {
        let hash = FxBuildHasher.hash_one(TypeId::of::<P>());
        let parts = &self.0.parts;
        parts.find(hash, |part| part.downcast_ref()).unwrap_or_else(|| {
            // Made before it has its place: what a part is made of may ask for another.
            let made: Arc<dyn Any + Send + Sync> = Arc::new(P::of(self));
            parts.find_or_make(hash, |part| part.downcast_ref(), || Arc::clone(&made))
        })
    }

    /// The time now, on the axis of [`Beginning::began`](crate::part::Beginning::began).
    #[must_use]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.0.clock.nanos())
    }

    /// Whether and how content is captured.
    #[must_use]
    pub fn capture(&self) -> &Capture {
        &self.0.settings.capture
    }

    /// Calls and pieces of work that live now: armed, not ended.
    #[must_use]
    pub fn live_calls(&self) -> usize {
        self.0.live.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn clock(&self) -> &Clock {
        &self.0.clock
    }

    #[inline]
    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn labels(&self) -> &Labels {
        &self.0.labels
    }

    pub(crate) fn stats(&self) -> &stats::Registry {
        &self.0.stats
    }

    pub(crate) fn internal(&self) -> &Internal {
        &self.0.internal
    }

    pub(crate) fn live(&self) -> &AtomicUsize {
        &self.0.live
    }

    /// The instruments in force now; tells what is deployed when they are new.
    pub(crate) fn instruments(&self) -> Arc<Instruments> {
        let (instruments, new) = self.0.meters.current();
        if new && !self.0.settings.build_info.is_empty() {
            instruments.show(Metric::BuildInfo as usize, &self.0.settings.build_info);
        }
        instruments
    }

    pub(crate) fn with_tracer<R>(&self, f: impl FnOnce(&BoxedTracer) -> R) -> R {
        match &self.0.tracer {
            Some(tracer) => f(tracer),
            None => f(&global::tracer_with_scope(semconv::scope())),
        }
    }
}

impl fmt::Debug for Instrumentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instrumentation")
            .field("clock", &self.0.clock)
            .field("meters", &self.0.meters)
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

/// Builds an [`Instrumentation`].
#[must_use = "a builder does nothing until `build`"]
pub struct InstrumentationBuilder {
    clock: Clock,
    tracer: Option<BoxedTracer>,
    meters: Option<Arc<dyn MeterProvider + Send + Sync>>,
    boundaries: Vec<(&'static str, Vec<f64>)>,
    cap: usize,
    settings: Settings,
}

impl InstrumentationBuilder {
    fn new() -> Self {
        Self {
            clock: Clock::counter(),
            tracer: None,
            meters: None,
            boundaries: Vec::new(),
            cap: 100,
            settings: Settings { per_chunk: true, capture: Capture::from_env(), ..Settings::default() },
        }
    }

    /// Sends spans to this provider instead of the global one.
    pub fn tracer_provider<P, T, S>(mut self, provider: &P) -> Self
    where
        P: TracerProvider<Tracer = T>,
        T: Tracer<Span = S> + Send + Sync + 'static,
        S: Span + Send + Sync + 'static,
    {
        self.tracer = Some(BoxedTracer::new(Box::new(provider.tracer_with_scope(semconv::scope()))));
        self
    }

    /// Sends metrics to this provider instead of the global one.
    pub fn meter_provider(mut self, provider: impl MeterProvider + Send + Sync + 'static) -> Self {
        self.meters = Some(Arc::new(provider));
        self
    }

    /// The names of the `gen_ai.*` client metrics. Default: the newest.
    pub fn gen_ai_names(mut self, names: GenAiNames) -> Self {
        self.settings.names = names;
        self
    }

    /// Whether the convention's histogram with one record per chunk is recorded. Default: yes.
    pub fn per_chunk_histogram(mut self, on: bool) -> Self {
        self.settings.per_chunk = on;
        self
    }

    /// Declares objectives that each finished call is judged against; their limits become histogram bounds.
    pub fn slos(mut self, slos: impl IntoIterator<Item = Slo>) -> Self {
        self.settings.slos.extend(slos);
        self
    }

    /// The price table for `llmperf.client.cost`. Default: none, no cost.
    pub fn prices(mut self, prices: Prices) -> Self {
        self.settings.prices = prices;
        self
    }

    /// Replaces the boundaries of one histogram, by metric name.
    pub fn boundaries(mut self, metric: &'static str, boundaries: impl Into<Vec<f64>>) -> Self {
        self.boundaries.push((metric, boundaries.into()));
        self
    }

    /// How many names of a kind (models, providers, …) keep their own series before `_other`. Default: 100.
    pub fn name_cap(mut self, cap: usize) -> Self {
        self.cap = cap;
        self
    }

    /// Whether and how prompts and answers are captured. Default: what
    /// `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says, else not at all.
    pub fn capture(mut self, capture: Capture) -> Self {
        self.settings.capture = capture;
        self
    }

    /// Adds an observer of all calls.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.settings.observers.push(observer);
        self
    }

    /// What is deployed, as attributes of `llmperf.build.info`: model release, prompt version. Keys are those of a
    /// [label](crate::Call::label); others are ignored.
    pub fn build_info(mut self, key: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        if semconv::is_free_label(key) {
            self.settings.build_info.push(KeyValue::new(key, Text::from(value.into())));
        }
        self
    }

    /// Takes its time from a hand-moved clock.
    #[cfg(feature = "testing")]
    pub fn clock(mut self, clock: &crate::testing::ManualClock) -> Self {
        self.clock = clock.clock();
        self
    }

    /// Builds it.
    #[must_use]
    pub fn build(self) -> Instrumentation {
        let limits = self.settings.slos.iter().flat_map(Slo::bounds).collect();
        let shape = Shape { names: self.settings.names, boundaries: self.boundaries, limits };
        let slos = self.settings.slos.iter().map(|slo| slo.name().clone().into()).collect();
        Instrumentation(Arc::new(Inner {
            stats: stats::Registry::new(self.clock.nanos()),
            clock: self.clock,
            tracer: self.tracer,
            meters: Meters::new(self.meters, TABLE, shape),
            labels: Labels::new(self.cap, slos),
            internal: Internal::default(),
            live: AtomicUsize::new(0),
            parts: Kept::default(),
            settings: self.settings,
        }))
    }
}

impl fmt::Debug for InstrumentationBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstrumentationBuilder").field("settings", &self.settings).finish_non_exhaustive()
    }
}
