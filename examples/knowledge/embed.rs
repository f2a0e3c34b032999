//! Texts as vectors.
//!
//! Hashed features stand in for a model: words and their letters in threes, each added to or taken from one of 256
//! places, and the whole scaled to length 1. What shares words, or parts of them, is near. A model would know that trains
//! run on railways, too; one inside a crate exists, but costs minutes of build. It would be an [`Embedder`] of its own,
//! and nothing else would change.

use std::fmt;

use super::words::{hash, tokens, words};

/// What turns texts into vectors of length 1.
pub(crate) trait Embedder: fmt::Debug + Send + Sync {
    /// The model's name in telemetry.
    fn model(&self) -> &'static str;

    fn embed(&self, text: &str) -> Embedding;
}

/// A vector, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Embedding {
    pub(crate) vector: Vec<f32>,
    pub(crate) tokens: u64,
}

/// Signed feature hashing: small, instant, and the same everywhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HashedFeatures;

const DIMENSIONS: usize = 256;
const WORD: f32 = 1.0;
/// So that a misspelt word is still near: it shares most of its letters in threes.
const THREE_LETTERS: f32 = 0.3;

impl Embedder for HashedFeatures {
    fn model(&self) -> &'static str {
        "hashed-features-256"
    }

    fn embed(&self, text: &str) -> Embedding {
        let mut vector = vec![0.0; DIMENSIONS];
        for word in words(text) {
            add(&mut vector, word.as_bytes(), WORD);
            let bounded = format!("<{word}>");
            for letters in bounded.as_bytes().windows(3) {
                add(&mut vector, letters, THREE_LETTERS);
            }
        }
        let length = dot(&vector, &vector).sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|value| *value /= length);
        }
        Embedding { vector, tokens: tokens(text) as u64 }
    }
}

/// The similarity of two vectors of length 1: their cosine.
pub(crate) fn similarity(one: &[f32], other: &[f32]) -> f32 {
    dot(one, other)
}

fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn add(vector: &mut [f32], feature: &[u8], weight: f32) {
    let hash = hash(feature);
    let place = (hash % DIMENSIONS as u64) as usize;
    vector[place] += if hash >> 63 == 0 { weight } else { -weight };
}
