//! What the model is asked: the question, and as much of what was found as fits.

use super::store::Hit;
use super::words::tokens;

/// The prompt of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    /// How many of the documents are in it.
    pub(crate) documents: usize,
    /// Tokens of those.
    pub(crate) tokens: usize,
}

/// The best documents that fit into `budget` tokens, whole: half a document says half of what it should.
pub(crate) fn assemble(question: &str, hits: &[Hit], budget: usize) -> Prompt {
    let mut prompt = Prompt { text: String::new(), documents: 0, tokens: 0 };
    for hit in hits {
        let entry = format!("[{}] {}\n{}\n\n", hit.document.id, hit.document.title, hit.document.body);
        let cost = tokens(&entry);
        if prompt.tokens + cost <= budget {
            prompt.text.push_str(&entry);
            prompt.documents += 1;
            prompt.tokens += cost;
        }
    }
    prompt.text.push_str("Answer by these documents alone: ");
    prompt.text.push_str(question);
    prompt
}
