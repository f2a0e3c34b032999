//! The quality of a query, told when the ground truth is known: at once, or long after.

use std::sync::Arc;

use llmperf_core::{
    opentelemetry::{
        Context,
        trace::{SpanContext, TraceContextExt as _},
    },
    part::{Ended, attach, current},
    stats::SeriesKind,
};

use crate::{
    GroundTruth, found,
    quality::Quality,
    stage::{self, Frame},
    telemetry::Telemetry,
    truth,
};

/// A search or a rerank, as it is remembered for being judged: its names, its span, and what stands for the documents
/// that it found. Cheap to clone.
///
/// ```
/// use llmperf_rag::{Work as _, retrieval};
///
/// let mut stage = retrieval().store("qdrant").k(2).start();
/// stage.documents(&[("d1", 0.9), ("d7", 0.4)]);
/// let query = stage.query_handle();
/// stage.complete();
///
/// // a day later, when somebody has labelled it
/// if let Some(query) = query {
///     let quality = query.evaluate(&["d7"]);
///     assert_eq!((quality.recall, quality.reciprocal_rank), (Some(1.0), Some(0.5)));
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Query(Arc<Frame>);

/// The search or rerank that we are in, to be judged later; none outside of any.
///
/// Inside a function with an attribute there is no guard: this is how to get at it.
///
/// ```
/// use llmperf_rag::{current_query, retrieval};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let mut query = None;
/// retrieval().store("qdrant").search(async {
///     query = current_query();
///     std::io::Result::Ok([("d1", 0.9)])
/// })
/// .await?;
/// assert_eq!(query.map(|query| query.evaluate(&["d1"]).recall), Some(Some(1.0)));
/// # Ok(()) }
/// ```
#[must_use]
pub fn current_query() -> Option<Query> {
    stage::here().0.map(Query)
}

impl Query {
    pub(crate) fn of_stage(frame: Arc<Frame>) -> Self {
        Self(frame)
    }

    /// Its span: what to store beside the query, to find its trace again. None where no tracer is installed.
    #[must_use]
    pub fn span(&self) -> Option<SpanContext> {
        self.0.span().cloned()
    }

    /// Judges what was found by the ground truth, and records it as if it had been known: metrics, statistics, and an event
    /// `gen_ai.evaluation.result` for each figure, with the ids of the span. All absent where the query is not labelled, or no
    /// documents with ids were told. Each call of this records: a query is evaluated once.
    pub fn evaluate(&self, truth: &(impl GroundTruth + ?Sized)) -> Quality {
        let (Some(truth), Some(ranking)) = (truth::known(truth), self.0.ranking()) else { return Quality::default() };
        let (from, key, k) = (&self.0.instrumentation, &self.0.key, self.0.k);
        let quality = found::judge(&ranking, &truth, k);
        if !llmperf_core::is_enabled() {
            return quality;
        }
        from.guarded(|| {
            found::record(&quality, &Telemetry::of(from), &found::quality_key(key, k));
            let figures: Vec<_> = found::figures(&quality).collect();
            let stage = key.stage.map_or("", crate::Stage::as_str);
            from.record_figures(SeriesKind::Stage, stage, self.0.detail.as_str(), &figures);
            emit(&quality, self.0.span(), k);
        });
        quality
    }

    /// Tells a score of another sort that somebody gave the answer (a judge's, a user's): an event
    /// `gen_ai.evaluation.result` under this name, with the ids of the span. It is no metric.
    pub fn score(&self, name: &str, value: f64) {
        if llmperf_core::is_enabled() {
            self.0.instrumentation.guarded(|| evaluated(name, value, self.0.span()));
        }
    }
}

/// Tells the quality that was known at the end of the stage.
pub(crate) fn told(quality: Quality, ended: &Ended<'_>, k: Option<u64>) {
    if quality != Quality::default() {
        emit(&quality, Some(ended.span).filter(|span| span.is_valid()), k);
    }
}

fn emit(quality: &Quality, span: Option<&SpanContext>, k: Option<u64>) {
    let at = k.map_or_else(String::new, |k| format!("@{k}"));
    let figures = [
        ("recall", quality.recall),
        ("precision", quality.precision),
        ("reciprocal_rank", quality.reciprocal_rank),
        ("ndcg", quality.ndcg),
    ];
    for (name, value) in figures {
        if let Some(value) = value {
            evaluated(&format!("{name}{at}"), value, span);
        }
    }
}

/// The convention's event. What is evaluated is its parent: the context of that span is current meanwhile, for appenders
/// that take the ids from there; others find them as fields. A thread that ends tells nothing.
fn evaluated(name: &str, value: f64, span: Option<&SpanContext>) {
    let around = span.map_or_else(current, |span| Context::new().with_remote_span_context(span.clone()));
    let Some(_evaluated) = attach(&around) else { return };
    tracing::event!(
        name: "gen_ai.evaluation.result",
        target: "llmperf",
        tracing::Level::INFO,
        trace_id = span.map(|span| tracing::field::display(span.trace_id())),
        span_id = span.map(|span| tracing::field::display(span.span_id())),
        gen_ai.evaluation.name = name,
        gen_ai.evaluation.score.value = value,
    );
}
