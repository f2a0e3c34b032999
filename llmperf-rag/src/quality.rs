//! How good a ranking is, by ground truth: pure arithmetic.
//!
//! | figure | definition |
//! |---|---|
//! | recall@k | relevant documents among the first k / all relevant ones |
//! | precision@k | relevant documents among the first k / k |
//! | reciprocal rank@k | 1 / rank of the first relevant document; 0 if none is among the first k |
//! | nDCG@k | DCG@k / DCG@k of the best order, DCG@k = Σ grade / log₂(rank + 1) over the first k |
//!
//! Recall, precision and reciprocal rank as in Manning, Raghavan, Schütze, *Introduction to Information Retrieval*
//! (2008), chapter 8; nDCG with the gains as they are, as in Järvelin, Kekäläinen, *Cumulated gain-based evaluation of IR
//! techniques* (2002) and in `trec_eval`. Who wants the gains 2^grade − 1 of Burges et al. (2005) gives these as grades. Where all
//! grades are 1 both are the same.
//!
//! - A query without any relevant document has none of the four: nothing could have been found.
//! - k = 0 judges nothing: none of the four.
//! - A ranking that is shorter than k is judged as it is: what it lacks was not found. precision@k still divides by k.
//! - A document that stands twice is relevant once, at its first rank; the second place is wasted.

use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

/// The relevant documents of a query, with their grades.
///
/// Collect it from ids (each of grade 1) or from pairs of an id and a grade. Grades that are not above 0, or not finite, are
/// those of irrelevant documents. Of an id that is given twice the last grade stands.
///
/// ```
/// use llmperf_rag::quality::{Relevant, ndcg, recall};
///
/// let binary: Relevant<&str> = ["a", "b"].into_iter().collect();
/// assert_eq!(recall(&["a", "x", "b"], &binary, 2), Some(0.5));
///
/// let graded: Relevant<&str> = [("a", 3.0), ("b", 1.0)].into_iter().collect();
/// assert!(ndcg(&["b", "a"], &graded, 2) < Some(1.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Relevant<I: Eq + Hash>(HashMap<I, f64>);

impl<I: Eq + Hash> Relevant<I> {
    /// The grade of a document; 0 of one that is not relevant.
    #[must_use]
    pub fn grade(&self, id: &I) -> f64 {
        self.0.get(id).copied().unwrap_or(0.0)
    }

    /// How many documents are relevant.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl<I: Eq + Hash> FromIterator<(I, f64)> for Relevant<I> {
    fn from_iter<T: IntoIterator<Item = (I, f64)>>(entries: T) -> Self {
        let mut grades: HashMap<I, f64> = entries.into_iter().collect();
        grades.retain(|_, grade| grade.is_finite() && *grade > 0.0);
        Self(grades)
    }
}

impl<I: Eq + Hash> FromIterator<I> for Relevant<I> {
    fn from_iter<T: IntoIterator<Item = I>>(ids: T) -> Self {
        Self(ids.into_iter().map(|id| (id, 1.0)).collect())
    }
}

/// The four figures of one query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Quality {
    /// recall@k, from 0 to 1.
    pub recall: Option<f64>,
    /// precision@k, from 0 to 1.
    pub precision: Option<f64>,
    /// Reciprocal rank within the first k, from 0 to 1.
    pub reciprocal_rank: Option<f64>,
    /// nDCG@k, from 0 to 1.
    pub ndcg: Option<f64>,
}

impl Quality {
    /// All four, by the first `k` of a ranking.
    #[must_use]
    pub fn of<I: Eq + Hash>(ranked: &[I], relevant: &Relevant<I>, k: usize) -> Self {
        Self {
            recall: recall(ranked, relevant, k),
            precision: precision(ranked, relevant, k),
            reciprocal_rank: reciprocal_rank(ranked, relevant, k),
            ndcg: ndcg(ranked, relevant, k),
        }
    }
}

/// recall@k: relevant documents among the first `k` / all relevant ones.
#[must_use]
pub fn recall<I: Eq + Hash>(ranked: &[I], relevant: &Relevant<I>, k: usize) -> Option<f64> {
    judged(relevant, k).then(|| found(ranked, relevant, k).count() as f64 / relevant.count() as f64)
}

/// precision@k: relevant documents among the first `k` / `k`.
#[must_use]
pub fn precision<I: Eq + Hash>(ranked: &[I], relevant: &Relevant<I>, k: usize) -> Option<f64> {
    judged(relevant, k).then(|| found(ranked, relevant, k).count() as f64 / k as f64)
}

/// 1 / rank of the first relevant document; 0 if none is among the first `k`.
#[must_use]
pub fn reciprocal_rank<I: Eq + Hash>(ranked: &[I], relevant: &Relevant<I>, k: usize) -> Option<f64> {
    judged(relevant, k).then(|| found(ranked, relevant, k).next().map_or(0.0, |(rank, _)| 1.0 / rank as f64))
}

/// nDCG@k: the gain of the first `k`, discounted by rank, by that of the best order.
#[must_use]
pub fn ndcg<I: Eq + Hash>(ranked: &[I], relevant: &Relevant<I>, k: usize) -> Option<f64> {
    if !judged(relevant, k) {
        return None;
    }
    let mut grades: Vec<f64> = relevant.0.values().copied().collect();
    grades.sort_by(|a, b| b.total_cmp(a));
    // By the best grade, so that sums of large ones stay finite.
    let unit = *grades.first()?;
    let best = grades.into_iter().take(k).enumerate().map(|(before, grade)| (before + 1, grade));
    // Both sums are in the order of ranks: the best order gives exactly 1, and rounding lifts no other above it.
    Some((gain(found(ranked, relevant, k), unit) / gain(best, unit)).min(1.0))
}

fn judged<I: Eq + Hash>(relevant: &Relevant<I>, k: usize) -> bool {
    k > 0 && relevant.count() > 0
}

/// The relevant documents among the first `k`, each once, with rank (from 1) and grade.
fn found<I: Eq + Hash>(ranked: &[I], relevant: &Relevant<I>, k: usize) -> impl Iterator<Item = (usize, f64)> {
    let mut seen = HashSet::new();
    ranked.iter().take(k).enumerate().filter_map(move |(before, id)| {
        let grade = relevant.grade(id);
        (grade > 0.0 && seen.insert(id)).then_some((before + 1, grade))
    })
}

fn gain(ranks: impl Iterator<Item = (usize, f64)>, unit: f64) -> f64 {
    ranks.map(|(rank, grade)| grade / unit / (rank as f64 + 1.0).log2()).sum()
}
