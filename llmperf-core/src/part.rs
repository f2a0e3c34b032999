//! What parts of llmperf are made of: for their authors, and for whoever measures a sort of work that no part knows.
//!
//! A part gives types that implement [`Work`]; their verbs and adapters come from here. It keeps its instruments and
//! attribute sets once per instrumentation ([`Part`]), under its own scope.

mod attributes;
mod custom;

use std::{any::Any, fmt};

use opentelemetry::KeyValue;

use crate::{Instrumentation, labels};
pub use crate::{
    current::{attach, current},
    scope::{nearest, nearest_here},
    stats::Title,
    text::Text,
    work::{Beginning, Ended, Guard, Opening, Verdict, Work, WorkFuture, WorkStream},
};
pub use attributes::{Attributes, SetKey};
pub use custom::{Custom, Labels};

/// What a part keeps for each instrumentation: instruments of its own table, attribute sets.
pub trait Part: Any + Send + Sync + fmt::Debug {
    /// Made when work of the part is first recorded there.
    fn of(instrumentation: &Instrumentation) -> Self;
}

/// The names of an instrumentation: so many of each kind, then `_other`.
#[derive(Debug)]
pub struct CappedNames<'a>(pub(crate) &'a labels::Labels);

impl CappedNames<'_> {
    /// The name itself while its attribute has room, then `_other`.
    #[must_use]
    pub fn capped(&self, attribute: &'static str, name: &Text) -> Text {
        self.0.names().capped_label(attribute, name)
    }

    /// The attribute with the capped name; none for an empty name.
    #[must_use]
    pub fn attribute(&self, attribute: &'static str, name: &Text) -> Option<KeyValue> {
        (!name.as_str().is_empty()).then(|| KeyValue::new(attribute, self.capped(attribute, name)))
    }
}
