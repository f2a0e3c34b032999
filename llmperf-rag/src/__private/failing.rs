//! How errors of any type classify: by their kind, by what they hold, by their source, by their type's name.

use std::{any::type_name, error::Error, io};

use llmperf_core::{Failure, Verdict};

/// Errors that can be named. `By` is inferred.
///
/// Unlike [`Classify`](llmperf_core::Classify) it asks for no `'static`: an error that borrows is an error too.
pub trait Fails<By> {
    /// How what gave it ended.
    fn verdict(&self) -> Verdict;
}

/// Named by its source, else by its type.
#[derive(Debug)]
#[non_exhaustive]
pub struct BySource;

/// Named by what it holds.
#[derive(Debug)]
#[non_exhaustive]
pub struct ByHeld;

/// Named by what is in the box.
#[derive(Debug)]
#[non_exhaustive]
pub struct ByDyn;

impl<E: Error> Fails<BySource> for E {
    fn verdict(&self) -> Verdict {
        let source = self.source().map(Failure::of_dyn).filter(Failure::is_transport);
        source.map_or_else(|| Verdict::failed(name_of::<E>()), Verdict::from)
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

/// An I/O error: by its kind.
pub(super) fn of_io(error: &io::Error) -> Verdict {
    Failure::of(error).into()
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
