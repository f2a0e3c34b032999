//! The retrieval stage: a search of a store.

use std::future::Future;

use llmperf_core::{
    Classify, Objective, Verdict, Work,
    opentelemetry::{Context, KeyValue, trace::SpanKind},
    part::{Beginning, Ended, Opening, Text, Title},
    semconv::rag,
};

use crate::{
    Retrieved, Stage,
    base::{Base, setters},
    found::{Found, found_verbs},
    key::{self, ConventionKey, Key},
    metrics::Metric,
};

/// A search of a store, as a stage: a CLIENT span `retrieval {store}` by the conventions, with the number of documents,
/// their scores and, where the ground truth is known, their quality.
///
/// Inside a pipeline it counts to the pipeline's retrieval latency; outside any it is one itself.
///
/// ```
/// # async fn search(_: &str) -> std::io::Result<Vec<(&'static str, f32)>> { Ok(vec![("d1", 0.9), ("d7", 0.4)]) }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// use llmperf_rag::retrieval;
///
/// let documents = retrieval().store("qdrant").top_k(8).relevant(&["d1"]).search(search("fog")).await?;
/// # assert_eq!(documents.len(), 2); Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a stage that is not armed (`start`, `in_scope`, `run`, …) records nothing"]
pub struct Retrieval {
    pub(crate) base: Base,
    query: Text,
    captured_query: Option<String>,
    pub(crate) found: Found,
}

/// A retrieval that was not begun yet.
pub fn retrieval() -> Retrieval {
    let found = Found::default();
    Retrieval { base: Base::new(Stage::Retrieve), query: Text::default(), captured_query: None, found }
}

impl Retrieval {
    setters!(name, store, provider, model, top_k, k, query, relevant, from_cache);

    /// Awaits the search as this stage: `Ok` tells what was found, `Err` is an error, a drop cancelled.
    pub fn search<F, T, E, By>(self, search: F) -> impl Future<Output = Result<T, E>>
    where
        F: Future<Output = Result<T, E>>,
        T: Retrieved,
        E: Classify<By>,
    {
        self.run_then(search, |mut guard, result: Result<T, E>| {
            if let Ok(documents) = &result {
                guard.documents(documents);
            }
            guard.end(Verdict::of(&result));
            result
        })
    }

    found_verbs!();
}

impl Work for Retrieval {
    fn begin(&mut self, beginning: &Beginning<'_>) -> Opening {
        let frame = self.base.begin(beginning);
        let attributes = self.base.at_start(Some("retrieval"));
        let capture = beginning.instrumentation.capture();
        if !self.query.as_str().is_empty() && capture.to_spans() {
            self.captured_query = beginning.instrumentation.guarded(|| capture.release(self.query.as_str()));
        }
        let store = self.base.store.as_str();
        let span = if store.is_empty() { "retrieval".into() } else { format!("retrieval {store}") };
        Opening::span(span, SpanKind::Client, attributes).observed_by(frame)
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
        let from_cache = frame.was_from_cache();
        if !from_cache {
            // The convention knows no caches: what one gave stays out of the store's latency.
            let error_type = key::error_type(ended);
            let (provider, model) = (frame.key.provider.clone(), frame.key.model.clone());
            telemetry.retrieval(ended.duration, &ConventionKey { provider, model, error_type });
        }
        self.found.ended(ended, &telemetry, frame);
        match &frame.pipeline {
            Some(pipeline) => pipeline.retrieved(ended.began, ended.began + ended.duration),
            None => {
                let (provider, model) = Default::default();
                let key = Key { stage: None, provider, model, from_cache, ..frame.key.ended(ended.outcome) };
                telemetry.seconds(Metric::RetrievalDuration, ended.duration, &key);
                if ended.is_judged() {
                    let judged_by = Key { outcome: None, ..key };
                    let judge = |set: &[KeyValue]| ended.judge(Objective::Retrieval, Some(ended.duration), set);
                    telemetry.attributes(Metric::RetrievalDuration, &judged_by, judge);
                }
            }
        }
        crate::query::told(self.found.quality(), ended, frame.k);
    }

    fn attributes(&self, _: &Ended<'_>) -> Vec<KeyValue> {
        let mut all = self.found.attributes();
        all.extend(self.base.frame.iter().flat_map(|frame| frame.cache_attributes()));
        all.extend(self.captured_query.clone().map(|query| KeyValue::new(rag::QUERY_TEXT, query)));
        all
    }

    fn remark(&self) -> Option<String> {
        self.found.list().map(|list| format!("{} documents", list.count))
    }

    fn deadline(&self) -> Option<std::time::Duration> {
        self.base.deadline()
    }
}
