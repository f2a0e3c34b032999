//! A call from its request to the head of its answer.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{HeaderMap, Response, header::CONTENT_LENGTH};
use http_body::Body;
use llmperf_core::{
    Call, Instrumentation, Recorder, Side,
    opentelemetry::{Array, StringValue, Value, trace::SpanKind},
    semconv::request as names,
};
use llmperf_wire::{Endpoint, Request};
use pin_project::pin_project;

use crate::{
    MeasuredBody, RequestHead, prompt,
    reading::Reading,
    settings::{Recognised, Seen, Settings},
};

/// Longest name of a model that is taken over, in bytes.
const LONGEST_MODEL: usize = 256;
/// Longest value of a header that is taken over, in bytes.
const LONGEST_VALUE: usize = 128;
/// Most headers that are taken over.
const MOST_HEADERS: usize = 24;
/// Headers that are: who to ask about the request, and when to ask again.
const HEADERS: [&str; 8] = [
    "retry-after",
    "retry-after-ms",
    "request-id",
    "x-request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "cf-ray",
    "openai-processing-ms",
];
/// How the names of those begin that tell what is left of a quota.
const QUOTAS: [&str; 3] = ["x-ratelimit-", "anthropic-ratelimit-", "ratelimit"];

/// Begins a call whose clock runs from now, and whose model will be known soon.
pub(crate) fn begin(settings: &Settings, recognised: &Recognised) -> Call {
    let provider = recognised.provider.clone();
    match &settings.instrumentation {
        Some(instrumentation) => instrumentation.chat(provider, ""),
        None => Instrumentation::current().chat(provider, ""),
    }
}

/// Says of a call what its request tells.
pub(crate) fn describe(
    call: Call,
    side: Side,
    recognised: &Recognised,
    head: &RequestHead<'_>,
    seen: &Seen,
    body: Option<&[u8]>,
) -> Call {
    let (endpoint, request) = (&recognised.endpoint, seen.request());
    let mut call = call
        .operation(endpoint.operation().as_str())
        .side(side)
        .transport()
        .streams(endpoint.answer_streams(request))
        .attribute(names::HTTP_METHOD, head.method().as_str().to_owned());
    if side == Side::Server {
        call = call.span_kind(SpanKind::Server);
    }
    if let Some((address, port)) = head.server() {
        call = call.server(address.to_owned(), port);
    }
    let model = endpoint.model().or_else(|| request.and_then(|request| request.model.as_deref()));
    if let Some(model) = model {
        call = call.model(cut(model, LONGEST_MODEL).to_owned());
    }
    let told = head.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if let Some(size) = body.map(|body| body.len() as i64).or(told) {
        call = call.attribute(names::HTTP_REQUEST_SIZE, size);
    }
    if let Some(request) = request {
        call = parameters(call, request);
    }
    match body.filter(|_| call.captures()) {
        Some(body) => call.prompt(&prompt::of(body)),
        None => call,
    }
}

fn parameters(mut call: Call, request: &Request) -> Call {
    let whole = |count: Option<u64>| count.and_then(|count| i64::try_from(count).ok()).map(Value::I64);
    let choices = request.choices.filter(|choices| *choices != 1);
    let format = request.encoding_format.as_deref().map(|format| cut(format, LONGEST_VALUE).to_owned());
    for (key, value) in [
        (names::MAX_TOKENS, whole(request.max_tokens)),
        (names::CHOICE_COUNT, whole(choices)),
        (names::TEMPERATURE, request.temperature.map(Value::F64)),
        (names::TOP_P, request.top_p.map(Value::F64)),
        (names::TOP_K, whole(request.top_k)),
        (names::FREQUENCY_PENALTY, request.frequency_penalty.map(Value::F64)),
        (names::PRESENCE_PENALTY, request.presence_penalty.map(Value::F64)),
        (names::SEED, whole(request.seed)),
        (names::DIMENSIONS, whole(request.dimensions)),
        (names::ENCODING_FORMATS, format.map(|format| one(format.into()))),
    ] {
        if let Some(value) = value {
            call = call.attribute(key, value);
        }
    }
    call
}

/// A call that waits for its answer.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) call: Recorder,
    endpoint: Endpoint,
}

impl Opened {
    pub(crate) fn new(call: Call, recognised: Recognised) -> Box<Self> {
        Box::new(Self { call: call.start(), endpoint: recognised.endpoint })
    }

    /// The head has come: what it says, and the body measured.
    pub(crate) fn answered<B: Body>(mut self, response: Response<B>) -> Response<MeasuredBody<B>> {
        let (parts, body) = response.into_parts();
        let status = parts.status.as_u16();
        self.call.attribute(names::HTTP_STATUS, i64::from(status));
        self.headers(&parts.headers);
        self.call.on_head_with(status);
        let reading = Reading::new(&self.endpoint, status, &parts.headers);
        self.call.sees(reading.sees());
        Response::from_parts(parts, MeasuredBody::new(body, self.call, reading))
    }

    /// Rate limits and the ids of the request.
    fn headers(&mut self, headers: &HeaderMap) {
        let taken = |name: &str| HEADERS.contains(&name) || QUOTAS.iter().any(|quota| name.starts_with(quota));
        let taken = headers.keys().filter(|name| taken(name.as_str())).take(MOST_HEADERS);
        for name in taken {
            let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) else { continue };
            let value: StringValue = cut(value, LONGEST_VALUE).to_owned().into();
            self.call.attribute([names::HTTP_RESPONSE_HEADER, name.as_str()].concat(), one(value));
        }
    }
}

/// Headers and formats are lists, by the conventions.
fn one(value: StringValue) -> Value {
    Value::Array(Array::String(vec![value]))
}

/// The text, cut to so many bytes at the boundary of a character.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// A future that is polled inside its call, if there is one; gives both back.
#[pin_project]
#[derive(Debug)]
pub(crate) struct InCall<F> {
    // Before the future: the call ends before what it measured is dropped.
    opened: Option<Box<Opened>>,
    #[pin]
    future: F,
}

impl<F> InCall<F> {
    pub(crate) fn new(opened: Option<Box<Opened>>, future: F) -> Self {
        Self { opened, future }
    }
}

impl<F: Future> Future for InCall<F> {
    type Output = (F::Output, Option<Box<Opened>>);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let future = this.future;
        let polled = match this.opened {
            None => future.poll(cx),
            Some(opened) => opened.call.in_scope(|| future.poll(cx)),
        };
        polled.map(|output| (output, this.opened.take()))
    }
}
