//! Responses whose bodies are JSON: whole, refused, or cut.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::time::sleep;

use super::dialects::Dialect;
use super::refusal::Refusal;

pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

pub(super) fn json(body: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {}).boxed_unsync();
    of_type("application/json", body)
}

pub(super) fn of_type(content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An error status in the words of a dialect; `streamed` if the client expects a stream.
pub(super) fn refused(dialect: Dialect, refusal: &Refusal, streamed: bool) -> Response<Body> {
    let speech = dialect.speech();
    let mut response = json(&speech.refusal(refusal, streamed));
    *response.status_mut() = refusal.status;
    let headers = response.headers_mut();
    if refusal.status == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if let Some((name, value)) = speech.error_header(refusal) {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// The first half of a body, then the connection breaks.
pub(super) fn half(body: &Value) -> Response<Body> {
    let mut bytes = body.to_string().into_bytes();
    bytes.truncate(bytes.len() / 2);
    let half = stream::once(async { Ok(Frame::data(Bytes::from(bytes))) });
    let end = stream::once(async { Err(cut().await) });
    of_type("application/json", StreamBody::new(half.chain(end)).boxed_unsync())
}

/// What breaks a connection, once what was written before has left.
pub(super) async fn cut() -> io::Error {
    sleep(Duration::from_millis(5)).await;
    io::Error::other("planned cut")
}
