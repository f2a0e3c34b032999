//! The index behind a search: how large it is, and how long until what was added is found.

use std::time::Duration;

use llmperf_core::{
    Instrumentation, Work, is_enabled,
    opentelemetry::{KeyValue, trace::SpanKind},
    part::{Beginning, Custom, Ended, Opening, Text, Title},
    semconv::rag as name,
    stats::{Figure, SeriesKind},
};

use crate::{key::Key, metrics::Metric, telemetry::Telemetry};

/// An index of a store.
///
/// ```
/// use llmperf_rag::{Index, Work as _};
///
/// # async fn add() -> std::io::Result<u64> { Ok(3) }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
/// let index = Index::new("qdrant");
/// index.build().run(add()).await?;    // from adding to being searchable
/// index.documents(1_200_000);
/// index.size(6_442_450_944);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Index {
    store: Text,
}

impl Index {
    /// The index of this store; its name is capped on metrics.
    pub fn new(store: impl Into<Text>) -> Self {
        Self { store: store.into() }
    }

    /// Shows how many documents it holds now.
    pub fn documents(&self, count: u64) {
        self.show(Metric::IndexDocuments, count);
    }

    /// Shows its size now, in bytes.
    pub fn size(&self, bytes: u64) {
        self.show(Metric::IndexSize, bytes);
    }

    /// Documents are added now: work that is complete when they can be found.
    pub fn build(&self) -> IndexBuild {
        IndexBuild { base: Base { store: self.store.clone(), custom: Custom::default() }, documents: None }
    }

    fn show(&self, metric: Metric, value: u64) {
        if !is_enabled() {
            return;
        }
        let from = Instrumentation::current();
        from.guarded(|| {
            let key = Key { store: self.store.clone(), ..Key::default() };
            Telemetry::of(&from).value(metric, value as f64, &key);
        });
    }
}

/// Documents on their way into an index: an INTERNAL span `index {store}`, from being added to being searchable.
#[derive(Debug)]
#[must_use = "a build that is not armed (`start`, `in_scope`, `run`, …) records nothing"]
pub struct IndexBuild {
    base: Base,
    documents: Option<u64>,
}

#[derive(Debug)]
struct Base {
    store: Text,
    custom: Custom,
}

impl IndexBuild {
    crate::base::setters!();

    /// How many documents are added.
    pub fn documents(&mut self, count: u64) {
        self.documents = Some(count);
    }
}

impl Work for IndexBuild {
    fn begin(&mut self, _: &Beginning<'_>) -> Opening {
        let mut attributes = vec![KeyValue::new(name::DATA_SOURCE, self.base.store.clone())];
        attributes.extend(self.base.custom.on_span());
        Opening::span(format!("index {}", self.base.store), SpanKind::Internal, attributes)
    }

    fn title(&self) -> Title {
        Title::new(SeriesKind::Stage, "index", self.base.store.clone())
    }

    fn ended(&mut self, ended: &mut Ended<'_>) {
        let key = Key { store: self.base.store.clone(), labels: self.base.custom.labels().clone(), ..Key::default() };
        let key = key.ended(ended.outcome);
        Telemetry::of(ended.instrumentation).seconds(Metric::IndexBuild, ended.duration, &key);
        if let Some(documents) = self.documents {
            ended.figure(Figure::Documents, documents as f64);
        }
    }

    fn attributes(&self, _: &Ended<'_>) -> Vec<KeyValue> {
        let count = |documents| i64::try_from(documents).unwrap_or(i64::MAX);
        self.documents.map(|documents| KeyValue::new(name::DOCUMENT_COUNT, count(documents))).into_iter().collect()
    }

    fn deadline(&self) -> Option<Duration> {
        self.base.custom.deadline()
    }
}
