//! Answers that were given before: to the same question, or to one that means the same.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::embed::similarity;
use super::words::words;

/// From which similarity on two questions are one. Another place or another aspect is one word of five: far below.
const SAME: f32 = 0.95;

/// Keeps answers as long as it lives; a real one would forget.
#[derive(Debug, Default)]
pub(crate) struct Answers(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_text: HashMap<String, usize>,
    vectors: Vec<Vec<f32>>,
    answers: Vec<String>,
}

impl Answers {
    /// The answer to these very words; capitals, spaces and punctuation are no matter.
    pub(crate) fn exact(&self, question: &str) -> Option<String> {
        let kept = self.lock();
        let place = kept.by_text.get(&same_words(question))?;
        kept.answers.get(*place).cloned()
    }

    /// The answer to the nearest question, if it is near enough.
    pub(crate) fn semantic(&self, vector: &[f32]) -> Option<String> {
        let kept = self.lock();
        let near = kept.vectors.iter().map(|kept| similarity(kept, vector)).enumerate();
        let (place, near) = near.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        kept.answers.get(place).filter(|_| near >= SAME).cloned()
    }

    /// Keeps an answer; the first to a question stands.
    pub(crate) fn keep(&self, question: &str, vector: Vec<f32>, answer: String) {
        let mut kept = self.lock();
        let Kept { by_text, vectors, answers } = &mut *kept;
        by_text.entry(same_words(question)).or_insert_with(|| {
            vectors.push(vector);
            answers.push(answer);
            answers.len() - 1
        });
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn same_words(question: &str) -> String {
    words(question).collect::<Vec<_>>().join(" ")
}
