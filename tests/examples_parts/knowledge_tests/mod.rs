//! The knowledge base of the RAG service: its corpus, its store, its order, its memory.

mod answers_tests;
mod corpus_tests;
mod rank_tests;
mod store_tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::knowledge::{Corpus, Document, Embedder as _, HashedFeatures, Hit, Store};

/// A store in a folder of its own, which is gone when this is dropped.
pub(crate) struct Shelf {
    pub(crate) store: Store,
    folder: PathBuf,
}

impl Shelf {
    pub(crate) fn new() -> Self {
        static SHELVES: AtomicU32 = AtomicU32::new(0);
        let number = SHELVES.fetch_add(1, Ordering::Relaxed);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("shelf-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self { store: Store::open(&folder.join("knowledge.sqlite")).unwrap(), folder }
    }

    /// Holds all documents of a corpus.
    fn of(corpus: Corpus) -> Self {
        let shelf = Self::new();
        shelf.store.add(corpus.documents().map(with_vector)).unwrap();
        shelf
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn with_vector(document: Document) -> (Document, Vec<f32>) {
    let vector = vector(&document.text());
    (document, vector)
}

fn vector(text: &str) -> Vec<f32> {
    HashedFeatures.embed(text).vector
}

fn document(id: u32, title: &str, body: &str) -> Document {
    Document { id, title: title.into(), body: body.into() }
}

fn ids(hits: &[Hit]) -> Vec<u32> {
    hits.iter().map(|hit| hit.document.id).collect()
}
