//! What a search gives: documents with ids and scores.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    rc::Rc,
    sync::Arc,
};

/// What tells documents apart: text and integers. Others give their text in [`Document::id`].
pub trait DocumentId {
    /// The id, as text.
    fn id(&self) -> Cow<'_, str>;
}

/// One document that was found.
///
/// ```
/// use std::borrow::Cow;
/// use llmperf_rag::Document;
///
/// struct Passage { path: String, similarity: f32 }
///
/// impl Document for Passage {
///     fn id(&self) -> Option<Cow<'_, str>> { Some(Cow::Borrowed(&self.path)) }
///     fn score(&self) -> Option<f64> { Some(self.similarity.into()) }
/// }
/// ```
pub trait Document {
    /// What tells it apart: the quality of a ranking cannot be known without.
    fn id(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// How well it suits the query, the higher the better. 0 is a score, NaN is none.
    fn score(&self) -> Option<f64> {
        None
    }

    /// Its words. Asked for only where content is captured.
    fn text(&self) -> Option<Cow<'_, str>> {
        None
    }
}

/// What a search or a rerank gives: documents in order of rank, the best first.
///
/// Implemented for the usual collections of [`Document`]s; pairs of an id and a score are documents, whichever way round.
pub trait Retrieved {
    /// How many documents there are.
    fn count(&self) -> usize;

    /// Shows each document in order of rank.
    fn each(&self, see: &mut dyn FnMut(&dyn Document));
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl DocumentId for $integer {
            fn id(&self) -> Cow<'_, str> {
                Cow::Owned(self.to_string())
            }
        })*
    };
}
integers!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

macro_rules! words {
    ($($words:ty),*) => {
        $(impl DocumentId for $words {
            fn id(&self) -> Cow<'_, str> {
                Cow::Borrowed(self)
            }
        })*
    };
}
words!(str, String, Box<str>, Rc<str>, Arc<str>, Cow<'_, str>);

impl<I: DocumentId + ?Sized> DocumentId for &I {
    fn id(&self) -> Cow<'_, str> {
        (**self).id()
    }
}

macro_rules! pairs {
    ($($score:ty),*) => {
        $(
            impl<I: DocumentId> Document for (I, $score) {
                fn id(&self) -> Option<Cow<'_, str>> {
                    Some(self.0.id())
                }

                fn score(&self) -> Option<f64> {
                    Some(self.1.into())
                }
            }

            impl<I: DocumentId> Document for ($score, I) {
                fn id(&self) -> Option<Cow<'_, str>> {
                    Some(self.1.id())
                }

                fn score(&self) -> Option<f64> {
                    Some(self.0.into())
                }
            }
        )*
    };
}
pairs!(f32, f64);

macro_rules! holders {
    ($($holder:ty),*) => {
        $(impl<D: Document + ?Sized> Document for $holder {
            fn id(&self) -> Option<Cow<'_, str>> {
                (**self).id()
            }

            fn score(&self) -> Option<f64> {
                (**self).score()
            }

            fn text(&self) -> Option<Cow<'_, str>> {
                (**self).text()
            }
        })*
    };
}
holders!(&D, Box<D>, Rc<D>, Arc<D>);

macro_rules! collections {
    ($([$($of:tt)*] $collection:ty),* $(,)?) => {
        $(impl<D: Document, $($of)*> Retrieved for $collection {
            fn count(&self) -> usize {
                self.len()
            }

            fn each(&self, see: &mut dyn FnMut(&dyn Document)) {
                self.iter().for_each(|document| see(document));
            }
        })*
    };
}
collections!([] [D], [const N: usize] [D; N], [] Vec<D>, [] VecDeque<D>, [] BTreeSet<D>, [S] HashSet<D, S>);

macro_rules! held {
    ($($holder:ty),*) => {
        $(impl<R: Retrieved + ?Sized> Retrieved for $holder {
            fn count(&self) -> usize {
                (**self).count()
            }

            fn each(&self, see: &mut dyn FnMut(&dyn Document)) {
                (**self).each(see);
            }
        })*
    };
}
held!(&R, Box<R>, Rc<R>, Arc<R>);

/// What stands for an id: rankings are compared, never shown.
pub(crate) fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
