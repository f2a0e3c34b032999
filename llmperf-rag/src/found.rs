//! What a search or a rerank found, as its end tells it: number, scores, ranking, quality.

use std::collections::HashMap;

use llmperf_core::{Instrumentation, opentelemetry::KeyValue, part::Ended, semconv::rag as name, stats::Figure};

use crate::{
    Document, GroundTruth, Retrieved,
    document::hash,
    key::Key,
    metrics::Metric,
    quality::{Quality, Relevant},
    stage::Frame,
    telemetry::Telemetry,
    truth,
};

/// Most documents whose place is kept; what is asked of a ranking is asked of its head.
const MOST: usize = 1_000;

/// What was told of the documents.
#[derive(Debug, Default)]
pub(crate) struct Found {
    truth: Option<Relevant<u64>>,
    list: Option<List>,
    quality: Quality,
    /// `gen_ai.retrieval.documents`, where content is captured.
    captured: Option<String>,
}

/// Documents in order of rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub(crate) count: u64,
    /// Best and lowest score.
    pub(crate) scores: Option<(f64, f64)>,
    /// What stands for each id; empty where one has none, or nobody asked.
    pub(crate) ranking: Vec<u64>,
    identified: bool,
}

impl List {
    pub(crate) fn of(documents: &(impl Retrieved + ?Sized)) -> Self {
        let mut list = Self { identified: true, ..Self::default() };
        documents.each(&mut |document| list.add(document));
        list.count = documents.count() as u64;
        list
    }

    pub(crate) fn counted(count: u64) -> Self {
        Self { count, ..Self::default() }
    }

    /// One more, the next in rank.
    pub(crate) fn add(&mut self, document: &dyn Document) {
        self.count += 1;
        if let Some(score) = document.score().filter(|score| !score.is_nan()) {
            let (best, lowest) = self.scores.unwrap_or((score, score));
            self.scores = Some((best.max(score), lowest.min(score)));
        }
        match document.id() {
            Some(id) if self.identified && self.ranking.len() < MOST => self.ranking.push(hash(&id)),
            Some(_) => {}
            None => self.identified = false,
        }
    }

    /// What stands for each document, if all have ids.
    pub(crate) fn ranking(&self) -> Option<&[u64]> {
        self.identified.then_some(&self.ranking)
    }

    /// The span's attributes, under these names.
    pub(crate) fn attributes(&self, count: &'static str, best: &'static str, lowest: &'static str) -> Vec<KeyValue> {
        let number = i64::try_from(self.count).unwrap_or(i64::MAX);
        let scores = self.scores.into_iter().flat_map(|(top, low)| [(best, top), (lowest, low)]);
        let mut all = vec![KeyValue::new(count, number)];
        all.extend(scores.map(|(key, score)| KeyValue::new(key, score)));
        all
    }

    /// The share of these documents that stand elsewhere than in `before`; none where either has no ranking, or nothing
    /// stands in both.
    pub(crate) fn moved(&self, before: &Self) -> Option<f64> {
        let (now, before) = (self.ranking()?, before.ranking()?);
        let places: HashMap<u64, usize> = before.iter().enumerate().rev().map(|(place, id)| (*id, place)).collect();
        let both: Vec<bool> =
            now.iter().enumerate().filter_map(|(place, id)| Some(*places.get(id)? != place)).collect();
        (!both.is_empty()).then(|| both.iter().filter(|moved| **moved).count() as f64 / both.len() as f64)
    }
}

impl Found {
    pub(crate) fn set_truth(&mut self, truth: &(impl GroundTruth + ?Sized)) {
        self.truth = truth::known(truth);
    }

    /// The whole result. The last that is told stands.
    pub(crate) fn set(&mut self, documents: &(impl Retrieved + ?Sized), frame: Option<&Frame>) {
        let list = List::of(documents);
        if let (Some(frame), Some(ranking)) = (frame, list.ranking()) {
            frame.set_ranking(ranking.to_vec());
        }
        self.captured = frame.and_then(|frame| captured(documents, &frame.instrumentation));
        self.list = Some(list);
    }

    pub(crate) fn set_count(&mut self, count: u64) {
        self.list = Some(List::counted(count));
    }

    /// One more document, of a result that streams; its ranking is known at the end.
    pub(crate) fn add(&mut self, document: &dyn Document) {
        self.list.get_or_insert_with(|| List { identified: true, ..List::default() }).add(document);
    }

    /// One more of which nothing is known.
    pub(crate) fn add_any(&mut self) {
        let list = self.list.get_or_insert_default();
        list.identified = false;
        list.count += 1;
    }

    pub(crate) fn list(&self) -> Option<&List> {
        self.list.as_ref()
    }

    pub(crate) fn quality(&self) -> Quality {
        self.quality
    }

    /// Records what was found at the end of the stage.
    pub(crate) fn ended(&mut self, ended: &mut Ended<'_>, telemetry: &Telemetry<'_>, frame: &Frame) {
        let Some(list) = &self.list else { return };
        telemetry.count(Metric::Documents, list.count, &frame.key);
        ended.figure(Figure::Documents, list.count as f64);
        let Some(ranking) = list.ranking() else { return };
        frame.set_ranking(ranking.to_vec());
        if let Some(truth) = &self.truth {
            self.quality = judge(ranking, truth, frame.k);
            record(&self.quality, telemetry, &quality_key(&frame.key, frame.k));
            for (figure, value) in figures(&self.quality) {
                ended.figure(figure, value);
            }
        }
    }

    /// What the end of the span says of it; content last.
    pub(crate) fn attributes(&self) -> Vec<KeyValue> {
        let list = self.list.iter();
        let mut all: Vec<_> =
            list.flat_map(|list| list.attributes(name::DOCUMENT_COUNT, name::TOP_SCORE, name::LOWEST_SCORE)).collect();
        all.extend(named(&self.quality).map(|(_, attribute, value)| KeyValue::new(attribute, value)));
        all.extend(self.captured.clone().map(|json| KeyValue::new(name::DOCUMENTS, json)));
        all
    }
}

/// The figures of the first k of a ranking: all of it where k is not known. What found nothing then was judged by the place
/// of the one document that it should have found at least: the query has failed, and must not be missing from the mean.
pub(crate) fn judge(ranking: &[u64], truth: &Relevant<u64>, k: Option<u64>) -> Quality {
    let k = k.map_or(ranking.len().max(1), |k| usize::try_from(k).unwrap_or(usize::MAX));
    Quality::of(ranking, truth, k)
}

/// The series of the figures of quality.
pub(crate) fn quality_key(stage: &Key, k: Option<u64>) -> Key {
    Key { k, ..stage.clone() }
}

/// Records the figures that there are.
pub(crate) fn record(quality: &Quality, telemetry: &Telemetry<'_>, key: &Key) {
    for (metric, _, value) in named(quality) {
        telemetry.value(metric, value, key);
    }
}

/// The figures that there are, for the statistics.
pub(crate) fn figures(quality: &Quality) -> impl Iterator<Item = (Figure, f64)> {
    let all = [
        (Figure::Recall, quality.recall),
        (Figure::Precision, quality.precision),
        (Figure::ReciprocalRank, quality.reciprocal_rank),
        (Figure::Ndcg, quality.ndcg),
    ];
    all.into_iter().filter_map(|(figure, value)| Some((figure, value?)))
}

/// The figures that there are, with their metric and the name of their attribute.
pub(crate) fn named(quality: &Quality) -> impl Iterator<Item = (Metric, &'static str, f64)> {
    let all = [
        (Metric::Recall, name::RECALL, quality.recall),
        (Metric::Precision, name::PRECISION, quality.precision),
        (Metric::ReciprocalRank, name::RECIPROCAL_RANK, quality.reciprocal_rank),
        (Metric::Ndcg, name::NDCG, quality.ndcg),
    ];
    all.into_iter().filter_map(|(metric, attribute, value)| Some((metric, attribute, value?)))
}

/// The documents as the convention has them, where content goes onto spans; each text bounded, and all of them together
/// by ten times as much.
fn captured(documents: &(impl Retrieved + ?Sized), instrumentation: &Instrumentation) -> Option<String> {
    let capture = instrumentation.capture();
    if !capture.to_spans() {
        return None;
    }
    let (mut all, mut room) = (Vec::new(), capture.most_bytes().saturating_mul(10));
    documents.each(&mut |document| {
        if room == 0 {
            return;
        }
        let mut entry = serde_json::Map::new();
        let id = document.id();
        entry.extend(id.map(|id| ("id".to_owned(), id.into_owned().into())));
        let score = document.score().filter(|score| score.is_finite());
        entry.extend(score.map(|score| ("score".to_owned(), score.into())));
        let text = document.text().and_then(|text| instrumentation.guarded(|| capture.release(&text)));
        let used = text.as_ref().map_or(0, String::len) + 64;
        entry.extend(text.map(|text| ("content".to_owned(), text.into())));
        room = room.saturating_sub(used);
        all.push(serde_json::Value::Object(entry));
    });
    Some(serde_json::Value::Array(all).to_string())
}

/// What the guards of searches and of reranks are told of the documents.
macro_rules! found_verbs {
    () => {
        /// The documents, the best first, with their scores. The last that is told stands.
        pub fn documents(&mut self, documents: &(impl crate::Retrieved + ?Sized)) {
            self.found.set(documents, self.base.frame.as_deref());
        }

        /// How many documents there are, where nothing else is known of them.
        pub fn document_count(&mut self, count: u64) {
            self.found.set_count(count);
        }

        /// One more document, the next in rank: for results that stream.
        pub fn document(&mut self, document: &impl crate::Document) {
            self.found.add(document);
        }

        /// The ground truth, where it is known only after the stage began.
        pub fn truth(&mut self, truth: &(impl crate::GroundTruth + ?Sized)) {
            self.found.set_truth(truth);
        }

        /// A handle by which the quality can be told later; none before it began, or where nothing is measured.
        #[must_use]
        pub fn query_handle(&self) -> Option<crate::Query> {
            self.base.frame.clone().map(crate::Query::of_stage)
        }
    };
}
pub(crate) use found_verbs;
