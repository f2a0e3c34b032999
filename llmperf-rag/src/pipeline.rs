//! A pipeline: from a question to its answer, with what its stages add up to.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use llmperf_core::{
    Instrumentation, Objective, Observer, Work,
    opentelemetry::{KeyValue, trace::SpanKind},
    part::{Beginning, Custom, Ended, Opening, Text, Title, nearest_here},
    semconv::rag as name,
    stats::{Figure, SeriesKind},
};

use crate::{
    intervals::Intervals,
    key::{self, Key},
    metrics::Metric,
    stage::Frame as StageFrame,
    telemetry::Telemetry,
};

/// A pipeline of retrieval-augmented generation: an INTERNAL span `pipeline {name}` (the conventions have none).
///
/// At its end it records, besides its duration, what its stages add up to: **retrieval latency**, the time that searches
/// and reranks cover (parallel ones as their union); **retrieval path**, from its start to the start of the first generation, or to
/// the end of the assembly where nothing is generated; **retrieval share**, retrieval latency by its duration; **time to
/// first output**, of a stream that it gives, or as [`first_output`] says. A figure that nothing was seen of is absent.
///
/// A stage counts to the nearest pipeline around it: one inside another has its own figures, and the outer one has
/// those of its own stages.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// use llmperf_rag::{Work as _, generation, pipeline, retrieval};
///
/// let answer = pipeline("support").run(async {
///     let documents = retrieval().store("qdrant").run(async { std::io::Result::Ok(vec!["d1"]) }).await?;
///     generation().run(async { std::io::Result::Ok(format!("see {documents:?}")) }).await
/// });
/// # assert_eq!(answer.await?, "see [\"d1\"]"); Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a pipeline that is not armed (`start`, `in_scope`, `run`, …) records nothing"]
pub struct Pipeline {
    base: Named,
    query: Text,
    captured_query: Option<String>,
    frame: Option<Arc<Frame>>,
    sums: Sums,
}

/// What the builder sets.
#[derive(Debug)]
struct Named {
    name: Text,
    custom: Custom,
}

/// What the stages added up to.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    retrieval: Option<Duration>,
    path: Option<Duration>,
    share: Option<f64>,
    first_output: Option<Duration>,
    from_cache: bool,
}

/// A pipeline that was not begun yet. Its name is capped on metrics.
pub fn pipeline(name: impl Into<Text>) -> Pipeline {
    let base = Named { name: name.into(), custom: Custom::default() };
    Pipeline { base, query: Text::default(), captured_query: None, frame: None, sums: Sums::default() }
}

/// The pipeline that we are in shows its user the first output now, unless it has before: for those that give no stream of
/// their own.
///
/// ```
/// use llmperf_rag::{Work as _, first_output, pipeline};
///
/// # async fn show(_: &str) {}
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// pipeline("support").run(async {
///     for token in ["take", "a", "coat"] {
///         show(token).await;
///         first_output(); // the first time counts
///     }
///     std::io::Result::Ok(())
/// })
/// .await?;
/// # Ok(()) }
/// ```
pub fn first_output() {
    if let Some(pipeline) = here() {
        pipeline.first_output();
    }
}

/// The pipeline that we are in.
pub(crate) fn here() -> Option<Arc<Frame>> {
    nearest_here::<Frame>()
}

impl Pipeline {
    crate::base::setters!(query);

    /// Its name.
    pub fn name(mut self, name: impl Into<Text>) -> Self {
        self.base.name = name.into();
        self
    }

    /// The answer came from a cache.
    #[allow(clippy::wrong_self_convention, reason = "it says where the answer is from")]
    pub fn from_cache(&mut self) {
        if let Some(frame) = &self.frame {
            frame.answered_from_cache();
        }
    }
}

impl Work for Pipeline {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        let frame = Arc::new(Frame {
            instrumentation: beginning.instrumentation.clone(),
            name: self.base.name.clone(),
            around: beginning.nearest::<StageFrame>(),
            seen: Mutex::default(),
        });
        self.frame = Some(Arc::clone(&frame));
        let capture = beginning.instrumentation.capture();
        if !self.query.as_str().is_empty() && capture.to_spans() {
            self.captured_query = beginning.instrumentation.guarded(|| capture.release(self.query.as_str()));
        }
        let mut attributes = vec![KeyValue::new(name::PIPELINE, self.base.name.clone())];
        attributes.extend(self.base.custom.on_span());
        let span = format!("pipeline {}", self.base.name);
        Opening::span(span, SpanKind::Internal, attributes).observed_by(frame).journaled()
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Pipeline, self.base.name.clone(), Text::default())
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        let Some(frame) = &self.frame else { return };
        let seen = std::mem::replace(&mut *frame.seen(), Seen { over: true, ..Seen::default() });
        self.sums = seen.sums(ended);
        self.record(ended);
    }

    fn attributes(&self, _: &Ended<'_>) -> Vec<KeyValue> {
        let sums = &self.sums;
        let seconds = [
            (name::RETRIEVAL_DURATION, sums.retrieval),
            (name::RETRIEVAL_PATH, sums.path),
            (name::FIRST_OUTPUT, sums.first_output),
        ];
        let mut all: Vec<_> =
            seconds.into_iter().filter_map(|(key, time)| Some(KeyValue::new(key, time?.as_secs_f64()))).collect();
        all.extend(sums.share.map(|share| KeyValue::new(name::RETRIEVAL_SHARE, share)));
        all.extend(sums.from_cache.then(|| KeyValue::new(name::FROM_CACHE, true)));
        all.extend(self.captured_query.clone().map(|query| KeyValue::new(name::QUERY_TEXT, query)));
        all
    }

    fn remark(&self) -> Option<String> {
        self.sums.retrieval.map(|retrieval| format!("retrieval {:.3} s", retrieval.as_secs_f64()))
    }

    fn deadline(&self) -> Option<Duration> {
        self.base.custom.deadline()
    }
}

impl Pipeline {
    fn record(&self, ended: &mut Ended<'_>) {
        let (telemetry, sums) = (Telemetry::of(ended.instrumentation), &self.sums);
        let key = Key {
            pipeline: self.base.name.clone(),
            from_cache: sums.from_cache,
            labels: self.base.custom.labels().clone(),
            ..Key::default()
        };
        let with_outcome = key.ended(ended.outcome);
        telemetry.seconds(Metric::PipelineDuration, ended.duration, &with_outcome);
        let error_type = key::error_type(ended);
        telemetry.count(Metric::Pipelines, 1, &Key { error_type, ..with_outcome.clone() });
        let times = [
            (Metric::RetrievalDuration, Figure::Retrieval, sums.retrieval, &with_outcome),
            (Metric::RetrievalPath, Figure::RetrievalPath, sums.path, &key),
            (Metric::FirstOutput, Figure::TimeToFirstOutput, sums.first_output, &key),
        ];
        for (metric, figure, time, key) in times {
            if let Some(time) = time {
                telemetry.seconds(metric, time, key);
                ended.figure(figure, time.as_secs_f64());
            }
        }
        if let Some(share) = sums.share {
            telemetry.value(Metric::RetrievalShare, share, &key);
            ended.figure(Figure::RetrievalShare, share);
        }
        if ended.is_judged() {
            telemetry.attributes(Metric::RetrievalPath, &key, |set| {
                if sums.retrieval.is_some() {
                    ended.judge(Objective::Retrieval, sums.retrieval, set);
                    ended.judge(Objective::RetrievalPath, sums.path, set);
                }
                ended.judge(Objective::Pipeline, Some(ended.duration), set);
            });
        }
    }
}

/// A pipeline, as what happens inside it sees it.
#[derive(Debug)]
pub(crate) struct Frame {
    instrumentation: Instrumentation,
    name: Text,
    /// The stage that the pipeline itself is a part of.
    around: Option<Arc<StageFrame>>,
    seen: Mutex<Seen>,
}

/// What was seen of the stages. Times are on the axis of the statistics.
#[derive(Debug, Default)]
struct Seen {
    retrieval: Intervals,
    /// The starts of generations.
    generations: Vec<Duration>,
    assembled: Option<Duration>,
    first_output: Option<Duration>,
    from_cache: bool,
    /// The pipeline has ended: what comes now is late.
    over: bool,
}

/// Most starts of generations that are kept: the first counts.
const MOST_GENERATIONS: usize = 64;

impl Observer for Frame {}

impl Frame {
    pub(crate) fn name(&self) -> &Text {
        &self.name
    }

    pub(crate) fn around(&self) -> Option<&Arc<StageFrame>> {
        self.around.as_ref()
    }

    /// A search or a rerank took this long.
    pub(crate) fn retrieved(&self, began: Duration, ended: Duration) {
        let mut seen = self.seen();
        if !seen.over {
            seen.retrieval.add(began, ended);
        }
    }

    pub(crate) fn generation_began(&self, at: Duration) {
        let generations = &mut self.seen().generations;
        if generations.len() < MOST_GENERATIONS {
            generations.push(at);
        }
    }

    /// The generation that began then asked no model.
    pub(crate) fn generated_nothing(&self, began: Duration) {
        let generations = &mut self.seen().generations;
        if let Some(place) = generations.iter().position(|at| *at == began) {
            generations.swap_remove(place);
        }
    }

    /// A prompt was built by then.
    pub(crate) fn assembled(&self, at: Duration) {
        self.seen().assembled = Some(at);
    }

    pub(crate) fn first_output(&self) {
        let now = self.instrumentation.now();
        self.seen().first_output.get_or_insert(now);
    }

    pub(crate) fn answered_from_cache(&self) {
        self.seen().from_cache = true;
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn sums(&self, ended: &Ended<'_>) -> Sums {
        let since_start = |at: Duration| at.saturating_sub(ended.began);
        let retrieval = self.retrieval.covered();
        let generated = self.generations.iter().min().copied();
        let whole = ended.duration.as_secs_f64();
        let share = retrieval.filter(|_| whole > 0.0).map(|time| (time.as_secs_f64() / whole).min(1.0));
        Sums {
            retrieval,
            path: generated.or(self.assembled).map(since_start),
            share,
            first_output: self.first_output.map(since_start).into_iter().chain(ended.first_output).min(),
            from_cache: self.from_cache,
        }
    }
}
