//! What an error of the client says of what failed.

use genai::{Error, webc};
use llmperf_core::Failure;
use serde_json::Value;

use crate::{
    error_body::{self, ErrorBody},
    failing::Failing,
};

type Tell<'t> = &'t mut dyn FnMut(Failure<'_>);

impl Failing for Error {
    fn tell(&self, tell: Tell<'_>) {
        match self {
            // The stream's own errors: an event of the provider's, what broke it, a status instead of it.
            Self::ChatResponse { body, .. } => {
                let body = error_body::in_event(body).unwrap_or_else(|| error_body::of(body));
                tell_body(&body, Failure::of(self), tell);
            }
            Self::WebStream { error, .. } => {
                match (error.downcast_ref::<Self>(), error.downcast_ref::<webc::Error>()) {
                    (Some(error), _) => error.tell(tell),
                    (_, Some(error)) => tell_web(error, tell),
                    _ => tell(Failure::of_dyn(error.as_ref())),
                }
            }
            Self::HttpError { status, body, .. } => tell_refusal(status.as_str(), body, tell),
            Self::WebModelCall { webc_error, .. } | Self::WebAdapterCall { webc_error, .. } => {
                tell_web(webc_error, tell);
            }
            other => tell(Failure::of(other)),
        }
    }
}

fn tell_web(error: &webc::Error, tell: Tell<'_>) {
    match error {
        webc::Error::ResponseFailedStatus { status, body, .. } => tell_refusal(status.as_str(), body, tell),
        webc::Error::Reqwest(error) if error.is_timeout() => tell(Failure::new("timeout")),
        webc::Error::Reqwest(error) => tell(Failure::of(error)),
        other => tell(Failure::of(other)),
    }
}

/// A status, and the code in its body where there is one.
fn tell_refusal(status: &str, body: &str, tell: Tell<'_>) {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    match error_body::in_event(&body) {
        Some(body) => tell_body(&body, Failure::new(status), tell),
        None => tell(Failure::new(status)),
    }
}

fn tell_body(body: &ErrorBody<'_>, otherwise: Failure<'_>, tell: Tell<'_>) {
    let failure = body.error_type.as_deref().map_or(otherwise, Failure::new);
    tell(body.message.map_or(failure, |message| failure.message(message)));
}
