//! The middleware for `reqwest-middleware`.

use async_trait::async_trait;
use http::Extensions;
use llmperf_core::{ByType, Failure, Side, is_enabled};
use reqwest::{Body, Request, Response, ResponseBuilderExt as _};
use reqwest_middleware::{Error, Middleware, Next, Result};

use crate::{
    Measure, RequestHead,
    opened::{InCall, Opened, begin, describe},
    settings::Seen,
    trace,
};

/// Measures the LLM calls of a client. A retry middleware *before* it makes attempts, which a call around all takes
/// together: one of yours, or another `Measure` before the retry.
///
/// A response's body can be handed on to `reqwest` as a new one only, which puts two errors of its own kind around one of the
/// body's: what it says of itself (`is_timeout`) is the same, its chain of sources two longer.
#[async_trait]
impl Middleware for Measure<ByType> {
    async fn handle(&self, mut request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        let Some(opened) = is_enabled().then(|| open(self, &mut request)).flatten() else {
            return next.run(request, extensions).await;
        };
        match InCall::new(Some(opened), next.run(request, extensions)).await {
            (Ok(response), Some(opened)) => Ok(answered(*opened, response)),
            (Err(error), Some(mut opened)) => {
                opened.call.failure(failure(&error));
                Err(error)
            }
            (result, None) => result,
        }
    }
}

/// Opens the call of a request, if it is one.
fn open(measure: &Measure, request: &mut Request) -> Option<Box<Opened>> {
    let settings = measure.settings();
    let head = RequestHead::of_url(request.method(), request.url().as_str(), request.headers());
    let recognised = settings.recognise(&head)?;
    let call = begin(settings, &recognised);
    // A request without a body has an empty one.
    let body = request.body().map_or(Some(&[][..]), Body::as_bytes).filter(|body| body.len() <= settings.limit);
    let seen = Seen::of(body, request.headers());
    if !recognised.fits(&seen) {
        return None;
    }
    let call = describe(call, Side::Client, &recognised, &head, &seen, body);
    let opened = Opened::new(call, recognised);
    if settings.inject {
        trace::inject(&opened.call.context(), request.headers_mut());
    }
    Some(opened)
}

/// The response with its body measured, and all else that it has.
fn answered(opened: Opened, response: Response) -> Response {
    let url = response.url().clone();
    let mut response = opened.answered(http::Response::from(response)).map(Body::wrap);
    if let Ok(with_url) = http::Response::builder().url(url).body(()) {
        response.extensions_mut().extend(with_url.into_parts().0.extensions);
    }
    Response::from(response)
}

fn failure(error: &Error) -> Failure<'_> {
    match error {
        Error::Reqwest(error) if error.is_timeout() => Failure::transport("timeout"),
        Error::Reqwest(error) => Failure::of(error),
        error => Failure::of(error),
    }
}
