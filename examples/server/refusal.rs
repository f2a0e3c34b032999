//! Why a request gets no answer; each dialect has its own words for it.

use hyper::StatusCode;

use super::{CODING_HEADER, PLAN_HEADER};

/// An error status.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) message: String,
    /// What OpenAI calls its type.
    pub(super) kind: &'static str,
    /// What OpenAI calls its code.
    pub(super) code: &'static str,
}

impl Refusal {
    /// As planned.
    pub(super) fn planned(status: u16) -> Self {
        match StatusCode::from_u16(status) {
            Ok(status @ StatusCode::TOO_MANY_REQUESTS) => {
                Self::new(status, "Rate limit reached.", "requests", "rate_limit_exceeded")
            }
            Ok(status) => Self::new(status, "The server failed.", "server_error", "internal_error"),
            Err(_) => {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                Self::new(status, "The plan has no status.", "server_error", "bad_plan")
            }
        }
    }

    /// The request says something that the server does not take.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message, "invalid_request_error", "invalid_request")
    }

    pub(super) fn misnamed_plan() -> Self {
        Self::invalid(format!("{PLAN_HEADER} is not a number."))
    }

    pub(super) fn unknown_coding() -> Self {
        Self::invalid(format!("{CODING_HEADER} is not known."))
    }

    pub(super) fn unknown_model(model: &str) -> Self {
        let message = format!("The model {model} does not exist.");
        Self::new(StatusCode::NOT_FOUND, message, "invalid_request_error", "model_not_found")
    }

    pub(super) fn unknown_url() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Unknown request URL.", "invalid_request_error", "unknown_url")
    }

    fn new(status: StatusCode, message: impl Into<String>, kind: &'static str, code: &'static str) -> Self {
        Self { status, message: message.into(), kind, code }
    }
}
