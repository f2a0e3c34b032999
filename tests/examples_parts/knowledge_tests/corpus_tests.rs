//! The corpus is the same for the same seed, and its questions are labelled.

use std::collections::BTreeSet;

use crate::knowledge::{CASES, Corpus};

const SIZE: usize = 3_000;

#[test]
fn the_same_seed_gives_the_same_texts_and_another_seed_gives_others() {
    let texts = |seed| Corpus::new(seed, 50).documents().collect::<Vec<_>>();
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
    let questions = |seed| (0..50).map(|number| Corpus::new(seed, SIZE).question(number)).collect::<Vec<_>>();
    assert_eq!(questions(1), questions(1));
    assert_ne!(questions(1), questions(2));
}

#[test]
fn every_document_answers_exactly_one_of_the_questions_about_all_cases() {
    let corpus = Corpus::new(1, SIZE);
    let mut answering: Vec<_> = (0..CASES).flat_map(|number| corpus.question(number).relevant).collect();
    answering.sort_unstable();
    let all: Vec<u32> = corpus.documents().map(|document| document.id).collect();
    assert_eq!(answering, all);
}

#[test]
fn relevant_documents_name_the_place_and_share_no_other_way_to_be_told() {
    let corpus = Corpus::new(1, SIZE);
    let documents: Vec<_> = corpus.documents().collect();
    for number in 0..60 {
        let question = corpus.question(number);
        assert_eq!(question.relevant.len(), SIZE / CASES, "{question:?}");
        let asked: BTreeSet<&str> = question.text.split(' ').collect();
        assert_eq!(asked.len(), 5, "{question:?}");
        let in_titles = question.relevant.iter().map(|&id| {
            let title = &documents[id as usize].title;
            title.rsplit(' ').next().unwrap()
        });
        let places: BTreeSet<_> = in_titles.collect();
        assert_eq!(places.len(), 1, "they are about one place");
        assert!(places.is_subset(&asked), "which the question names: {question:?}");
    }
}

#[test]
fn a_corpus_smaller_than_its_cases_asks_only_what_it_can_answer() {
    let corpus = Corpus::new(1, 7);
    assert!((0..20).all(|number| !corpus.question(number).relevant.is_empty()));
}

#[test]
fn the_same_question_in_another_order_has_the_same_words_and_labels() {
    let question = Corpus::new(1, SIZE).question(3);
    let other = question.reordered();
    assert_ne!(question.text, other.text);
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!((words(&question.text), &question.relevant), (words(&other.text), &other.relevant));
}
