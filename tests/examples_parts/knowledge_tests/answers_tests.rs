//! Answers are given again to the same question and to none that only looks like it.

use super::vector;
use crate::knowledge::{Answers, Corpus};

fn answers(question: &str) -> Answers {
    let answers = Answers::default();
    answers.keep(question, vector(question), "forty-two".into());
    answers
}

#[test]
fn the_same_words_are_the_same_question_however_they_are_written() {
    let answers = answers("Train refund, Aldermouth?");
    assert_eq!(answers.exact("train  refund aldermouth").as_deref(), Some("forty-two"));
    assert_eq!(answers.exact("refund train aldermouth"), None, "another order is another text");
}

#[test]
fn every_question_in_another_order_means_the_same_and_no_other_question_does() {
    let corpus = Corpus::new(1, 3_000);
    for number in 0..40 {
        let question = corpus.question(number);
        let answers = answers(&question.text);
        assert_eq!(answers.semantic(&vector(&question.reordered().text)).as_deref(), Some("forty-two"));
        for other in (0..40).filter(|&other| other != number) {
            let other = corpus.question(other);
            assert_eq!(answers.semantic(&vector(&other.text)), None, "{} is not {}", other.text, question.text);
        }
    }
}

#[test]
fn one_word_less_is_another_question() {
    let answers = answers("train refund platform claim aldermouth");
    assert_eq!(answers.semantic(&vector("train refund platform claim brackwell")), None);
    assert_eq!(answers.semantic(&vector("train refund platform aldermouth")), None);
}

#[test]
fn the_first_answer_stands() {
    let answers = answers("why");
    answers.keep("why", vector("why"), "another".into());
    assert_eq!(answers.exact("why").as_deref(), Some("forty-two"));
}
