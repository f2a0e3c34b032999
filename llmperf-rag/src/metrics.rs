//! Every metric of this crate as one table.
//!
//! `docs/metrics.md` is held to [`TABLE`] by a test. Durations have the boundaries of all our latencies.

use llmperf_core::{
    metric_table,
    metrics::{Definition, Kind, LATENCY},
    opentelemetry::InstrumentationScope,
};

/// The conventions' boundaries for client durations, in seconds.
const GEN_AI_LATENCY: &[f64] =
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
/// Boundaries of build times of an index, in seconds: it may take hours.
const BUILD: &[f64] =
    &[0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0];
/// Boundaries of shares, from 0 to 1.
const SHARE: &[f64] = &[0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];
/// Boundaries of numbers of documents.
const DOCUMENTS: &[f64] = &[0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];

/// The scope of all metrics of this crate.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("llmperf-rag")
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_schema_url("https://opentelemetry.io/schemas/gen-ai/1.42.0")
        .build()
}

metric_table! {
    PipelineDuration: Definition::new("llmperf.rag.pipeline.duration", Kind::Histogram(LATENCY), "s", "The whole of a pipeline, to the end of its stream if it gives one");
    Pipelines: Definition::new("llmperf.rag.pipelines", Kind::Counter, "{pipeline}", "Finished pipelines by outcome and kind of failure");
    FirstOutput: Definition::new("llmperf.rag.time_to_first_output", Kind::Histogram(LATENCY), "s", "Pipeline start to the first output that the user sees");
    RetrievalDuration: Definition::new("llmperf.rag.retrieval.duration", Kind::Histogram(LATENCY), "s", "Retrieval latency: search and rerank of a pipeline, parallel ones as their union; a search outside any");
    RetrievalPath: Definition::new("llmperf.rag.retrieval_path.duration", Kind::Histogram(LATENCY), "s", "Pipeline start to its context being ready");
    RetrievalShare: Definition::new("llmperf.rag.retrieval_share", Kind::Histogram(SHARE), "{ratio}", "Retrieval latency by the duration of the pipeline");
    StageDuration: Definition::new("llmperf.rag.stage.duration", Kind::Histogram(LATENCY), "s", "One stage of a pipeline");
    Documents: Definition::new("llmperf.rag.documents", Kind::CountHistogram(DOCUMENTS), "{document}", "Documents that a search or a rerank gave");
    Candidates: Definition::new("llmperf.rag.candidates", Kind::CountHistogram(DOCUMENTS), "{document}", "Documents that a rerank was given");
    Moved: Definition::new("llmperf.rag.moved", Kind::Histogram(SHARE), "{ratio}", "Share of a rerank's documents that stand elsewhere than before: one that moves nothing costs time for nothing");
    Recall: Definition::new("llmperf.rag.recall", Kind::Histogram(SHARE), "{ratio}", "recall@k of a query: relevant documents among the first k, of all relevant ones");
    Precision: Definition::new("llmperf.rag.precision", Kind::Histogram(SHARE), "{ratio}", "precision@k of a query: relevant documents among the first k, of k");
    ReciprocalRank: Definition::new("llmperf.rag.reciprocal_rank", Kind::Histogram(SHARE), "{ratio}", "1 / rank of the first relevant document of a query; 0 if none is among the first k");
    Ndcg: Definition::new("llmperf.rag.ndcg", Kind::Histogram(SHARE), "{ratio}", "nDCG@k of a query: how close its order is to the best one");
    CacheLookups: Definition::new("llmperf.rag.cache.lookups", Kind::Counter, "{lookup}", "Lookups of the application's caches, by result");
    IndexDocuments: Definition::new("llmperf.rag.index.documents", Kind::Gauge, "{document}", "Documents in an index");
    IndexSize: Definition::new("llmperf.rag.index.size", Kind::Gauge, "By", "Size of an index");
    IndexBuild: Definition::new("llmperf.rag.index.build.duration", Kind::Histogram(BUILD), "s", "From documents being added to their being searchable");
    GenAiDuration: Definition::new("gen_ai.client.operation.duration", Kind::Histogram(GEN_AI_LATENCY), "s", "Duration of an operation that is no inference");
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_stands_once_and_boundaries_rise() {
        let names: HashSet<_> = TABLE.iter().map(|definition| definition.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for bounds in [LATENCY, GEN_AI_LATENCY, BUILD, SHARE, DOCUMENTS] {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn the_conventions_duration_is_the_one_that_calls_record() {
        let of_calls = llmperf_core::metrics::TABLE;
        let ours = &TABLE[Metric::GenAiDuration as usize];
        let theirs = of_calls.iter().find(|row| row.name == ours.name).unwrap();
        assert_eq!((ours.kind, ours.unit, ours.description), (theirs.kind, theirs.unit, theirs.description));
    }
}
