//! Kinds of tool failures, and the values and errors that tell them.

use std::{borrow::Cow, error::Error, io, num, str};

use llmperf_core::part::Verdict;

/// How a tool failed: the `error.type` of its call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolFailure {
    /// It took too long.
    Timeout,
    /// It was not allowed: credentials, permissions.
    Auth,
    /// What it was given, or what it got, did not have the form that it should.
    Format,
    /// Anything else.
    Other,
    /// A code of the tool's own, from a bounded list: never a message. What does not look like a code becomes `_OTHER`.
    Code(Cow<'static, str>),
}

impl ToolFailure {
    /// A code of the tool's own.
    #[must_use]
    pub fn code(code: impl Into<Cow<'static, str>>) -> Self {
        Self::Code(code.into())
    }

    /// Its `error.type`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Timeout => "timeout",
            Self::Auth => "auth",
            Self::Format => "format",
            Self::Other => "other",
            Self::Code(code) => code,
        }
    }

    /// The kind of an error, by what stands in its chain: an I/O error that timed out or was denied, text that could not
    /// be parsed; else `Other`.
    #[must_use]
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        Self::in_chain(Some(error)).unwrap_or(Self::Other)
    }

    /// The same, with what the name of its type tells beside.
    pub(crate) fn named(chain: Option<&(dyn Error + 'static)>, type_name: &str) -> Self {
        Self::in_chain(chain).or_else(|| Self::by_name(type_name)).unwrap_or(Self::Other)
    }

    fn in_chain(mut next: Option<&(dyn Error + 'static)>) -> Option<Self> {
        // A chain that bites its tail must not hang the application.
        for _ in 0..32 {
            let error = next?;
            if let Some(kind) = Self::of_one(error) {
                return Some(kind);
            }
            // An I/O error gives the source of what it holds as its own.
            let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            next = held.map(|held| held as &(dyn Error + 'static)).or_else(|| error.source());
        }
        None
    }

    fn of_one(error: &(dyn Error + 'static)) -> Option<Self> {
        use io::ErrorKind as K;
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return match io.kind() {
                K::TimedOut => Some(Self::Timeout),
                K::PermissionDenied => Some(Self::Auth),
                K::InvalidData => Some(Self::Format),
                _ => None,
            };
        }
        if let Some(json) = error.downcast_ref::<serde_json::Error>() {
            return (!json.is_io()).then_some(Self::Format);
        }
        let is_format = error.is::<num::ParseIntError>()
            || error.is::<num::ParseFloatError>()
            || error.is::<str::ParseBoolError>()
            || error.is::<str::Utf8Error>()
            || error.is::<std::string::FromUtf8Error>()
            || error.is::<std::net::AddrParseError>();
        is_format.then_some(Self::Format)
    }

    /// By the last part of a type's name: `tokio::time::error::Elapsed`, `url::parser::ParseError`, `serde_json::error::Error`.
    fn by_name(type_name: &str) -> Option<Self> {
        let path = type_name.split('<').next().unwrap_or(type_name);
        let last = path.rsplit("::").next().unwrap_or(path);
        let krate = path.split("::").next().unwrap_or(path);
        if last == "Elapsed" {
            Some(Self::Timeout)
        } else if last.contains("Parse") || last.contains("Utf8") || krate.starts_with("serde") {
            Some(Self::Format)
        } else {
            None
        }
    }
}

impl From<ToolFailure> for Verdict {
    fn from(failure: ToolFailure) -> Self {
        Self::failed(failure.as_str())
    }
}

/// Values that report a failure, and errors that know their kind.
///
/// A tool that tells the model of its failure often returns it as a value, so that `Ok` alone says nothing: MCP's
/// `is_error`, a status in an answer.
///
/// ```
/// use llmperf_agent::{ToolFailure, ToolOutcome};
///
/// struct Answer { text: String, is_error: bool }
///
/// impl ToolOutcome for Answer {
///     fn tool_failure(&self) -> Option<ToolFailure> {
///         self.is_error.then_some(ToolFailure::Other)
///     }
/// }
/// # assert!(Answer { text: String::new(), is_error: true }.tool_failure().is_some());
/// ```
pub trait ToolOutcome {
    /// How it failed; `None` if it did not. An error that says `None` has failed in another way.
    fn tool_failure(&self) -> Option<ToolFailure>;
}

impl<T: ToolOutcome> ToolOutcome for Option<T> {
    fn tool_failure(&self) -> Option<ToolFailure> {
        self.as_ref()?.tool_failure()
    }
}

impl<T: ToolOutcome, E: ToolOutcome> ToolOutcome for Result<T, E> {
    fn tool_failure(&self) -> Option<ToolFailure> {
        match self {
            Ok(value) => value.tool_failure(),
            Err(error) => Some(error.tool_failure().unwrap_or(ToolFailure::Other)),
        }
    }
}

impl<T: ToolOutcome + ?Sized> ToolOutcome for &T {
    fn tool_failure(&self) -> Option<ToolFailure> {
        (**self).tool_failure()
    }
}

impl<T: ToolOutcome + ?Sized> ToolOutcome for Box<T> {
    fn tool_failure(&self) -> Option<ToolFailure> {
        (**self).tool_failure()
    }
}
