//! Failures of items and futures: their class, and an `error.type` that stays bounded.

use std::{any::type_name, borrow::Cow, error::Error, io, sync::Arc};

/// `error.type` of what cannot be named.
pub(crate) const OTHER: &str = "_OTHER";

/// Longest `error.type` that is taken over from a provider, in bytes.
const LONGEST: usize = 64;

/// What a failure means for the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// The transport broke: interrupted after the head, an error before it.
    Transport,
    /// It latches nothing: the stream goes on.
    Recoverable,
    /// Anything else: an error.
    Fatal,
}

/// A failure that a reader, a classifier or a client's adapter saw: its class and its `error.type`.
///
/// ```
/// use std::io;
/// use llmperf_core::Failure;
///
/// let reset = io::Error::from(io::ErrorKind::ConnectionReset);
/// assert!(Failure::of(&reset).is_transport());
/// assert!(!Failure::new("rate_limit_exceeded").is_transport());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Copy)]
pub struct Failure<'a> {
    class: Class,
    error_type: &'a str,
    message: Option<&'a str>,
}

impl<'a> Failure<'a> {
    /// A failure that ends the call as an error. `error_type` is a code, a type, a status: never a message.
    #[must_use]
    pub fn new(error_type: &'a str) -> Self {
        Self { class: Class::Fatal, error_type, message: None }
    }

    /// A failure of the transport: after the head the call is *interrupted*.
    #[must_use]
    pub fn transport(error_type: &'a str) -> Self {
        Self { class: Class::Transport, ..Self::new(error_type) }
    }

    /// A failure that the stream survives: it latches nothing.
    #[must_use]
    pub fn recoverable(error_type: &'a str) -> Self {
        Self { class: Class::Recoverable, ..Self::new(error_type) }
    }

    /// Classifies an error by its source chain: a failure of the transport if an I/O error of that kind is in it, else
    /// an error named after its type.
    #[must_use]
    pub fn of<E: Error + 'static>(error: &'a E) -> Self {
        Self::by_chain(error).unwrap_or_else(|| Self::new(canonical_name::<E>()))
    }

    /// As [`of`](Self::of), for an error whose type is not known.
    #[must_use]
    pub fn of_dyn(error: &'a (dyn Error + 'static)) -> Self {
        Self::by_chain(error).unwrap_or_else(|| Self::new(OTHER))
    }

    /// Whether a word may stand as `error.type`: short, of letters, digits and `_-.:/`. Any other becomes `_OTHER`; who has
    /// several to choose from takes one that may, for some servers put their message where a code belongs.
    #[must_use]
    pub fn is_name(word: &str) -> bool {
        let of_names = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':' | b'/');
        !word.is_empty() && word.len() <= LONGEST && word.bytes().all(of_names)
    }

    /// The provider's message. It leaves the process only where content capture is on.
    #[must_use]
    pub fn message(self, message: &'a str) -> Self {
        Self { message: Some(message), ..self }
    }

    /// Whether the transport failed.
    #[must_use]
    pub fn is_transport(&self) -> bool {
        self.class == Class::Transport
    }

    /// Whether the stream goes on.
    #[must_use]
    pub fn is_recoverable(&self) -> bool {
        self.class == Class::Recoverable
    }

    /// The `error.type`, bounded: `_OTHER` where the name does not look like a code.
    #[must_use]
    pub fn error_type(&self) -> Cow<'static, str> {
        bounded(self.error_type)
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
        self.message
    }

    fn by_chain(error: &'a (dyn Error + 'static)) -> Option<Self> {
        let mut next = Some(error);
        // A chain that bites its tail must not hang the application.
        for _ in 0..32 {
            let error = next?;
            if let Some(io) = io_error(error) {
                if let Some(name) = transport_name(io.kind()) {
                    return Some(Self::transport(name));
                }
                next = io.get_ref().map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source());
            } else {
                next = error.source();
            }
        }
        None
    }
}

/// Errors that [`try_measure`](crate::MeasureStream::try_measure) and [`open`](crate::Call::open) can classify: every
/// [`std::error::Error`], and what holds one (`Box<dyn Error + Send + Sync>`, `anyhow::Error`). `By` is inferred.
#[diagnostic::on_unimplemented(
    message = "llmperf cannot classify a `{Self}`",
    note = "map it to a `std::error::Error` first: `.map_err(…)`",
    note = "or, for items, use `measure_with` and say in the closure what an `Err` means: `Err(_) => Output::error(\"…\")`"
)]
pub trait Classify<By> {
    /// The failure that this error is.
    fn failure(&self) -> Failure<'_>;

    /// The error itself, for who looks for more in it; none where there is no such.
    fn error(&self) -> Option<&(dyn Error + 'static)> {
        None
    }
}

/// Marks errors that are classified by their own type.
#[derive(Debug)]
#[non_exhaustive]
pub struct ByType;

/// Marks errors that are classified by the error that they hold.
#[derive(Debug)]
#[non_exhaustive]
pub struct ByHeld;

impl<E: Error + 'static> Classify<ByType> for E {
    fn failure(&self) -> Failure<'_> {
        Failure::of(self)
    }

    fn error(&self) -> Option<&(dyn Error + 'static)> {
        Some(self)
    }
}

impl<E: AsRef<dyn Error + Send + Sync + 'static>> Classify<ByHeld> for E {
    fn failure(&self) -> Failure<'_> {
        Failure::of_dyn(self.as_ref())
    }

    fn error(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.as_ref())
    }
}

/// An `error.type` as it may stand on a metric: a short name of code characters, else `_OTHER`.
pub(crate) fn bounded(error_type: &str) -> Cow<'static, str> {
    if Failure::is_name(error_type) { error_type.to_owned().into() } else { OTHER.into() }
}

/// An I/O error, also one in a box or shared: those two give the source of what they hold as theirs, so that a walk
/// over sources steps over it.
fn io_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let boxed = || error.downcast_ref::<Box<io::Error>>().map(AsRef::as_ref);
    let shared = || error.downcast_ref::<Arc<io::Error>>().map(AsRef::as_ref);
    error.downcast_ref::<io::Error>().or_else(boxed).or_else(shared)
}

/// The canonical name of a type, without its parameters: `reqwest::error::Error`. Of one in a box or shared, its own.
fn canonical_name<E>() -> &'static str {
    let mut full = type_name::<E>();
    for holder in ["alloc::boxed::Box<", "alloc::sync::Arc<"] {
        full = full.strip_prefix(holder).unwrap_or(full);
    }
    let plain = full.split(['<', '>']).next().unwrap_or(full);
    if plain.len() <= LONGEST { plain } else { plain.rsplit("::").next().unwrap_or(plain) }
}

fn transport_name(kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind as K;
    Some(match kind {
        K::ConnectionRefused => "connection_refused",
        K::ConnectionReset => "connection_reset",
        K::ConnectionAborted => "connection_aborted",
        K::NotConnected => "not_connected",
        K::BrokenPipe => "broken_pipe",
        K::UnexpectedEof => "unexpected_eof",
        K::HostUnreachable => "host_unreachable",
        K::NetworkUnreachable => "network_unreachable",
        K::NetworkDown => "network_down",
        K::TimedOut => "timed_out",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    #[derive(Debug)]
    struct Wrapped(io::Error);

    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("wrapped")
        }
    }

    impl Error for Wrapped {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn an_io_error_anywhere_in_the_source_chain_is_a_transport_failure() {
        let inner = Wrapped(io::ErrorKind::UnexpectedEof.into());
        let outer = io::Error::other(inner);
        assert_eq!(Failure::of(&outer), Failure::transport("unexpected_eof"));
    }

    #[test]
    fn an_io_error_of_another_kind_is_none() {
        let error = Wrapped(io::ErrorKind::InvalidData.into());
        let failure = Failure::of(&error);
        assert!(!failure.is_transport());
        assert!(failure.error_type().ends_with("::Wrapped"), "{failure:?}");
    }

    #[test]
    fn errors_are_classified_whether_typed_or_held() {
        fn class<By, E: Classify<By>>(error: &E) -> (bool, Cow<'static, str>) {
            (error.failure().is_transport(), error.failure().error_type())
        }
        let held: Box<dyn Error + Send + Sync> = Box::new(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(class(&held), (true, "broken_pipe".into()));
        assert_eq!(class(&fmt::Error), (false, "core::fmt::Error".into()));
    }

    #[test]
    fn an_error_in_a_box_or_shared_is_what_it_holds() {
        let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(Failure::of(&Box::new(reset())), Failure::transport("connection_reset"));
        assert_eq!(Failure::of(&Arc::new(reset())), Failure::transport("connection_reset"));
        assert_eq!(Failure::of(&io::Error::other(Arc::new(reset()))), Failure::transport("connection_reset"));
        assert_eq!(Failure::of(&Arc::new(fmt::Error)).error_type(), "core::fmt::Error");
        assert_eq!(Failure::of(&Box::new(fmt::Error)).error_type(), "core::fmt::Error");
    }

    #[test]
    fn an_error_type_is_never_a_message() {
        assert_eq!(bounded("rate_limit_exceeded"), "rate_limit_exceeded");
        assert_eq!(bounded("the prompt 'tell me …' was refused"), OTHER);
        assert_eq!(bounded(""), OTHER);
        assert_eq!(bounded(&"x".repeat(65)), OTHER);
    }
}
