//! How the family reports that a stream has failed.

use serde::Deserialize;

use super::frame::{Groq, Payload};
use crate::event::Failure;
use crate::json::{self, Count, Raw};

/// The failure that a payload reports, wherever it stands in it.
///
/// `named` says that the event or the field is called `error`: then a payload without an `error` of its own is the error.
pub(super) fn failure<'a>(
    payload: &Payload<'a>,
    named: bool,
    data: &'a [u8],
) -> Option<Failure<'a>> {
    let found = failure_in(payload.error)
        .or_else(|| {
            payload
                .choices
                .iter()
                .flat_map(|choices| choices.iter())
                .find_map(|choice| failure_in(choice.error))
        })
        .or_else(|| failure_in(json::read::<Groq<'_>>(payload.x_groq)?.error));
    let flat = || serde_json::from_slice::<Report<'_>>(data).unwrap_or_default();
    match found {
        // Text generation servers name the type beside a message: {"error":"…","error_type":"…"}.
        Some(failure) if failure.kind.is_none() && failure.message.is_some() => Some(Failure {
            kind: json::text(flat().error_type),
            ..failure
        }),
        Some(failure) => Some(failure),
        None if named || json::text(payload.object).is_some_and(|object| object.is("error")) => {
            Some(flat().into())
        }
        None => None,
    }
}

fn failure_in(error: Raw<'_>) -> Option<Failure<'_>> {
    match error?.get().as_bytes() {
        [b'n' | b'f', ..] | [b'"', b'"'] => None,
        [b'{', ..] => Some(json::read::<Report<'_>>(error).unwrap_or_default().into()),
        _ => Some(Failure {
            message: json::text(error),
            ..Failure::default()
        }),
    }
}

/// The fields in which the members of the family say what failed.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Report<'a> {
    code: Raw<'a>,
    r#type: Raw<'a>,
    error_type: Raw<'a>,
    status: Raw<'a>,
    status_code: Count,
    http_status_code: Count,
    message: Raw<'a>,
}

impl<'a> From<Report<'a>> for Failure<'a> {
    fn from(report: Report<'a>) -> Self {
        let number = |raw: Raw<'a>| raw?.get().parse().ok();
        Self {
            code: json::text(report.code),
            kind: json::text(report.r#type).or(json::text(report.error_type)),
            status: json::text(report.status),
            number: number(report.code)
                .or(number(report.status))
                .or(report.status_code.0)
                .or(report.http_status_code.0),
            message: json::text(report.message),
        }
    }
}
