//! From a request to its response: routes, refusals, the streamed and the whole answer.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::PLAN_HEADER;
use super::ledger::{Ledger, Page, Sent};
use super::payload::{self, Asked};
use super::plan::{Ending, MODELS, Plan};
use super::script::{Close, Content, Script};
use super::socket::Outbox;

pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// What all connections answer from.
pub(super) struct Desk {
    plans: Box<dyn Fn(u64) -> Plan + Send + Sync>,
    ledger: Ledger,
    /// The plan of the next request that names none.
    next: AtomicU64,
}

/// The part of a chat completion request that changes the answer.
#[derive(Deserialize)]
struct Chat {
    model: String,
    messages: Vec<Value>,
    #[serde(default)]
    stream: bool,
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

impl Desk {
    pub(super) fn new(plans: impl Fn(u64) -> Plan + Send + Sync + 'static, ledger: Ledger) -> Self {
        Self { plans: Box::new(plans), ledger, next: AtomicU64::new(0) }
    }

    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        outbox: Outbox,
    ) -> Result<Response<Body>, Infallible> {
        let route = (request.method(), request.uri().path());
        Ok(match route {
            (&Method::POST, "/v1/chat/completions") => self.chat(request, outbox).await,
            (&Method::GET, "/v1/models") => models(),
            _ => refusal(StatusCode::NOT_FOUND, "Unknown request URL.", "invalid_request_error", "unknown_url"),
        })
    }

    async fn chat(&self, request: Request<Incoming>, outbox: Outbox) -> Response<Body> {
        let index = match request.headers().get(PLAN_HEADER).map(plan_index) {
            Some(Some(index)) => index,
            Some(None) => return invalid(&format!("{PLAN_HEADER} is not a number.")),
            None => self.next.fetch_add(1, Ordering::Relaxed),
        };
        let page = self.ledger.open(index);
        let chat = match request.into_body().collect().await.map(|body| parse(&body.to_bytes())) {
            Ok(Ok(chat)) => chat,
            Ok(Err(refused)) => return *refused,
            Err(broken) => return invalid(&format!("The request body did not arrive: {broken}.")),
        };
        let plan = (self.plans)(index);
        sleep(plan.queue).await;
        outbox.announce(page.note(Sent::Head));
        if let Ending::Refused(status) = plan.ending {
            return refused(status);
        }
        let include_usage = chat.stream_options.is_some_and(|options| options.include_usage);
        let asked = Asked { index, model: chat.model, include_usage };
        if chat.stream {
            streamed(Script::new(plan, asked), page, outbox)
        } else {
            whole(&plan, &asked, page, outbox).await
        }
    }
}

fn plan_index(header: &HeaderValue) -> Option<u64> {
    header.to_str().ok()?.parse().ok()
}

fn parse(body: &[u8]) -> Result<Chat, Box<Response<Body>>> {
    let chat: Chat = serde_json::from_slice(body).map_err(|error| Box::new(invalid(&error.to_string())))?;
    if chat.messages.is_empty() {
        return Err(Box::new(invalid("messages is empty.")));
    }
    if !MODELS.contains(&chat.model.as_str()) {
        let message = format!("The model {} does not exist.", chat.model);
        let kind = "invalid_request_error";
        return Err(Box::new(refusal(StatusCode::NOT_FOUND, &message, kind, "model_not_found")));
    }
    Ok(chat)
}

fn streamed(script: Script, page: Page, outbox: Outbox) -> Response<Body> {
    let frames = writes(script, page, outbox).map(|bytes| bytes.map(Frame::data));
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The body of a stream. Each wait lets the connection flush what it has, so a step is a write of its own; the
/// connection drops the stream, and with it all that is still to come, when its client goes away.
fn writes(script: Script, page: Page, outbox: Outbox) -> impl Stream<Item = io::Result<Bytes>> {
    stream::unfold(Some((script, page, outbox)), async |state| {
        let (mut script, page, outbox) = state?;
        if let Some(step) = script.next() {
            sleep(step.after).await;
            outbox.announce(page.note(Sent::Body(step.content)));
            return Some((Ok(step.bytes), Some((script, page, outbox))));
        }
        match script.close() {
            Close::Clean => None,
            Close::Broken => {
                // Lets the half frame leave before the connection breaks.
                sleep(Duration::from_millis(5)).await;
                Some((Err(io::Error::other("planned cut")), None))
            }
            Close::Never => std::future::pending().await,
        }
    })
}

async fn whole(plan: &Plan, asked: &Asked, page: Page, outbox: Outbox) -> Response<Body> {
    sleep(plan.bursts.iter().map(|burst| burst.after).sum::<Duration>() + plan.tail).await;
    match plan.ending {
        Ending::Complete(_) | Ending::Unmarked(_) => {}
        Ending::ErrorFrame | Ending::Cut | Ending::Refused(_) => return refused(500),
        Ending::Silent => return std::future::pending().await,
    }
    let content = Content { events: 1, tokens: plan.output_tokens(), answer: true, end: true };
    outbox.announce(page.note(Sent::Body(content)));
    json_response(StatusCode::OK, &payload::whole(plan, asked))
}

fn models() -> Response<Body> {
    let models = MODELS.map(|id| json!({ "id": id, "object": "model", "owned_by": "llmperf" }));
    json_response(StatusCode::OK, &json!({ "object": "list", "data": models }))
}

/// A planned refusal.
fn refused(status: u16) -> Response<Body> {
    match StatusCode::from_u16(status) {
        Ok(StatusCode::TOO_MANY_REQUESTS) => {
            let mut response =
                refusal(StatusCode::TOO_MANY_REQUESTS, "Rate limit reached.", "requests", "rate_limit_exceeded");
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            response
        }
        Ok(status) => refusal(status, "The server failed.", "server_error", "internal_error"),
        Err(_) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "The plan has no status.", "server_error", "bad_plan"),
    }
}

fn invalid(message: &str) -> Response<Body> {
    refusal(StatusCode::BAD_REQUEST, message, "invalid_request_error", "invalid_request")
}

fn refusal(status: StatusCode, message: &str, kind: &str, code: &str) -> Response<Body> {
    json_response(status, &payload::error(message, kind, code))
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
