//! How a value, an error or an item says that a stage went, whatever its type is.
//!
//! `(&&&&&Judged(&value)).judge_retrieval(&mut guard)` finds the most telling of several implementations: method lookup tries
//! `&self` of `&&&&Judged`, `&&&&&Judged`, `&&&Judged`, `&&Judged`, `&Judged`, `Judged`, in this order, so that there are six
//! levels, and each is left out where its bounds do not hold. What is known of documents and of errors falls by one level each:
//!
//! | documents \ error | [telling](Fails) | [`Error`](std::error::Error) | any |
//! |---|---|---|---|
//! | [`Retrieved`] | A | B | C |
//! | [counted](Counted) | B | C | D |
//! | any | C | D | E |
//!
//! Two of a level differ in the documents and in the error, so that both apply only where one above does. F is for all
//! that is neither a `Result` nor an `Option`.

use std::{
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque},
    error,
    rc::Rc,
    sync::Arc,
};

use llmperf_core::{Guard, Verdict, Work};

use super::failing::{self, Fails};
use crate::{Document, Embedding, Generation, Pipeline, Rerank, Retrieval, Retrieved};

/// A value that a stage gave.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "written by the attributes")]
pub struct Judged<'a, T: ?Sized>(pub &'a T);

/// An error that came in the place of a stream or a future.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "written by the attributes")]
pub struct JudgedError<'a, E: ?Sized>(pub &'a E);

/// An item of a stream; it is output if it is no `Err`.
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "written by the attributes")]
pub struct JudgedItem<'a, T: ?Sized>(pub &'a T);

/// Collections of whose items nothing is known but their number.
pub trait Counted {
    /// How many.
    fn counted(&self) -> u64;
}

macro_rules! counted {
    ($([$($of:tt)*] $collection:ty),* $(,)?) => {
        $(impl<$($of)*> Counted for $collection {
            fn counted(&self) -> u64 {
                self.len() as u64
            }
        })*
    };
}
counted!(
    [T] [T], [T, const N: usize] [T; N], [T] Vec<T>, [T] VecDeque<T>, [T] LinkedList<T>, [T] BinaryHeap<T>,
    [T] BTreeSet<T>, [T, S] HashSet<T, S>, [K, V] BTreeMap<K, V>, [K, V, S] HashMap<K, V, S>,
);

macro_rules! held {
    ($($holder:ty),*) => {
        $(impl<T: Counted + ?Sized> Counted for $holder {
            fn counted(&self) -> u64 {
                (**self).counted()
            }
        })*
    };
}
held!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

/// Stages, as values and items speak of them. Most find no documents.
pub trait Notes: Work {
    /// All documents.
    fn found(&mut self, documents: &dyn Retrieved) {
        let _ = documents;
    }

    /// Their number.
    fn found_count(&mut self, count: u64) {
        let _ = count;
    }

    /// One more.
    fn found_one(&mut self, document: &dyn Document) {
        let _ = document;
    }

    /// One more of which nothing is known.
    fn found_any(&mut self) {}

    /// A stream was asked for.
    fn asked_for_stream(&mut self) {}
}

impl Notes for Embedding {}
impl Notes for Pipeline {}

impl Notes for Generation {
    fn asked_for_stream(&mut self) {
        self.asked.streams = true;
    }
}

macro_rules! finds {
    ($($stage:ty),*) => {
        $(impl Notes for $stage {
            fn found(&mut self, documents: &dyn Retrieved) {
                self.documents(documents);
            }

            fn found_count(&mut self, count: u64) {
                self.document_count(count);
            }

            fn found_one(&mut self, document: &dyn Document) {
                self.found.add(document);
            }

            fn found_any(&mut self) {
                self.found.add_any();
            }
        })*
    };
}
finds!(Retrieval, Rerank);

/// Tells implementations of one level apart.
pub mod how {
    use std::{fmt, marker::PhantomData};

    /// By the documents.
    #[derive(Debug)]
    #[non_exhaustive]
    pub struct Documents;

    /// By an error that tells what it is.
    #[non_exhaustive]
    pub struct Named<By>(PhantomData<By>);

    impl<By> fmt::Debug for Named<By> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Named")
        }
    }

    /// By an error of which no more is known than its type.
    #[derive(Debug)]
    #[non_exhaustive]
    pub struct Typed;

    /// By nothing.
    #[derive(Debug)]
    #[non_exhaustive]
    pub struct Any;
}

macro_rules! levels {
    ($($level:ident),*) => {
        $(
            /// A level.
            pub trait $level<How> {
                /// How it went.
                fn judge<W: Notes>(&self, guard: &mut Guard<W>) -> Verdict;

                /// How it went.
                fn judge_retrieval(&self, guard: &mut Guard<Retrieval>) -> Verdict {
                    $level::judge(self, guard)
                }

                /// How it went.
                fn judge_rerank(&self, guard: &mut Guard<Rerank>) -> Verdict {
                    $level::judge(self, guard)
                }

                /// How it went.
                fn judge_embedding(&self, guard: &mut Guard<Embedding>) -> Verdict {
                    $level::judge(self, guard)
                }

                /// How it went.
                fn judge_generation(&self, guard: &mut Guard<Generation>) -> Verdict {
                    $level::judge(self, guard)
                }

                /// How it went.
                fn judge_pipeline(&self, guard: &mut Guard<Pipeline>) -> Verdict {
                    $level::judge(self, guard)
                }
            }
        )*
    };
}
levels!(A, B, C, D, E, F);

fn listed<W: Notes>(guard: &mut Guard<W>, documents: &impl Retrieved) -> Verdict {
    guard.found(documents);
    Verdict::Complete
}

fn counted<W: Notes>(guard: &mut Guard<W>, documents: &impl Counted) -> Verdict {
    guard.found_count(documents.counted());
    Verdict::Complete
}

fn one<W: Notes>(guard: &mut Guard<W>, document: &impl Document) -> Verdict {
    guard.found_one(document);
    output(guard)
}

fn any_one<W: Notes>(guard: &mut Guard<W>) -> Verdict {
    guard.found_any();
    output(guard)
}

fn output<W: Notes>(guard: &mut Guard<W>) -> Verdict {
    guard.output();
    Verdict::Complete
}

/// An item that failed: the stream goes on, and the stage has failed.
fn failed<W: Notes>(guard: &mut Guard<W>, verdict: Verdict) -> Verdict {
    guard.judge(verdict.clone());
    verdict
}

/// What came in the place of a stream.
fn instead<W: Notes>(guard: &mut Guard<W>, verdict: Verdict) -> Verdict {
    guard.asked_for_stream();
    verdict
}

macro_rules! judges {
    ($($level:ident<$how:ty> $carrier:ty [$($bounds:tt)*] |$guard:ident, $value:ident| $verdict:expr;)*) => {
        $(impl<$($bounds)*> $level<$how> for $carrier {
            fn judge<W: Notes>(&self, $guard: &mut Guard<W>) -> Verdict {
                let $value = self.0;
                $verdict
            }
        })*
    };
}

macro_rules! result {
    ($value:ident, $documents:ident => $ok:expr, $error:ident => $err:expr) => {
        match $value {
            Ok($documents) => $ok,
            Err($error) => $err,
        }
    };
}

judges! {
    A<how::Named<By>> &&&&Judged<'_, Result<T, Error>> [T: Retrieved, Error: Fails<By>, By]
        |guard, value| result!(value, found => listed(guard, found), error => error.verdict());
    A<how::Documents> &&&&Judged<'_, Option<T>> [T: Retrieved]
        |guard, value| value.as_ref().map_or(Verdict::Complete, |found| listed(guard, found));
    A<how::Documents> &&&&Judged<'_, T> [T: Retrieved]
        |guard, value| listed(guard, value);
    B<how::Typed> &&&&&Judged<'_, Result<T, Error>> [T: Retrieved, Error: error::Error]
        |guard, value| result!(value, found => listed(guard, found), error => failing::of_type(error));
    B<how::Named<By>> &&&&&Judged<'_, Result<T, Error>> [T: Counted, Error: Fails<By>, By]
        |guard, value| result!(value, found => counted(guard, found), error => error.verdict());
    B<how::Any> &&&&&Judged<'_, Option<T>> [T: Counted]
        |guard, value| value.as_ref().map_or(Verdict::Complete, |found| counted(guard, found));
    B<how::Any> &&&&&Judged<'_, T> [T: Counted]
        |guard, value| counted(guard, value);
    C<how::Documents> &&&Judged<'_, Result<T, Error>> [T: Retrieved, Error]
        |guard, value| result!(value, found => listed(guard, found), _error => failing::unnamed());
    C<how::Typed> &&&Judged<'_, Result<T, Error>> [T: Counted, Error: error::Error]
        |guard, value| result!(value, found => counted(guard, found), error => failing::of_type(error));
    C<how::Named<By>> &&&Judged<'_, Result<T, Error>> [T, Error: Fails<By>, By]
        |_guard, value| result!(value, _found => Verdict::Complete, error => error.verdict());
    D<how::Any> &&Judged<'_, Result<T, Error>> [T: Counted, Error]
        |guard, value| result!(value, found => counted(guard, found), _error => failing::unnamed());
    D<how::Typed> &&Judged<'_, Result<T, Error>> [T, Error: error::Error]
        |_guard, value| result!(value, _found => Verdict::Complete, error => failing::of_type(error));
    E<how::Any> &Judged<'_, Result<T, Error>> [T, Error]
        |_guard, value| result!(value, _found => Verdict::Complete, _error => failing::unnamed());
    F<how::Any> Judged<'_, T> [T: ?Sized]
        |_guard, _value| Verdict::Complete;

    A<how::Named<By>> &&&&JudgedError<'_, Error> [Error: Fails<By>, By]
        |guard, error| instead(guard, error.verdict());
    B<how::Typed> &&&&&JudgedError<'_, Error> [Error: error::Error]
        |guard, error| instead(guard, failing::of_type(error));
    F<how::Any> JudgedError<'_, Error> [Error: ?Sized]
        |guard, _error| instead(guard, failing::unnamed());

    A<how::Named<By>> &&&&JudgedItem<'_, Result<T, Error>> [T: Document, Error: Fails<By>, By]
        |guard, item| result!(item, found => one(guard, found), error => failed(guard, error.verdict()));
    A<how::Documents> &&&&JudgedItem<'_, T> [T: Document]
        |guard, item| one(guard, item);
    B<how::Typed> &&&&&JudgedItem<'_, Result<T, Error>> [T: Document, Error: error::Error]
        |guard, item| result!(item, found => one(guard, found), error => failed(guard, failing::of_type(error)));
    B<how::Named<By>> &&&&&JudgedItem<'_, Result<T, Error>> [T, Error: Fails<By>, By]
        |guard, item| result!(item, _found => any_one(guard), error => failed(guard, error.verdict()));
    C<how::Documents> &&&JudgedItem<'_, Result<T, Error>> [T: Document, Error]
        |guard, item| result!(item, found => one(guard, found), _error => failed(guard, failing::unnamed()));
    C<how::Typed> &&&JudgedItem<'_, Result<T, Error>> [T, Error: error::Error]
        |guard, item| result!(item, _found => any_one(guard), error => failed(guard, failing::of_type(error)));
    E<how::Any> &JudgedItem<'_, Result<T, Error>> [T, Error]
        |guard, item| result!(item, _found => any_one(guard), _error => failed(guard, failing::unnamed()));
    F<how::Any> JudgedItem<'_, T> [T: ?Sized]
        |guard, _item| any_one(guard);
}
