//! The server's side: a gateway or an inference server whose answers are measured.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    mem,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response, request::Parts};
use http_body::Body;
use llmperf_core::{ByType, Call, Classify, Side, is_enabled};
use pin_project::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use crate::{
    MeasuredBody, RequestBody, RequestHead, ResponseFuture,
    ahead::Ahead,
    opened::{Opened, begin, describe},
    settings::{Recognised, Seen, Settings},
    trace,
};

/// Measures the LLM calls that a server answers: a layer, made by [`Measure::server`](crate::Measure::server).
///
/// A call begins when its head has come. Its body is read before the handler is called, up to the
/// [limit](crate::Measure::limit), since the span must know the model that is asked for; the handler then finds it whole. A
/// larger body goes on to the handler as it comes; with a limit of 0 all do. A client that goes away before its request is
/// whole has made no call; one that goes away before its answer is, has cancelled it.
#[must_use = "a layer that is not put around a service measures nothing"]
pub struct MeasureServer<By = ByType> {
    settings: Arc<Settings>,
    by: PhantomData<fn() -> By>,
}

impl<By> MeasureServer<By> {
    pub(crate) fn new(settings: Arc<Settings>) -> Self {
        Self { settings, by: PhantomData }
    }
}

impl<S, By> Layer<S> for MeasureServer<By> {
    type Service = MeasuredServer<S, By>;

    fn layer(&self, inner: S) -> Self::Service {
        MeasuredServer { inner, measure: self.clone() }
    }
}

impl<By> Clone for MeasureServer<By> {
    fn clone(&self) -> Self {
        Self::new(self.settings.clone())
    }
}

impl<By> fmt::Debug for MeasureServer<By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MeasureServer").field(&self.settings).finish()
    }
}

/// A server whose LLM calls are measured; made by [`MeasureServer`].
pub struct MeasuredServer<S, By = ByType> {
    inner: S,
    measure: MeasureServer<By>,
}

impl<S, B, R, By> Service<Request<B>> for MeasuredServer<S, By>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>, Error: Classify<By>> + Clone,
    B: Body,
    R: Body,
{
    type Response = Response<MeasuredBody<R>>;
    type Error = S::Error;
    type Future = ServerFuture<S, B, By>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let settings = &self.measure.settings;
        let head = RequestHead::new(request.method(), request.uri(), request.headers());
        let stage = match is_enabled().then(|| settings.recognise(&head)).flatten() {
            None => {
                let future = self.inner.call(request.map(RequestBody::untouched));
                Stage::Called(ResponseFuture::new(None, future))
            }
            Some(recognised) => {
                let mut call = begin(settings, &recognised);
                if settings.extract {
                    call = call.parent(trace::extract(request.headers()));
                }
                // The one that is ready is the one to be called.
                let next = self.inner.clone();
                let service = mem::replace(&mut self.inner, next);
                let (parts, body) = request.into_parts();
                let ahead = Box::new(Ahead::new(body));
                let settings = settings.clone();
                Stage::Reading(Some(Box::new(Reading { settings, recognised, call, service, parts, ahead })))
            }
        };
        ServerFuture { stage }
    }
}

impl<S: Clone, By> Clone for MeasuredServer<S, By> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), measure: self.measure.clone() }
    }
}

impl<S: fmt::Debug, By> fmt::Debug for MeasuredServer<S, By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeasuredServer").field("inner", &self.inner).field("measure", &self.measure).finish()
    }
}

/// Reads the request, then awaits the head of its answer.
#[pin_project]
#[must_use = "futures do nothing unless polled"]
pub struct ServerFuture<S: Service<Request<RequestBody<B>>>, B: Body, By = ByType> {
    #[pin]
    stage: Stage<S, B, By>,
}

#[pin_project(project = StageAt)]
enum Stage<S: Service<Request<RequestBody<B>>>, B: Body, By> {
    Reading(Option<Box<Reading<S, B>>>),
    Called(#[pin] ResponseFuture<S::Future, By>),
}

/// A request whose body is being read.
struct Reading<S, B: Body> {
    settings: Arc<Settings>,
    recognised: Recognised,
    call: Call,
    service: S,
    parts: Parts,
    ahead: Box<Ahead<B>>,
}

impl<S: Service<Request<RequestBody<B>>>, B: Body> Reading<S, B> {
    /// Calls the service, with what was read.
    fn call<By>(self) -> ResponseFuture<S::Future, By> {
        let Self { settings, recognised, call, mut service, parts, ahead } = self;
        let opened = {
            let body = ahead.whole(settings.limit);
            let seen = Seen::of(body.as_deref(), &parts.headers);
            recognised.fits(&seen).then(|| {
                let head = RequestHead::new(&parts.method, &parts.uri, &parts.headers);
                let call = describe(call, Side::Server, &recognised, &head, &seen, body.as_deref());
                Opened::new(call, recognised)
            })
        };
        let request = Request::from_parts(parts, RequestBody::ahead(ahead));
        match opened {
            None => ResponseFuture::new(None, service.call(request)),
            Some(mut opened) => {
                let future = opened.call.in_scope(|| service.call(request));
                ResponseFuture::new(Some(opened), future)
            }
        }
    }
}

impl<S, B, R, By> Future for ServerFuture<S, B, By>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>, Error: Classify<By>>,
    B: Body,
    R: Body,
{
    type Output = Result<Response<MeasuredBody<R>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut stage = self.project().stage;
        if let StageAt::Reading(reading) = stage.as_mut().project() {
            if let Some(reading) = reading.as_mut() {
                let limit = reading.settings.limit;
                if reading.ahead.poll_read(cx, limit).is_pending() {
                    return Poll::Pending;
                }
            }
            if let Some(reading) = reading.take() {
                stage.set(Stage::Called(reading.call()));
            }
        }
        match stage.project() {
            StageAt::Called(future) => future.poll(cx),
            StageAt::Reading(_) => Poll::Pending, // it was called just now
        }
    }
}

impl<S: Service<Request<RequestBody<B>>>, B: Body, By> fmt::Debug for ServerFuture<S, B, By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerFuture")
    }
}
