//! What is in the store is found: by its words, by its vector, by its id, and after the file was opened anew.

use super::{Shelf, document, ids, vector, with_vector};
use crate::knowledge::{Corpus, Store};

#[tokio::test]
async fn every_document_is_nearest_to_its_own_text() {
    let corpus = Corpus::new(1, 300);
    let shelf = Shelf::of(corpus);
    for document in corpus.documents().step_by(30) {
        let hits = shelf.store.by_vector(&vector(&document.text()), 3).await.unwrap();
        assert_eq!((hits.len(), &hits[0].document), (3, &document));
        assert!((hits[0].score - 1.0).abs() < 1e-4, "{}", hits[0].score);
        assert!(hits.is_sorted_by(|one, other| one.score >= other.score));
    }
}

#[tokio::test]
async fn words_find_every_relevant_document_if_all_may_be_given() {
    let corpus = Corpus::new(1, 1_800);
    let shelf = Shelf::of(corpus);
    for number in 0..10 {
        let question = corpus.question(number);
        // Each of them names the place, as the question does.
        let found = ids(&shelf.store.by_words(&question.text, 1_800).await.unwrap());
        assert!(question.relevant.iter().all(|id| found.contains(id)), "{question:?}");
        assert!(found.len() < 1_800, "others share no word with it");
    }
}

#[tokio::test]
async fn a_misspelt_word_is_found_by_vector_alone_and_another_form_by_both() {
    let shelf = Shelf::new();
    let documents = [document(1, "harbour", "the lighthouse at night"), document(2, "station", "timetable of trains")];
    shelf.store.add(documents.map(with_vector)).unwrap();
    assert_eq!(ids(&shelf.store.by_words("lihgthouse", 9).await.unwrap()), [0_u32; 0]);
    assert_eq!(ids(&shelf.store.by_vector(&vector("lihgthouse"), 1).await.unwrap()), [1]);
    assert_eq!(ids(&shelf.store.by_words("train", 9).await.unwrap()), [2]);
    assert_eq!(ids(&shelf.store.by_vector(&vector("train"), 1).await.unwrap()), [2]);
}

#[tokio::test]
async fn what_looks_like_the_search_s_own_syntax_is_read_as_words() {
    let shelf = Shelf::new();
    shelf.store.add([with_vector(document(1, "rules", "nothing near here"))]).unwrap();
    for hostile in ["\" NEAR( * ) AND -", "title:", "( OR", "'; DROP TABLE documents; --"] {
        assert!(shelf.store.by_words(hostile, 9).await.is_ok(), "{hostile}");
    }
    assert_eq!(ids(&shelf.store.by_words("\"near\"", 9).await.unwrap()), [1]);
    assert_eq!(ids(&shelf.store.by_words("", 9).await.unwrap()), [0_u32; 0]);
}

#[tokio::test]
async fn documents_are_added_whole_or_not_at_all() {
    let shelf = Shelf::new();
    let twice = [document(1, "one", "first"), document(1, "one", "again")];
    assert!(shelf.store.add(twice.map(with_vector)).is_err());
    assert_eq!(shelf.store.by_id(1).await.unwrap(), None);
    assert_eq!(ids(&shelf.store.by_words("first", 9).await.unwrap()), [0_u32; 0]);
}

#[tokio::test]
async fn a_file_that_is_opened_again_holds_what_was_added() {
    let corpus = Corpus::new(1, 100);
    let shelf = Shelf::of(corpus);
    let again = Store::open(&shelf.folder.join("knowledge.sqlite")).unwrap();
    let question = corpus.question(0);
    let (before, after) = (shelf.store.by_words(&question.text, 9).await, again.by_words(&question.text, 9).await);
    assert_eq!(before.unwrap(), after.unwrap());
    assert_eq!(again.by_id(99).await.unwrap().unwrap().document, corpus.documents().last().unwrap());
    assert!(again.size().await.unwrap() > 100 * 256 * 4, "the vectors alone are that large");
}
