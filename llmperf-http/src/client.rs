//! The client's side: a service whose requests are measured.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Request, Response};
use http_body::Body;
use llmperf_core::{ByType, Classify, Side, is_enabled};
use pin_project::pin_project;
use tower_service::Service;

use crate::{
    Measure, MeasuredBody, RequestBody, RequestHead,
    ahead::Ahead,
    opened::{InCall, Opened, begin, describe},
    settings::{Recognised, Seen},
    trace,
};

/// A service whose LLM calls are measured; made by [`Measure`].
///
/// A call begins when the service is called, before the request is handed on. Model and parameters are read from what of the
/// request's body is at hand at that moment: all of it, where it lies in memory, as bodies of clients do. A body that is
/// still to come is not waited for, and such a call has no request model unless the path names it.
///
/// A retry *around* it makes further calls, which a call around the retry takes for its attempts: one of yours, or
/// another `Measure` there. Retries *inside* are not seen.
pub struct MeasuredClient<S, By = ByType> {
    inner: S,
    measure: Measure<By>,
}

impl<S, By> MeasuredClient<S, By> {
    pub(crate) fn new(inner: S, measure: Measure<By>) -> Self {
        Self { inner, measure }
    }

    /// The service inside.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Gives back the service.
    #[must_use]
    pub fn into_inner(self) -> S {
        self.inner
    }

    fn recognise<B>(&self, request: &Request<B>) -> Option<Recognised> {
        let head = RequestHead::new(request.method(), request.uri(), request.headers());
        is_enabled().then(|| self.measure.settings().recognise(&head)).flatten()
    }

    /// Opens the call of a request, if it is one after all.
    fn open<B: Body>(
        &self,
        recognised: Recognised,
        request: Request<B>,
    ) -> (Option<Box<Opened>>, Request<RequestBody<B>>) {
        let settings = self.measure.settings();
        let call = begin(settings, &recognised);
        let (mut parts, body) = request.into_parts();
        let mut ahead = Box::new(Ahead::new(body));
        ahead.read_now(settings.limit);
        let opened = {
            let body = ahead.whole(settings.limit);
            let seen = Seen::of(body.as_deref(), &parts.headers);
            recognised.fits(&seen).then(|| {
                let head = RequestHead::new(&parts.method, &parts.uri, &parts.headers);
                let call = describe(call, Side::Client, &recognised, &head, &seen, body.as_deref());
                Opened::new(call, recognised)
            })
        };
        if let Some(opened) = opened.as_ref().filter(|_| settings.inject) {
            trace::inject(&opened.call.context(), &mut parts.headers);
        }
        (opened, Request::from_parts(parts, RequestBody::ahead(ahead)))
    }
}

impl<S, B, R, By> Service<Request<B>> for MeasuredClient<S, By>
where
    S: Service<Request<RequestBody<B>>, Response = Response<R>, Error: Classify<By>>,
    B: Body,
    R: Body,
{
    type Response = Response<MeasuredBody<R>>;
    type Error = S::Error;
    type Future = ResponseFuture<S::Future, By>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Some(recognised) = self.recognise(&request) else {
            return ResponseFuture::new(None, self.inner.call(request.map(RequestBody::untouched)));
        };
        let (mut opened, request) = self.open(recognised, request);
        let inner = &mut self.inner;
        let future = match &mut opened {
            Some(opened) => opened.call.in_scope(|| inner.call(request)),
            None => inner.call(request),
        };
        ResponseFuture::new(opened, future)
    }
}

impl<S: Clone, By> Clone for MeasuredClient<S, By> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), measure: self.measure.clone() }
    }
}

impl<S: fmt::Debug, By> fmt::Debug for MeasuredClient<S, By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeasuredClient").field("inner", &self.inner).field("measure", &self.measure).finish()
    }
}

/// Awaits the head of an answer. Dropped before, its call ends as *cancelled*; failed, as an error.
#[pin_project]
#[must_use = "futures do nothing unless polled; dropping this one ends its call as cancelled"]
pub struct ResponseFuture<F, By = ByType> {
    #[pin]
    future: InCall<F>,
    by: PhantomData<fn() -> By>,
}

impl<F, By> ResponseFuture<F, By> {
    pub(crate) fn new(opened: Option<Box<Opened>>, future: F) -> Self {
        Self { future: InCall::new(opened, future), by: PhantomData }
    }
}

impl<F, R, E, By> Future for ResponseFuture<F, By>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Body,
    E: Classify<By>,
{
    type Output = Result<Response<MeasuredBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().future.poll(cx).map(|(result, opened)| match (result, opened) {
            (Ok(response), Some(opened)) => Ok((*opened).answered(response)),
            (Ok(response), None) => Ok(response.map(MeasuredBody::untouched)),
            (Err(error), opened) => {
                if let Some(mut opened) = opened {
                    opened.call.failure(error.failure());
                }
                Err(error)
            }
        })
    }
}

impl<F: fmt::Debug, By> fmt::Debug for ResponseFuture<F, By> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResponseFuture").field(&self.future).finish()
    }
}
