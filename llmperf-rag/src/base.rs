//! What all stages have: names, the user's own settings, the frame, the shared part of beginning and end.

use std::{borrow::Cow, sync::Arc, time::Duration};

use llmperf_core::{
    opentelemetry::KeyValue,
    part::{Beginning, Custom, Ended, Text, Title},
    semconv::{self as name, rag},
    stats::SeriesKind,
};

use crate::{Stage, key::Key, metrics::Metric, pipeline::Frame as PipelineFrame, stage::Frame, telemetry::Telemetry};

/// What every stage is made of.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) stage: Stage,
    pub(crate) name: Text,
    pub(crate) store: Text,
    pub(crate) provider: Text,
    pub(crate) model: Text,
    pub(crate) top_k: Option<u64>,
    pub(crate) k: Option<u64>,
    pub(crate) custom: Custom,
    /// Since it began.
    pub(crate) frame: Option<Arc<Frame>>,
}

impl Base {
    pub(crate) fn new(stage: Stage) -> Self {
        let [name, store, provider, model] = std::array::from_fn(|_| Text::default());
        Self { stage, name, store, provider, model, top_k: None, k: None, custom: Custom::default(), frame: None }
    }

    /// The stage begins: its frame, which finds the pipeline.
    pub(crate) fn begin(&mut self, beginning: &Beginning<'_>) -> Arc<Frame> {
        let pipeline = beginning.nearest::<PipelineFrame>();
        let key = Key {
            stage: Some(self.stage),
            store: self.store.clone(),
            provider: self.provider.clone(),
            model: self.model.clone(),
            pipeline: pipeline.as_ref().map(|pipeline| pipeline.name().clone()).unwrap_or_default(),
            labels: self.custom.labels().clone(),
            ..Key::default()
        };
        let from = beginning.instrumentation.clone();
        let frame = Frame::new(from, key, self.with().clone(), self.k.or(self.top_k), pipeline);
        let frame = Arc::new(frame);
        self.frame = Some(Arc::clone(&frame));
        frame
    }

    /// What the span says from its start, with the operation if the conventions have one.
    pub(crate) fn at_start(&self, operation: Option<&'static str>) -> Vec<KeyValue> {
        let mut all = Vec::with_capacity(4);
        all.extend(operation.map(|operation| KeyValue::new(name::OPERATION, operation)));
        all.push(KeyValue::new(rag::STAGE, self.stage.as_str()));
        let names = [
            (rag::STAGE_NAME, &self.name),
            (name::PROVIDER, &self.provider),
            (name::REQUEST_MODEL, &self.model),
            (rag::DATA_SOURCE, &self.store),
        ];
        let named = names.into_iter().filter(|(_, name)| !name.as_str().is_empty());
        all.extend(named.map(|(key, name)| KeyValue::new(key, name.clone())));
        all.extend(self.top_k.map(|top_k| KeyValue::new(rag::TOP_K, i64::try_from(top_k).unwrap_or(i64::MAX))));
        all.extend(self.custom.on_span());
        all
    }

    /// A span's name: what is done, and with what.
    pub(crate) fn span_name(&self, done: &'static str) -> Cow<'static, str> {
        match self.with().as_str() {
            "" => done.into(),
            with => format!("{done} {with}").into(),
        }
    }

    /// What it works with: store or model, else its name; else empty.
    fn with(&self) -> &Text {
        let named = [&self.store, &self.model].into_iter().find(|name| !name.as_str().is_empty());
        named.unwrap_or(&self.name)
    }

    pub(crate) fn title(&self) -> Title {
        Title::new(SeriesKind::Stage, self.stage.as_str(), self.with().clone())
    }

    /// The stage has ended: its duration.
    pub(crate) fn ended<'a>(&self, ended: &Ended<'a>) -> Option<(Telemetry<'a>, &Arc<Frame>)> {
        let frame = self.frame.as_ref()?;
        let telemetry = Telemetry::of(ended.instrumentation);
        let key = Key { from_cache: frame.was_from_cache(), ..frame.key.ended(ended.outcome) };
        telemetry.seconds(Metric::StageDuration, ended.duration, &key);
        Some((telemetry, frame))
    }

    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.custom.deadline()
    }
}

/// The setters that builders of stages share.
macro_rules! setters {
    ($($setter:ident),* $(,)?) => {
        $(crate::base::setters!(@ $setter);)*

        /// An attribute of your own on the span: at most 48; of one key the last value stands. Names that llmperf writes
        /// itself are left to it.
        pub fn attribute(
            mut self,
            key: impl Into<llmperf_core::opentelemetry::Key>,
            value: impl Into<llmperf_core::opentelemetry::Value>,
        ) -> Self {
            self.base.custom.attribute(key, value);
            self
        }

        /// A label of your own on the span and on the `llmperf.*` metrics (tenant, feature): at most two, capped on
        /// metrics.
        pub fn label(mut self, key: &'static str, value: impl Into<llmperf_core::part::Text>) -> Self {
            self.base.custom.label(key, value);
            self
        }

        /// Your own time limit, since the start: a drop after it is an error `timeout`, not a cancellation. No timer runs.
        pub fn deadline(mut self, limit: impl Into<Option<std::time::Duration>>) -> Self {
            self.base.custom.set_deadline(limit.into());
            self
        }
    };
    (@ name) => {
        /// A name of your own for it, where it has neither store nor model to go by.
        pub fn name(mut self, name: impl Into<llmperf_core::part::Text>) -> Self {
            self.base.name = name.into();
            self
        }
    };
    (@ store) => {
        /// The store that is searched (`gen_ai.data_source.id`); capped on metrics.
        pub fn store(mut self, store: impl Into<llmperf_core::part::Text>) -> Self {
            self.base.store = store.into();
            self
        }
    };
    (@ provider) => {
        /// Whose model or service it is (`gen_ai.provider.name`); capped on metrics.
        pub fn provider(mut self, provider: impl Into<llmperf_core::part::Text>) -> Self {
            self.base.provider = provider.into();
            self
        }
    };
    (@ model) => {
        /// The model (`gen_ai.request.model`); capped on metrics.
        pub fn model(mut self, model: impl Into<llmperf_core::part::Text>) -> Self {
            self.base.model = model.into();
            self
        }
    };
    (@ top_k) => {
        /// How many documents were asked for.
        pub fn top_k(mut self, top_k: impl Into<Option<u64>>) -> Self {
            self.base.top_k = top_k.into();
            self
        }
    };
    (@ k) => {
        /// How many of the first documents the quality is judged by. Default: `top_k`, else all that were found.
        pub fn k(mut self, k: impl Into<Option<u64>>) -> Self {
            self.base.k = k.into();
            self
        }
    };
    (@ query) => {
        /// The query text. It leaves the process only where content capture is on.
        pub fn query(mut self, query: impl Into<llmperf_core::part::Text>) -> Self {
            self.query = query.into();
            self
        }
    };
    (@ from_cache) => {
        /// What it gives came from a cache.
        #[allow(clippy::wrong_self_convention, reason = "it says where the answer is from")]
        pub fn from_cache(&mut self) {
            if let Some(frame) = &self.base.frame {
                frame.mark_from_cache();
            }
        }
    };
    (@ relevant) => {
        /// The ground truth: which documents are relevant to the query, so that the quality of what was found is recorded.
        pub fn relevant(mut self, truth: &(impl crate::GroundTruth + ?Sized)) -> Self {
            self.found.set_truth(truth);
            self
        }
    };
}
pub(crate) use setters;
