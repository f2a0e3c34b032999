//! A knowledge base for a RAG service: generated documents of which everything is known, in a real embedded store.
//!
//! [`Corpus`] makes documents and questions with the documents that answer them, [`Store`] keeps them in one SQLite file
//! and finds them by words and by vector, [`fuse`] and [`rerank`] put what was found in order, [`assemble`] makes the
//! prompt, [`Answers`] remembers. Nothing here is measured, and nothing knows of llmperf: that is the service's part.

mod answers;
mod corpus;
mod embed;
mod prompt;
mod rank;
mod store;
mod vocabulary;
mod words;

pub(crate) use answers::Answers;
pub(crate) use corpus::{CASES, Corpus, Document, DocumentId, Question};
pub(crate) use embed::{Embedder, Embedding, HashedFeatures, similarity};
pub(crate) use prompt::{Prompt, assemble};
pub(crate) use rank::{fuse, rerank};
pub(crate) use store::{Hit, Store};
