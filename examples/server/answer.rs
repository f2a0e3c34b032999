//! From a request to its response: the streamed and the whole answer of its plan.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response};
use tokio::time::sleep;

use super::PLAN_HEADER;
use super::coding::{self, Coding};
use super::dialects::Dialect;
use super::fixed::Fixed;
use super::ledger::{Ledger, Page, Sent};
use super::plan::{Ending, Finish, Plan};
use super::refusal::Refusal;
use super::reply::{Message, Reply};
use super::response::{self, Body};
use super::route::{Route, Target};
use super::script::{Asked, Close, Content, Script};
use super::socket::Outbox;

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
        let Some(codings) = Coding::asked(request.headers()) else {
            return Ok(response::refused(Dialect::OpenAiChat, &Refusal::unknown_coding(), false));
        };
        let response = match Route::of(request.method(), request.uri()) {
            Route::Answer(target) => self.planned(&target, request, outbox).await,
            Route::Fixed(fixed) => self.fixed(fixed, request, outbox).await,
            Route::Unknown => response::refused(Dialect::OpenAiChat, &Refusal::unknown_url(), false),
        };
        Ok(coding::encoded(&codings, response))
    }

    async fn planned(&self, target: &Target, request: Request<Incoming>, outbox: Outbox) -> Response<Body> {
        let index = match named_plan(request.headers()) {
            Ok(Some(index)) => index,
            Ok(None) => self.next.fetch_add(1, Ordering::Relaxed),
            Err(refusal) => return response::refused(target.dialect, &refusal, false),
        };
        let page = self.ledger.open(index);
        let mut response = self.respond(target, index, request, page, outbox).await;
        let name = target.dialect.speech().request_id();
        if let (Some(name), Ok(id)) = (name, HeaderValue::try_from(format!("req_{index}"))) {
            response.headers_mut().insert(HeaderName::from_static(name), id);
        }
        response
    }

    /// Only a plan that the request names can delay or refuse it.
    async fn fixed(&self, fixed: Fixed, request: Request<Incoming>, outbox: Outbox) -> Response<Body> {
        let refused = |refusal: &Refusal| response::refused(fixed.dialect(), refusal, false);
        match named_plan(request.headers()) {
            Ok(Some(index)) => {
                let page = self.ledger.open(index);
                let plan = (self.plans)(index);
                sleep(plan.queue).await;
                outbox.announce(page.note(Sent::Head));
                if let Ending::Refused(status) = plan.ending {
                    return refused(&Refusal::planned(status));
                }
            }
            Ok(None) => {}
            Err(refusal) => return refused(&refusal),
        }
        let answer = body(request).await.and_then(|body| fixed.answer(&body));
        answer.map_or_else(|refusal| refused(&refusal), |answer| response::json(&answer))
    }

    async fn respond(
        &self,
        target: &Target,
        index: u64,
        request: Request<Incoming>,
        page: Page,
        outbox: Outbox,
    ) -> Response<Body> {
        let (asked, streamed) = match body(request).await.and_then(|body| target.read(index, &body)) {
            Ok(read) => read,
            Err(refusal) => return response::refused(target.dialect, &refusal, false),
        };
        let plan = (self.plans)(index);
        sleep(plan.queue).await;
        outbox.announce(page.note(Sent::Head));
        if let Ending::Refused(status) = plan.ending {
            return response::refused(target.dialect, &Refusal::planned(status), streamed);
        }
        if streamed { stream_of(plan, asked, page, outbox) } else { whole(&plan, asked, page, outbox).await }
    }
}

/// The plan that a request names.
fn named_plan(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let Some(header) = headers.get(PLAN_HEADER) else { return Ok(None) };
    let index = header.to_str().ok().and_then(|index| index.parse().ok());
    index.map(Some).ok_or_else(Refusal::misnamed_plan)
}

async fn body(request: Request<Incoming>) -> Result<Bytes, Refusal> {
    match request.into_body().collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(broken) => Err(Refusal::invalid(format!("The request body did not arrive: {broken}."))),
    }
}

fn stream_of(plan: Plan, asked: Asked, page: Page, outbox: Outbox) -> Response<Body> {
    let content_type = asked.dialect.speech().content_type();
    let frames = writes(Script::new(plan, asked), page, outbox).map(|bytes| bytes.map(Frame::data));
    let mut response = response::of_type(content_type, StreamBody::new(frames).boxed_unsync());
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
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
            Close::Broken => Some((Err(response::cut().await), None)),
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
        Ending::ErrorFrame | Ending::Refused(_) => {
            return response::refused(asked.dialect, &Refusal::planned(500), false);
        }
        Ending::Silent => return std::future::pending().await,
    };
    let message = Message::of(plan, asked.index);
    let speech = asked.dialect.speech();
    let body = speech.whole(&Reply::new(plan, asked), &message, finish);
    if plan.ending == Ending::Cut {
        outbox.announce(page.note(Sent::Body(Content::default())));
        return response::half(&body);
    }
    let content = Content { events: 1, tokens: plan.output_tokens(), answer: true, end: true };
    outbox.announce(page.note(Sent::Body(content)));
    response::json(&body)
}
