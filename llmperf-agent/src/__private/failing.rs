//! An error as far as its type lets it be known, and the verdicts on it.

use std::{any::type_name, error::Error, io};

use llmperf_core::{Failure, part::Verdict};

use crate::ToolFailure;

/// What an error shows, whatever its type is.
#[derive(Debug)]
pub struct Failing<'a> {
    /// The error, or the first one behind it that can be looked into.
    chain: Option<&'a (dyn Error + 'static)>,
    type_name: &'static str,
}

impl<'a> Failing<'a> {
    /// An I/O error.
    #[must_use]
    pub fn io(error: &'a io::Error) -> Self {
        Self { chain: Some(error), type_name: type_name::<io::Error>() }
    }

    /// An error of any type, also one that borrows: then it cannot be looked into, but what stands behind it can.
    #[must_use]
    pub fn typed<E: Error>(error: &'a E) -> Self {
        Self { chain: error.source(), type_name: type_name::<E>() }
    }

    /// What holds an error.
    #[must_use]
    pub fn held(error: &'a (dyn Error + Send + Sync + 'static)) -> Self {
        Self { chain: Some(error), type_name: "" }
    }

    /// Something that knows itself, but not in this case.
    #[must_use]
    pub fn silent<E>(_: &'a E) -> Self {
        Self { chain: None, type_name: type_name::<E>() }
    }

    /// What nobody knows.
    #[must_use]
    pub fn unknown() -> Self {
        Self { chain: None, type_name: "" }
    }

    /// The verdict on it, where no kind of work has a word of its own: a failed transport's name, else that of its type.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let transport = self.chain.map(Failure::of_dyn).filter(Failure::is_transport);
        transport.map_or_else(|| Verdict::failed(self.name()), Verdict::from)
    }

    /// The verdict on the error of a tool.
    #[must_use]
    pub fn of_tool(&self) -> Verdict {
        ToolFailure::named(self.chain, self.type_name).into()
    }

    /// The name of its type, without parameters; its last part if it is long.
    fn name(&self) -> &'static str {
        let plain = self.type_name.split('<').next().unwrap_or_default();
        if Failure::is_name(plain) { plain } else { plain.rsplit("::").next().unwrap_or_default() }
    }
}
