//! Fusion and reranking put first what should be first.

use super::{Shelf, document, ids, vector};
use crate::knowledge::{Corpus, Hit, assemble, fuse, rerank};

fn hit(id: u32, title: &str, body: &str) -> Hit {
    Hit { document: document(id, title, body), score: 0.0 }
}

fn list(ids: &[u32]) -> Vec<Hit> {
    ids.iter().map(|&id| hit(id, "", "")).collect()
}

#[test]
fn what_both_searches_found_comes_before_what_one_found_in_the_same_places() {
    let fused = fuse(&[list(&[1, 2, 3]), list(&[4, 2, 5])], 10);
    assert_eq!(ids(&fused), [2, 1, 4, 3, 5]);
    let expected = [2.0 / 62.0, 1.0 / 61.0, 1.0 / 61.0, 1.0 / 63.0, 1.0 / 63.0];
    for (hit, expected) in fused.iter().zip(expected) {
        assert!((hit.score - expected).abs() < 1e-12, "{}: {}", hit.document.id, hit.score);
    }
    assert_eq!(ids(&fuse(&[list(&[1, 2, 3]), list(&[4, 2, 5])], 2)), [2, 1]);
}

#[test]
fn words_that_stand_together_count_more_than_the_same_words_here_and_there() {
    let scattered = hit(1, "notes", "ferry of the old town and then some luggage");
    let together = hit(2, "notes", "of the old town and then some ferry luggage");
    assert_eq!(ids(&rerank("ferry luggage", &[scattered, together], 2)), [2, 1]);
}

#[test]
fn words_of_the_title_count_more_than_those_of_the_body() {
    let body = hit(1, "notes", "about the ferry");
    let title = hit(2, "ferry", "about the notes");
    assert_eq!(ids(&rerank("ferry", &[body, title], 2)), [2, 1]);
}

#[test]
fn other_words_for_the_same_thing_count_and_what_shares_nothing_comes_last() {
    let candidates = [hit(1, "", "cheese and bread"), hit(2, "", "the railway")];
    let ranked = rerank("trains", &candidates, 2);
    assert_eq!(ids(&ranked), [2, 1]);
    assert_eq!(ranked[1].score, 0.0);
}

/// Seeded, so always the same; how much better it is is the example's to show.
#[tokio::test]
async fn reranking_finds_more_in_the_first_five_than_the_searches_do() {
    for seed in [1, 2] {
        let corpus = Corpus::new(seed, 3_000);
        let shelf = Shelf::of(corpus);
        let [mut candidates, mut before, mut after] = [0.0; 3];
        for number in 0..15 {
            let question = corpus.question(number);
            let found = [
                shelf.store.by_vector(&vector(&question.text), 40).await.unwrap(),
                shelf.store.by_words(&question.text, 40).await.unwrap(),
            ];
            let fused = fuse(&found, 40);
            let ranked = rerank(&question.text, &fused, 5);
            let recall = |hits: &[Hit]| {
                let found = hits.iter().filter(|hit| question.relevant.contains(&hit.document.id)).count();
                found as f64 / question.relevant.len() as f64 / 15.0
            };
            candidates += recall(&fused);
            before += recall(&fused[..5]);
            after += recall(&ranked);
        }
        assert!(candidates > 0.8, "seed {seed}: the searches find most, {candidates}");
        assert!(before < 0.6, "seed {seed}: but not in the first five, {before}");
        assert!(after > before + 0.1, "seed {seed}: where reranking puts them, {after} after {before}");
    }
}

#[test]
fn a_prompt_holds_the_best_whole_documents_that_fit_and_the_question() {
    let hits = [hit(1, "one", "a b c"), hit(2, "two", "d e f g h i j k l m"), hit(3, "three", "n")];
    let prompt = assemble("Why?", &hits, 9);
    assert_eq!((prompt.documents, prompt.tokens), (2, 8), "the second does not fit: {}", prompt.text);
    assert!(prompt.text.contains("[1] one\na b c") && prompt.text.contains("[3] three\nn"));
    assert!(prompt.text.ends_with("Why?"));
    assert_eq!(assemble("Why?", &hits, 0).documents, 0);
}
