//! A stage while it goes on: the frame by which what happens inside finds it.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use llmperf_core::{
    FinishedCall, Instrumentation, Observer, Outcome, StartedCall, Verdict,
    opentelemetry::{
        KeyValue,
        trace::{SpanContext, TraceContextExt as _},
    },
    part::{Text, nearest_here},
    semconv::rag as name,
};

use crate::{
    key::Key,
    pipeline::{self, Frame as PipelineFrame},
};

/// A stage of retrieval-augmented generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(clippy::exhaustive_enums, reason = "the five stages are the definition; dashboards stack them")]
pub enum Stage {
    /// Text becomes a vector.
    Embed,
    /// Documents are searched.
    Retrieve,
    /// What was found is put into a better order.
    Rerank,
    /// The prompt is built.
    Assemble,
    /// The model answers.
    Generate,
}

impl Stage {
    /// The value of `llmperf.rag.stage`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Retrieve => "retrieve",
            Self::Rerank => "rerank",
            Self::Assemble => "assemble",
            Self::Generate => "generate",
        }
    }
}

/// What was answered from a cache: the stage that this is called in, and if that is a generation (or there is none) the
/// pipeline. A measured call of that stage was none then: it enters no metric of calls.
///
/// Call it before the stage ends; of a stage that gives a stream, before the stream is handed out.
///
/// ```
/// # use std::collections::HashMap;
/// use llmperf_rag::{Work as _, from_cache, generation};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let answers = HashMap::from([("fog?", "take a coat")]);
/// let answer = generation().provider("openai").model("gpt-4o-mini").run(async {
///     if let Some(answer) = answers.get("fog?") {
///         from_cache();
///         return Ok(answer.to_string());
///     }
///     // … ask the model
/// #   std::io::Result::Ok(String::new())
/// });
/// assert_eq!(answer.await?, "take a coat");
/// # Ok(()) }
/// ```
pub fn from_cache() {
    let (stage, pipeline) = here();
    match stage {
        Some(stage) => stage.mark_from_cache(),
        None => {
            if let Some(pipeline) = pipeline {
                pipeline.answered_from_cache();
            }
        }
    }
}

/// The stage that we are in, if it is the innermost of ours, and the pipeline.
pub(crate) fn here() -> (Option<Arc<Frame>>, Option<Arc<PipelineFrame>>) {
    let pipeline = pipeline::here();
    let around = pipeline.as_ref().and_then(|pipeline| pipeline.around());
    let stage = nearest_here::<Frame>().filter(|stage| !around.is_some_and(|around| Arc::ptr_eq(around, stage)));
    (stage, pipeline)
}

/// A stage, as what happens inside it and after it sees it.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) instrumentation: Instrumentation,
    /// Its names; without outcome.
    pub(crate) key: Key,
    /// What it works with, as the statistics call it.
    pub(crate) detail: Text,
    /// How many documents are judged.
    pub(crate) k: Option<u64>,
    pub(crate) pipeline: Option<Arc<PipelineFrame>>,
    span: OnceLock<SpanContext>,
    from_cache: AtomicBool,
    told: Mutex<Told>,
}

/// What was told of a stage.
#[derive(Debug, Default)]
struct Told {
    /// What stands for each document found, in order of rank; absent where nobody told documents that have ids.
    ranking: Option<Vec<u64>>,
    lookup: Option<(Text, &'static str)>,
    call: OwnCall,
}

/// The call whose span is the stage's.
#[derive(Debug, Default)]
enum OwnCall {
    #[default]
    None,
    /// It is armed now: the next call that starts is it.
    Arming,
    Live(u64),
    Ended(Verdict),
}

impl Frame {
    pub(crate) fn new(
        instrumentation: Instrumentation,
        key: Key,
        detail: Text,
        k: Option<u64>,
        pipeline: Option<Arc<PipelineFrame>>,
    ) -> Self {
        let (span, from_cache, told) = (OnceLock::new(), AtomicBool::new(false), Mutex::default());
        Self { instrumentation, key, detail, k, pipeline, span, from_cache, told }
    }

    /// The span of the stage, or of the call that it is.
    pub(crate) fn set_span(&self, context: &llmperf_core::opentelemetry::Context) {
        // The first stands: there is one.
        let _ = self.span.set(context.span().span_context().clone());
    }

    /// The span; none where no tracer is installed.
    pub(crate) fn span(&self) -> Option<&SpanContext> {
        self.span.get().filter(|span| span.is_valid())
    }

    /// Its answer came from a cache.
    pub(crate) fn mark_from_cache(&self) {
        self.from_cache.store(true, Ordering::Release);
    }

    pub(crate) fn was_from_cache(&self) -> bool {
        self.from_cache.load(Ordering::Acquire)
    }

    /// A cache was looked up inside.
    pub(crate) fn looked_up(&self, cache: &Text, result: &'static str) {
        self.told().lookup = Some((cache.clone(), result));
    }

    /// What the end of its span says of caches.
    pub(crate) fn cache_attributes(&self) -> Vec<KeyValue> {
        let lookup = self.told().lookup.clone();
        let looked_up = lookup.into_iter().flat_map(|(cache, result)| {
            [KeyValue::new(name::CACHE_NAME, cache), KeyValue::new(name::CACHE_RESULT, result)]
        });
        looked_up.chain(self.was_from_cache().then(|| KeyValue::new(name::FROM_CACHE, true))).collect()
    }

    pub(crate) fn set_ranking(&self, ranking: Vec<u64>) {
        self.told().ranking = Some(ranking);
    }

    pub(crate) fn ranking(&self) -> Option<Vec<u64>> {
        self.told().ranking.clone()
    }

    /// Arms the call that the stage is.
    pub(crate) fn arm<T>(&self, arm: impl FnOnce() -> T) -> T {
        self.told().call = OwnCall::Arming;
        let armed = arm();
        let call = &mut self.told().call;
        if matches!(call, OwnCall::Arming) {
            *call = OwnCall::None;
        }
        armed
    }

    /// How its call ended, if it is one and has.
    pub(crate) fn call_ended(&self) -> Option<Verdict> {
        match &self.told().call {
            OwnCall::Ended(verdict) => Some(verdict.clone()),
            _ => None,
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Frame {
    fn started(&self, call: &StartedCall<'_>) {
        let own = &mut self.told().call;
        if matches!(own, OwnCall::Arming) {
            *own = OwnCall::Live(call.id);
        }
    }

    fn finished(&self, call: &FinishedCall<'_>) {
        let own = &mut self.told().call;
        if matches!(own, OwnCall::Live(id) if *id == call.id) {
            *own = OwnCall::Ended(match (call.timing.outcome, call.timing.error_type.as_deref()) {
                (Some(Outcome::Cancelled), _) => Verdict::Cancelled,
                (Some(Outcome::Error | Outcome::Interrupted), error_type) => {
                    Verdict::failed(error_type.unwrap_or_default())
                }
                _ => Verdict::Complete,
            });
        }
    }
}
