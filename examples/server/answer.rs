//! From a request to its response: refusals, the streamed and the whole answer.

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
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::PLAN_HEADER;
use super::dialects::Dialect;
use super::ledger::{Ledger, Page, Sent};
use super::plan::{Ending, Finish, MODELS, Plan};
use super::refusal::Refusal;
use super::reply::{Message, Reply};
use super::route::{Route, Target};
use super::script::{Asked, Close, Content, Script};
use super::socket::Outbox;

pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Lets half a body leave before its connection breaks.
const BREATH: Duration = Duration::from_millis(5);

/// What all connections answer from.
pub(super) struct Desk {
    plans: Box<dyn Fn(u64) -> Plan + Send + Sync>,
    ledger: Ledger,
    /// The plan of the next request that names none.
    next: AtomicU64,
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
        Ok(match Route::of(request.method(), request.uri()) {
            Route::Answer(target) => self.planned(&target, request, outbox).await,
            Route::Models => models(),
            Route::Unknown => refuse(Dialect::OpenAiChat, &Refusal::unknown_url(), false),
        })
    }

    async fn planned(&self, target: &Target, request: Request<Incoming>, outbox: Outbox) -> Response<Body> {
        let index = match request.headers().get(PLAN_HEADER).map(plan_index) {
            Some(Some(index)) => index,
            Some(None) => return refuse(target.dialect, &Refusal::misnamed_plan(), false),
            None => self.next.fetch_add(1, Ordering::Relaxed),
        };
        let page = self.ledger.open(index);
        let mut response = self.respond(target, index, request, page, outbox).await;
        let name = target.dialect.speech().request_id();
        if let (Some(name), Ok(id)) = (name, HeaderValue::try_from(format!("req_{index}"))) {
            response.headers_mut().insert(HeaderName::from_static(name), id);
        }
        response
    }

    async fn respond(
        &self,
        target: &Target,
        index: u64,
        request: Request<Incoming>,
        page: Page,
        outbox: Outbox,
    ) -> Response<Body> {
        let read = match request.into_body().collect().await {
            Ok(body) => target.read(index, &body.to_bytes()),
            Err(broken) => Err(Refusal::invalid(format!("The request body did not arrive: {broken}."))),
        };
        let (asked, streamed) = match read {
            Ok(read) => read,
            Err(refusal) => return refuse(target.dialect, &refusal, false),
        };
        let plan = (self.plans)(index);
        sleep(plan.queue).await;
        outbox.announce(page.note(Sent::Head));
        if let Ending::Refused(status) = plan.ending {
            return refuse(target.dialect, &Refusal::planned(status), streamed);
        }
        if streamed { stream_of(plan, asked, page, outbox) } else { whole(&plan, asked, page, outbox).await }
    }
}

fn plan_index(header: &HeaderValue) -> Option<u64> {
    header.to_str().ok()?.parse().ok()
}

fn stream_of(plan: Plan, asked: Asked, page: Page, outbox: Outbox) -> Response<Body> {
    let content_type = asked.dialect.speech().content_type();
    let frames = writes(Script::new(plan, asked), page, outbox).map(|bytes| bytes.map(Frame::data));
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
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
                sleep(BREATH).await;
                Some((Err(broken()), None))
            }
            Close::Never => std::future::pending().await,
        }
    })
}

/// An answer that is not streamed takes as long. Where a stream tells of an error, it is a status.
async fn whole(plan: &Plan, asked: Asked, page: Page, outbox: Outbox) -> Response<Body> {
    sleep(plan.bursts.iter().map(|burst| burst.after).sum::<Duration>() + plan.tail).await;
    let finish = match plan.ending {
        Ending::Complete(finish) | Ending::Unmarked(finish) => finish,
        Ending::Cut => Finish::Stop,
        Ending::ErrorFrame | Ending::Refused(_) => return refuse(asked.dialect, &Refusal::planned(500), false),
        Ending::Silent => return std::future::pending().await,
    };
    let message = Message::of(plan, asked.index);
    let speech = asked.dialect.speech();
    let body = speech.whole(&Reply::new(plan, asked), &message, finish);
    if plan.ending == Ending::Cut {
        outbox.announce(page.note(Sent::Body(Content::default())));
        return half(&body);
    }
    let content = Content { events: 1, tokens: plan.output_tokens(), answer: true, end: true };
    outbox.announce(page.note(Sent::Body(content)));
    json_response(StatusCode::OK, &body)
}

/// The first half of a body, then the connection breaks.
fn half(body: &Value) -> Response<Body> {
    let mut bytes = body.to_string().into_bytes();
    bytes.truncate(bytes.len() / 2);
    let frames = stream::once(async { Ok(Frame::data(Bytes::from(bytes))) }).chain(stream::once(async {
        sleep(BREATH).await;
        Err(broken())
    }));
    json_body(StatusCode::OK, StreamBody::new(frames).boxed_unsync())
}

fn broken() -> io::Error {
    io::Error::other("planned cut")
}

fn models() -> Response<Body> {
    let models = MODELS.map(|id| json!({ "id": id, "object": "model", "owned_by": "llmperf" }));
    json_response(StatusCode::OK, &json!({ "object": "list", "data": models }))
}

fn refuse(dialect: Dialect, refusal: &Refusal, streamed: bool) -> Response<Body> {
    let speech = dialect.speech();
    let mut response = json_response(refusal.status, &speech.refusal(refusal, streamed));
    let headers = response.headers_mut();
    if refusal.status == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if let Some((name, value)) = speech.error_header(refusal) {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {}).boxed_unsync();
    json_body(status, body)
}

fn json_body(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
