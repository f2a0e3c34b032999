//! The current context of a thread, for as long as the thread has one.
//!
//! OpenTelemetry keeps it in a thread-local and panics where that is already destroyed: in destructors of other
//! thread-locals. A panic there aborts the process, and streams do end there.

use opentelemetry::{Context, ContextGuard};

thread_local! {
    /// Destroyed before OpenTelemetry's own, since that is in use before this is: locals are destroyed in the order
    /// opposite to their first use.
    static IN_REACH: InReach = Context::map_current(|_| InReach);
}

struct InReach;

impl Drop for InReach {
    /// Without a destructor the standard library would not tell that the thread has ended.
    fn drop(&mut self) {}
}

/// Whether the thread still has a current context, and whatever else a subscriber keeps for it.
#[inline]
pub(crate) fn is_in_reach() -> bool {
    IN_REACH.try_with(|_| ()).is_ok()
}

/// The current context; an empty one in a thread that ends.
pub fn current() -> Context {
    if is_in_reach() { Context::current() } else { Context::new() }
}

/// Attaches a context; nothing in a thread that ends.
#[inline]
pub fn attach(context: &Context) -> Option<ContextGuard> {
    is_in_reach().then(|| context.clone().attach())
}

/// Looks at the current context; `None` in a thread that ends.
pub(crate) fn map_current<T>(look: impl FnOnce(&Context) -> Option<T>) -> Option<T> {
    if is_in_reach() { Context::map_current(look) } else { None }
}
