//! The rerank stage: what was found is put into a better order.

use std::future::Future;

use llmperf_core::{
    Classify, Verdict, Work,
    opentelemetry::{Context, KeyValue, trace::SpanKind},
    part::{Beginning, Ended, Opening, Title},
    semconv::rag as name,
};

use crate::{
    Retrieved, Stage,
    base::{Base, setters},
    found::{Found, List, found_verbs},
    metrics::Metric,
};

/// A rerank, as a stage: an INTERNAL span `rerank {model}` (the conventions have none), with number and scores of the
/// documents before and after it, and how many of them it moved.
///
/// ```
/// # async fn cross_encode(_: &[(&'static str, f32)]) -> std::io::Result<Vec<(&'static str, f32)>> { Ok(vec![("d7", 2.1)]) }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// use llmperf_rag::rerank;
///
/// let candidates = [("d1", 0.9), ("d7", 0.8)];
/// let best = rerank().model("bge-reranker").candidates(&candidates).reorder(cross_encode(&candidates)).await?;
/// # assert_eq!(best.len(), 1); Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a stage that is not armed (`start`, `in_scope`, `run`, …) records nothing"]
pub struct Rerank {
    pub(crate) base: Base,
    before: Option<List>,
    pub(crate) found: Found,
}

/// A rerank that was not begun yet.
pub fn rerank() -> Rerank {
    Rerank { base: Base::new(Stage::Rerank), before: None, found: Found::default() }
}

impl Rerank {
    setters!(name, provider, model, top_k, k, relevant, from_cache);

    /// The documents that are put into order, as they stood before, with their scores.
    pub fn candidates(mut self, candidates: &(impl Retrieved + ?Sized)) -> Self {
        self.before = Some(List::of(candidates));
        self
    }

    /// How many documents are put into order, where nothing else is known of them.
    pub fn candidate_count(mut self, count: u64) -> Self {
        self.before = Some(List::counted(count));
        self
    }

    /// Awaits the rerank as this stage: `Ok` tells the new order, `Err` is an error, a drop cancelled.
    pub fn reorder<F, T, E, By>(self, rerank: F) -> impl Future<Output = Result<T, E>>
    where
        F: Future<Output = Result<T, E>>,
        T: Retrieved,
        E: Classify<By>,
    {
        self.run_then(rerank, |mut guard, result: Result<T, E>| {
            if let Ok(documents) = &result {
                guard.documents(documents);
            }
            guard.end(Verdict::of(&result));
            result
        })
    }

    found_verbs!();

    fn moved(&self) -> Option<f64> {
        self.found.list()?.moved(self.before.as_ref()?)
    }
}

impl Work for Rerank {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        let frame = self.base.begin(beginning);
        Opening::span(self.base.span_name("rerank"), SpanKind::Internal, self.base.at_start(None)).observed_by(frame)
    }

    fn opened(&mut self, context: &Context) -> Option<Context> {
        if let Some(frame) = &self.base.frame {
            frame.set_span(context);
        }
        None
    }

    fn title(&self) -> Title {
        self.base.title()
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        let Some((telemetry, frame)) = self.base.ended(ended) else { return };
        if let Some(before) = &self.before {
            telemetry.count(Metric::Candidates, before.count, &frame.key);
        }
        if let Some(moved) = self.moved() {
            telemetry.value(Metric::Moved, moved, &frame.key);
        }
        self.found.ended(ended, &telemetry, frame);
        if let Some(pipeline) = &frame.pipeline {
            pipeline.retrieved(ended.began, ended.began + ended.duration);
        }
        crate::query::told(self.found.quality(), ended, frame.k);
    }

    fn attributes(&self, _: &Ended<'_>) -> Vec<KeyValue> {
        let before = self.before.iter().flat_map(|list| {
            list.attributes(name::CANDIDATES, name::CANDIDATES_TOP_SCORE, name::CANDIDATES_LOWEST_SCORE)
        });
        let moved = self.moved().map(|moved| KeyValue::new(name::MOVED, moved));
        let cached = self.base.frame.iter().flat_map(|frame| frame.cache_attributes());
        before.chain(moved).chain(cached).chain(self.found.attributes()).collect()
    }

    fn remark(&self) -> Option<String> {
        let before = self.before.as_ref()?.count;
        self.found.list().map(|list| format!("{} of {before} documents", list.count))
    }

    fn deadline(&self) -> Option<std::time::Duration> {
        self.base.deadline()
    }
}
