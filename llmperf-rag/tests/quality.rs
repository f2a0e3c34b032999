//! The figures of quality against values by hand, against another implementation, and against what must hold of any.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{HashMap, HashSet};

use llmperf_rag::quality::{Quality, Relevant, ndcg, precision, recall, reciprocal_rank};
use proptest::prelude::*;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng, seq::SliceRandom as _};

fn binary(ids: &[u32]) -> Relevant<u32> {
    ids.iter().copied().collect()
}

fn close(found: Option<f64>, expected: f64) {
    assert!(found.is_some_and(|found| (found - expected).abs() < 1e-12), "{found:?} is not {expected}");
}

#[test]
fn figures_by_hand_of_binary_relevance() {
    // Relevant 1, 3, 5, 8; ranked 1 7 3 9 2 5: found at ranks 1, 3, 6.
    let (ranked, relevant) = ([1, 7, 3, 9, 2, 5], binary(&[1, 3, 5, 8]));
    close(recall(&ranked, &relevant, 3), 2.0 / 4.0);
    close(recall(&ranked, &relevant, 6), 3.0 / 4.0);
    close(precision(&ranked, &relevant, 3), 2.0 / 3.0);
    close(precision(&ranked, &relevant, 5), 2.0 / 5.0);
    close(reciprocal_rank(&ranked, &relevant, 6), 1.0);
    close(reciprocal_rank(&ranked[1..], &relevant, 5), 1.0 / 2.0);
    close(reciprocal_rank(&ranked[1..], &relevant, 1), 0.0);
    // DCG@3 = 1 + 0 + 1/log2(4) = 1.5; the best: 1 + 1/log2(3) + 1/2.
    close(ndcg(&ranked, &relevant, 3), 1.5 / (1.5 + 1.0 / 3_f64.log2()));
}

#[test]
fn figures_by_hand_of_graded_relevance() {
    // The example of Järvelin and Kekäläinen's gains: 3 2 3 0 1 2, discounted by log2(rank + 1).
    let ranked = [1, 2, 3, 4, 5, 6];
    let grades: Relevant<u32> = [(1, 3.0), (2, 2.0), (3, 3.0), (4, 0.0), (5, 1.0), (6, 2.0)].into_iter().collect();
    let log = |rank: f64| (rank + 1.0).log2();
    let gained = 3.0 / log(1.0) + 2.0 / log(2.0) + 3.0 / log(3.0) + 1.0 / log(5.0) + 2.0 / log(6.0);
    let best = 3.0 / log(1.0) + 3.0 / log(2.0) + 2.0 / log(3.0) + 2.0 / log(4.0) + 1.0 / log(5.0);
    close(ndcg(&ranked, &grades, 6), gained / best);
    assert!((gained / best - 0.960_808).abs() < 1e-6, "{}", gained / best);
    close(recall(&ranked, &grades, 6), 1.0);
    close(precision(&ranked, &grades, 6), 5.0 / 6.0);
}

#[test]
fn what_cannot_be_judged_has_no_figure_and_is_not_zero() {
    let nothing = binary(&[]);
    assert_eq!(Quality::of(&[1, 2], &nothing, 2), Quality::default());
    assert_eq!(Quality::of(&[1, 2], &binary(&[1]), 0), Quality::default());
    let grades: Relevant<u32> = [(1, 0.0), (2, -1.0), (3, f64::NAN), (4, f64::INFINITY)].into_iter().collect();
    assert_eq!(Quality::of(&[1, 2, 3, 4], &grades, 4), Quality::default(), "none of these grades is relevant");
}

#[test]
fn a_ranking_without_anything_relevant_is_zero() {
    for ranked in [&[][..], &[7, 9]] {
        let quality = Quality::of(ranked, &binary(&[1]), 5);
        let all = [quality.recall, quality.precision, quality.reciprocal_rank, quality.ndcg];
        assert_eq!(all, [Some(0.0); 4]);
    }
}

#[test]
fn a_ranking_shorter_than_k_is_judged_as_it_is() {
    let relevant = binary(&[1, 2, 3]);
    close(precision(&[1, 2], &relevant, 10), 2.0 / 10.0);
    close(recall(&[1, 2], &relevant, 10), 2.0 / 3.0);
    assert!(ndcg(&[1, 2], &relevant, 10) < Some(1.0));
}

#[test]
fn a_document_that_stands_twice_is_relevant_once_and_its_second_place_is_wasted() {
    let relevant = binary(&[1, 2]);
    close(recall(&[1, 1, 1], &relevant, 3), 0.5);
    close(precision(&[1, 1, 1], &relevant, 3), 1.0 / 3.0);
    assert_eq!(ndcg(&[1, 1, 2], &relevant, 3), ndcg(&[1, 9, 2], &relevant, 3));
}

#[test]
fn grades_of_any_size_give_a_figure() {
    let huge: Relevant<u32> = [(1, f64::MAX), (2, f64::MAX / 2.0)].into_iter().collect();
    close(ndcg(&[1, 2], &huge, 2), 1.0);
    let tiny: Relevant<u32> = [(1, f64::MIN_POSITIVE)].into_iter().collect();
    close(ndcg(&[1], &tiny, 1), 1.0);
}

/// The crate `rankit` computes the same figures by its own means. It has no notion of repeated documents; its reciprocal rank
/// knows no k and averages over all relevant documents, so it is shown the ranking up to the first of them.
#[test]
fn another_implementation_agrees_on_a_thousand_random_cases() {
    let mut random = StdRng::seed_from_u64(5);
    for case in 0..1_000 {
        let universe = random.random_range(1..60_u32);
        let mut ranked: Vec<u32> = (0..universe).collect();
        ranked.shuffle(&mut random);
        ranked.truncate(random.random_range(0..=ranked.len()));
        let grades: HashMap<u32, u32> =
            (0..random.random_range(1..30)).map(|_| (random.random_range(0..80), random.random_range(1..5))).collect();
        let k = random.random_range(1..70);
        let relevant: HashSet<u32> = grades.keys().copied().collect();
        let ours = Quality::of(&ranked, &relevant.iter().copied().collect(), k);
        let head = &ranked[..k.min(ranked.len())];
        let first = head.iter().position(|id| relevant.contains(id)).map_or(head, |place| &head[..=place]);
        let theirs = [
            rankit::eval::binary::recall_at_k(&ranked, &relevant, k),
            rankit::eval::binary::precision_at_k(&ranked, &relevant, k),
            rankit::eval::binary::mrr(first, &relevant),
            rankit::eval::binary::ndcg_at_k(&ranked, &relevant, k),
        ];
        let ours = [ours.recall, ours.precision, ours.reciprocal_rank, ours.ndcg].map(Option::unwrap);
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            assert!((ours - theirs).abs() < 1e-9, "case {case}: {ours} and {theirs}, {ranked:?} {grades:?} {k}");
        }
        let graded: Relevant<u32> = grades.iter().map(|(id, grade)| (*id, f64::from(*grade))).collect();
        let named: Vec<(String, f32)> = ranked.iter().map(|id| (id.to_string(), 0.0)).collect();
        let qrels: HashMap<String, u32> = grades.iter().map(|(id, grade)| (id.to_string(), *grade)).collect();
        let (ours, theirs) =
            (ndcg(&ranked, &graded, k).unwrap(), rankit::eval::graded::compute_ndcg(&named, &qrels, k));
        assert!((ours - theirs).abs() < 1e-9, "case {case}: {ours} and {theirs}");
    }
}

fn case() -> impl Strategy<Value = (Vec<u32>, Vec<(u32, f64)>, usize)> {
    let ranked = prop::collection::vec(0..40_u32, 0..50);
    let grades = prop::collection::vec((0..40_u32, 0.0..4.0_f64), 0..20);
    (ranked, grades, 0..60_usize)
}

proptest! {
    #[test]
    fn figures_lie_between_zero_and_one_and_are_all_there_or_none((ranked, grades, k) in case()) {
        let quality = Quality::of(&ranked, &grades.into_iter().collect(), k);
        let all = [quality.recall, quality.precision, quality.reciprocal_rank, quality.ndcg];
        prop_assert!(all.iter().flatten().all(|figure| (0.0..=1.0).contains(figure)), "{all:?}");
        prop_assert!(all.iter().all(Option::is_some) || all.iter().all(Option::is_none));
    }

    #[test]
    fn a_larger_k_never_finds_less((ranked, grades, k) in case()) {
        let relevant: Relevant<u32> = grades.into_iter().collect();
        prop_assert!(k == 0 || recall(&ranked, &relevant, k) <= recall(&ranked, &relevant, k + 1));
        prop_assert!(k == 0 || reciprocal_rank(&ranked, &relevant, k) <= reciprocal_rank(&ranked, &relevant, k + 1));
    }

    #[test]
    fn the_best_order_is_one_and_no_other_is_better((ranked, grades, k) in case()) {
        let relevant: Relevant<u32> = grades.into_iter().collect();
        let mut best: Vec<u32> = (0..40).collect();
        best.sort_by(|a, b| relevant.grade(b).total_cmp(&relevant.grade(a)));
        if let Some(perfect) = ndcg(&best, &relevant, k) {
            prop_assert!((perfect - 1.0).abs() < 1e-12);
            prop_assert!(ndcg(&ranked, &relevant, k).unwrap() <= perfect + 1e-12);
        }
    }

    #[test]
    fn what_stands_behind_k_changes_nothing((ranked, grades, k) in case(), more in prop::collection::vec(0..40_u32, 0..10)) {
        let relevant: Relevant<u32> = grades.into_iter().collect();
        let head: Vec<u32> = ranked.iter().copied().take(k).collect();
        let longer: Vec<u32> = if ranked.len() >= k { head.iter().copied().chain(more).collect() } else { ranked.clone() };
        prop_assert_eq!(Quality::of(&head, &relevant, k), Quality::of(&longer, &relevant, k));
    }
}
