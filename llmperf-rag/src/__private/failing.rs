//! How errors of any type classify: by their kind, by what they hold, by their source, by their type's name.

use std::{any::type_name, error::Error, io};

use llmperf_core::{Failure, Verdict};

/// Errors that tell what they are by more than their type. `By` is inferred: no type is told in two of these ways.
///
/// Unlike [`Classify`](llmperf_core::Classify) it asks for no `'static`, and leaves out what is no more than an
/// [`Error`]: an error that borrows is one too.
pub trait Fails<By> {
    /// How what gave it ended.
    fn verdict(&self) -> Verdict;
}

/// Named by its kind.
#[derive(Debug)]
#[non_exhaustive]
pub struct ByKind;

/// Named by what it holds.
#[derive(Debug)]
#[non_exhaustive]
pub struct ByHeld;

/// Named by what is in the box.
#[derive(Debug)]
#[non_exhaustive]
pub struct ByDyn;

impl Fails<ByKind> for io::Error {
    fn verdict(&self) -> Verdict {
        Failure::of(self).into()
    }
}

impl<E: AsRef<dyn Error + Send + Sync + 'static>> Fails<ByHeld> for E {
    fn verdict(&self) -> Verdict {
        Failure::of_dyn(self.as_ref()).into()
    }
}

macro_rules! boxes {
    ($($boxed:ty),*) => {
        $(impl Fails<ByDyn> for $boxed {
            fn verdict(&self) -> Verdict {
                Failure::of_dyn(&**self).into()
            }
        })*
    };
}
boxes!(Box<dyn Error>, Box<dyn Error + Send>);

/// Any other error: by its source, else by its type.
pub(super) fn of_type<E: Error>(error: &E) -> Verdict {
    let source = error.source().map(Failure::of_dyn).filter(Failure::is_transport);
    source.map_or_else(|| Verdict::failed(name_of::<E>()), Verdict::from)
}

/// What cannot be named.
pub(super) fn unnamed() -> Verdict {
    Verdict::failed("")
}

/// The name of a type without its parameters, of one in a box its own, as core names errors.
fn name_of<E>() -> &'static str {
    let mut full = type_name::<E>();
    for holder in ["alloc::boxed::Box<", "alloc::sync::Arc<"] {
        full = full.strip_prefix(holder).unwrap_or(full);
    }
    let full = full.trim_start_matches('&');
    let plain = full.split(['<', '>']).next().unwrap_or(full);
    if Failure::is_name(plain) { plain } else { plain.rsplit("::").next().unwrap_or(plain) }
}
