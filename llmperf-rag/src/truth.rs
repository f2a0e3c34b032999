//! Ground truth: which documents are relevant to a query, and how much.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    rc::Rc,
    sync::Arc,
};

use crate::{DocumentId, document::hash, quality::Relevant};

/// Which documents are relevant to a query: ids, or ids with grades (the higher the more relevant, 0 is not at all).
///
/// Implemented for collections of ids, for collections of pairs of an id and a grade, for maps from ids to grades, and
/// for an `Option` of these: `None` is a query that nobody has labelled.
pub trait GroundTruth {
    /// Shows each id with its grade, or that the query is labelled without any; false if it is not labelled.
    fn each(&self, see: &mut dyn FnMut(&dyn DocumentId, f64)) -> bool;
}

/// One entry of a collection.
pub trait Labelled {
    /// Shows the id and its grade.
    fn show(&self, see: &mut dyn FnMut(&dyn DocumentId, f64));
}

impl<I: DocumentId> Labelled for I {
    fn show(&self, see: &mut dyn FnMut(&dyn DocumentId, f64)) {
        see(self, 1.0);
    }
}

macro_rules! graded {
    ($($grade:ty),*) => {
        $(impl<I: DocumentId> Labelled for (I, $grade) {
            #[allow(clippy::cast_lossless, reason = "the grades are of several types")]
            fn show(&self, see: &mut dyn FnMut(&dyn DocumentId, f64)) {
                see(&self.0, self.1 as f64);
            }
        })*
    };
}
graded!(f32, f64, u8, u16, u32, u64, usize, i32, i64);

macro_rules! collections {
    ($([$($of:tt)*] $collection:ty),* $(,)?) => {
        $(impl<L: Labelled, $($of)*> GroundTruth for $collection {
            fn each(&self, see: &mut dyn FnMut(&dyn DocumentId, f64)) -> bool {
                self.iter().for_each(|entry| entry.show(see));
                true
            }
        })*
    };
}
collections!([] [L], [const N: usize] [L; N], [] Vec<L>, [] VecDeque<L>, [] BTreeSet<L>, [S] HashSet<L, S>);

macro_rules! maps {
    ($([$($of:tt)*] $map:ty),* $(,)?) => {
        $(impl<I: DocumentId, G: Copy + Into<f64>, $($of)*> GroundTruth for $map {
            fn each(&self, see: &mut dyn FnMut(&dyn DocumentId, f64)) -> bool {
                self.iter().for_each(|(id, grade)| see(id, (*grade).into()));
                true
            }
        })*
    };
}
maps!([] BTreeMap<I, G>, [S] HashMap<I, G, S>);

impl<T: GroundTruth> GroundTruth for Option<T> {
    fn each(&self, see: &mut dyn FnMut(&dyn DocumentId, f64)) -> bool {
        self.as_ref().is_some_and(|truth| truth.each(see))
    }
}

macro_rules! held {
    ($($holder:ty),*) => {
        $(impl<T: GroundTruth + ?Sized> GroundTruth for $holder {
            fn each(&self, see: &mut dyn FnMut(&dyn DocumentId, f64)) -> bool {
                (**self).each(see)
            }
        })*
    };
}
held!(&T, Box<T>, Rc<T>, Arc<T>);

/// The truth with what stands for its ids; none for a query that is not labelled.
pub(crate) fn known(truth: &(impl GroundTruth + ?Sized)) -> Option<Relevant<u64>> {
    let mut relevant = Vec::new();
    let labelled = truth.each(&mut |id, grade| relevant.push((hash(&id.id()), grade)));
    labelled.then(|| relevant.into_iter().collect())
}
