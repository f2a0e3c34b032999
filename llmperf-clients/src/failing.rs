//! Errors of clients: what failed, by its code.

use std::{error::Error, future::Future};

use llmperf_core::{Failure, current_call, is_enabled};

/// An error of a client that says more than the name of its type.
pub(crate) trait Failing: Error + 'static {
    /// Gives what failed to `tell`, once. A callback, since a code may have to be read from a body first.
    fn tell(&self, tell: &mut dyn FnMut(Failure<'_>));
}

/// The request; an error of it is told to the call that it is polled in, which then ends by the error's code and not by its
/// type.
pub(crate) fn told<T, E: Failing>(request: impl Future<Output = Result<T, E>>) -> impl Future<Output = Result<T, E>> {
    // Of a call that is switched off, only one around it would hear.
    let heard = is_enabled();
    async move {
        let result = request.await;
        if let Err(error) = &result
            && heard
            && let Some(call) = current_call()
        {
            error.tell(&mut |failure| call.fail(&failure.error_type()));
        }
        result
    }
}
