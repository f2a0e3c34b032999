//! What comes after the searches: their lists made one, and that one put into a better order.

use std::collections::BTreeMap;

use super::corpus::DocumentId;
use super::store::Hit;
use super::vocabulary::meaning;
use super::words::{stem, words};

/// How little the first places count more than those behind them; 60 is what its authors took.
const FUSION: f64 = 60.0;
/// A word in the title says more of what a document is about than one in its body.
const TITLE: f64 = 2.0;
/// How soon the same word, said again, says nothing new.
const SATURATION: f64 = 1.2;
/// What two words of the question, this near to each other, are worth beside one alone.
const TOGETHER: f64 = 0.5;
const REACH: usize = 2;

/// One list of several by reciprocal rank fusion: scores of different searches cannot be compared, places can.
pub(crate) fn fuse(lists: &[Vec<Hit>], limit: usize) -> Vec<Hit> {
    let mut fused = BTreeMap::<DocumentId, Hit>::new();
    for list in lists {
        for (place, hit) in list.iter().enumerate() {
            let entry = fused.entry(hit.document.id).or_insert_with(|| Hit { score: 0.0, ..hit.clone() });
            entry.score += 1.0 / (FUSION + place as f64 + 1.0);
        }
    }
    best(fused.into_values(), limit)
}

/// Reads each candidate beside the question, which no index can: which of its words are there or others that mean the
/// same, how rare they are among the candidates, whether they stand in the title, and whether they stand together.
///
/// That is what a model for reranking does better: this one knows a small thesaurus, and no grammar.
pub(crate) fn rerank(question: &str, candidates: &[Hit], limit: usize) -> Vec<Hit> {
    let asked: Vec<_> = words(question).map(|word| concept(&word)).collect();
    let read: Vec<_> = candidates.iter().map(|hit| Read::of(hit, &asked)).collect();
    let rarity = |word: &String| {
        let having = read.iter().filter(|read| read.said(word) > 0.0).count() as f64;
        (1.0 + (read.len() as f64 - having + 0.5) / (having + 0.5)).ln()
    };
    let rarity: BTreeMap<_, _> = asked.iter().map(|word| (word.as_str(), rarity(word))).collect();
    let scored = candidates.iter().zip(&read).map(|(hit, read)| Hit { score: read.score(&rarity), ..hit.clone() });
    best(scored, limit)
}

/// A word as it is compared: what it means, if that is known, else its stem.
fn concept(word: &str) -> String {
    let stem = stem(word);
    meaning(stem).unwrap_or(stem).to_owned()
}

/// What the question asks for in one document, and where it stands.
struct Read {
    title: Vec<(usize, String)>,
    body: Vec<(usize, String)>,
}

impl Read {
    fn of(hit: &Hit, asked: &[String]) -> Self {
        let places = |text: &str| {
            let concepts = words(text).map(|word| concept(&word)).enumerate();
            concepts.filter(|(_, found)| asked.contains(found)).collect()
        };
        Self { title: places(&hit.document.title), body: places(&hit.document.body) }
    }

    /// How much is said of it.
    fn said(&self, concept: &str) -> f64 {
        let times = |places: &[(usize, String)]| places.iter().filter(|(_, found)| found == concept).count() as f64;
        TITLE * times(&self.title) + times(&self.body)
    }

    fn score(&self, rarity: &BTreeMap<&str, f64>) -> f64 {
        let alone = rarity.iter().map(|(concept, rarity)| {
            let said = self.said(concept);
            rarity * said / (said + SATURATION)
        });
        let together = self.body.windows(2).filter_map(|pair| {
            let [(one_place, one), (other_place, other)] = pair else { return None };
            let worth = rarity.get(one.as_str())? + rarity.get(other.as_str())?;
            (one != other && other_place - one_place < REACH).then_some(TOGETHER * worth)
        });
        alone.chain(together).sum()
    }
}

/// The best first; the same score in the order of ids, so that the order is always the same.
fn best(hits: impl Iterator<Item = Hit>, limit: usize) -> Vec<Hit> {
    let mut hits: Vec<_> = hits.collect();
    hits.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.document.id.cmp(&other.document.id)));
    hits.truncate(limit);
    hits
}
