//! [rig](https://docs.rs/rig-core): completions of all its providers, streamed and whole.
//!
//! ```no_run
//! use futures::StreamExt as _;
//! use llmperf_clients::rig as measured;
//! use rig_core::{DynModel, completion::CompletionRequest, error::ProviderError, operation::Completion};
//!
//! # async fn ask(model: DynModel<Completion>) -> Result<(), ProviderError> {
//! let request = CompletionRequest::new("Which way to the harbour?").temperature(0.2);
//! let call = measured::call(&model, &request);
//! let mut reply = measured::open(call, &model, request)?;
//! while let Some(item) = reply.next().await {
//!     // The application's own work; every item comes as the client gave it.
//! }
//! println!("{}", reply.timing());
//! let response = reply.into_inner().into_inner().finish().await?;
//! # let _ = response; Ok(()) }
//! ```
//!
//! | item | means |
//! |---|---|
//! | `Text` | text |
//! | `Reasoning` | reasoning |
//! | `Start` of a tool call (its name), `Arguments` | tool call |
//! | other `Start`, `End` | an event without output; images, which come whole with their `End`, are media |
//! | `Unknown` | an event without output, counted |
//! | the end of the stream | the marker, with what the client put together: usage, finish reason, model, id |
//! | `Err(Truncated)`, `Err(Http)` | the transport failed |
//! | any other `Err` | the call has failed, by the provider's code, else the status |
//!
//! Items of rig carry no usage; it is taken from the client's [`partial`](rig_core::streaming::Streamed::partial) at the end, once per
//! call. An agent's stream (`rig-agent`) runs several calls; measure its models, or its items with a closure.
//!
//! # What the client hides
//!
//! - **The head.** Its stream sends the request when it is first polled: there is no time to head, and a refused request is an
//!   error *item*.
//! - **The provider's words** for a finish reason, where it has words of its own for it.
//! - **Usage of a stream that is left early.**
//!
//! rig moves fast: this is for 0.44, the newest that Rust 1.95 builds.

#![allow(clippy::result_large_err, reason = "the client's own error, unchanged")]

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
};

use futures_core::Stream;
use llmperf_core::{Call, Failure, Kind, Measured, Oddity, Output, Read, Reader, Recorder, Sees, Usage};
use rig_core::{
    DynModel, Model, ProviderError, ProviderResponseError,
    completion::{AssistantContent, CompletionRequest, CompletionResponse, FinishReason},
    driver::Transport,
    http_client,
    message::{DocumentSourceKind, Image},
    operation::Completion as Operation,
    streaming::{CompletionStream, Item, StreamEvent},
    wire::Wire,
};

use serde_json::Value;

use crate::{
    asked::Asked,
    error_body,
    failing::{Failing, told},
};

/// A call to `model`, or to the one that `request` names instead, with its parameters (temperature, limits, seed; never its
/// messages) on the span. The clock starts now.
///
/// The provider is the client's, by its name in the conventions where it has one.
pub fn call(model: &impl CompletionModel, request: &CompletionRequest) -> Call {
    let name = request.model.as_deref().or(model.model_name()).unwrap_or_default();
    describe(llmperf_core::chat(provider(model.provider_name()), name.to_owned()), request)
}

/// Puts the parameters of `request` on the span of a call that was made by hand.
pub fn describe(call: Call, request: &CompletionRequest) -> Call {
    let asked = Asked {
        temperature: request.temperature,
        top_p: request.options.top_p,
        max_tokens: request.max_tokens.and_then(|tokens| i64::try_from(tokens).ok()),
        seed: request.options.seed.and_then(|seed| i64::try_from(seed).ok()),
        ..Asked::default()
    };
    asked.tell(call)
}

/// Opens a stream of `model` inside the call, so that spans of the client's are its children, and measures it; the request is
/// sent when the stream is first polled. The call is armed now.
///
/// # Errors
///
/// The client's own, unchanged: a request that cannot be sent. The call ends as an error by it.
pub fn open(
    call: Call,
    model: &impl CompletionModel,
    request: CompletionRequest,
) -> Result<Measured<Streaming, Completion>, ProviderError> {
    let mut call = call.start();
    match call.in_scope(|| model.begin(request)) {
        Ok(stream) => Ok(measure(stream, call)),
        Err(error) => {
            error.tell(&mut |failure| call.failure(failure));
            Err(error)
        }
    }
}

/// Measures a stream that is there already; its request is sent when it is first polled.
pub fn measure(stream: CompletionStream, call: impl Into<Recorder>) -> Measured<Streaming, Completion> {
    let response = Arc::default();
    let stream = Streaming { stream, response: Arc::clone(&response) };
    Measured::new(stream, call, Completion { response })
}

/// Awaits a whole answer: as [`Call::run`], with the answer's usage, model, id and finish reason.
pub fn run<F>(call: Call, request: F) -> impl Future<Output = Result<CompletionResponse, ProviderError>>
where
    F: Future<Output = Result<CompletionResponse, ProviderError>>,
{
    call.run_with(told(request), whole)
}

/// Models of this client that complete: [`Model`]s, and [`DynModel`]s.
pub trait CompletionModel: sealed::Begins {
    /// The client's name of the provider.
    fn provider_name(&self) -> &str;
    /// The model that it is bound to.
    fn model_name(&self) -> Option<&str>;
}

mod sealed {
    use super::{CompletionRequest, CompletionStream, ProviderError};

    pub trait Begins {
        fn begin(&self, request: CompletionRequest) -> Result<CompletionStream, ProviderError>;
    }
}

impl<W: Wire<Op = Operation>, T: Transport<W>> CompletionModel for Model<W, T> {
    fn provider_name(&self) -> &str {
        self.name()
    }

    fn model_name(&self) -> Option<&str> {
        self.id()
    }
}

impl<W: Wire<Op = Operation>, T: Transport<W>> sealed::Begins for Model<W, T> {
    fn begin(&self, request: CompletionRequest) -> Result<CompletionStream, ProviderError> {
        self.stream(request)
    }
}

impl CompletionModel for DynModel<Operation> {
    fn provider_name(&self) -> &str {
        self.name()
    }

    fn model_name(&self) -> Option<&str> {
        self.id()
    }
}

impl sealed::Begins for DynModel<Operation> {
    fn begin(&self, request: CompletionRequest) -> Result<CompletionStream, ProviderError> {
        self.stream(request)
    }
}

/// The name of a provider in the conventions, else the client's own.
fn provider(name: &str) -> String {
    let known = match name {
        "azure.openai" => "azure.ai.openai",
        "xai" => "x_ai",
        "mistral" => "mistral_ai",
        "moonshot" => "moonshot_ai",
        other => other,
    };
    known.to_owned()
}

/// The client's stream; it keeps what the client put together by its end.
pub struct Streaming {
    stream: CompletionStream,
    response: Arc<OnceLock<CompletionResponse>>,
}

impl Streaming {
    /// Gives back the client's stream, to finish it.
    #[must_use]
    pub fn into_inner(self) -> CompletionStream {
        self.stream
    }
}

impl Stream for Streaming {
    type Item = Result<Item<StreamEvent>, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut self.stream).poll_next(cx);
        if let Poll::Ready(None | Some(Err(_))) = &polled {
            self.response.get_or_init(|| self.stream.partial());
        }
        polled
    }
}

impl fmt::Debug for Streaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Streaming")
    }
}

/// Reads the items of a completion stream. It sees the marker, as the client's own end.
#[derive(Clone, Debug)]
pub struct Completion {
    response: Arc<OnceLock<CompletionResponse>>,
}

impl Reader<Result<Item<StreamEvent>, ProviderError>> for Completion {
    const SEES: Sees = Sees::Marker;

    fn read(&mut self, item: &Result<Item<StreamEvent>, ProviderError>, read: &mut Read<'_>) {
        match item {
            Ok(Item::Event(event)) => read.event(carries(event)),
            Ok(Item::Unknown(_)) => {
                read.oddity(Oddity::UnknownEvent, 1);
                read.event(Output::none());
            }
            Err(error) => {
                self.conclude(read);
                error.tell(&mut |failure| read.event(Output::failure(failure)));
            }
        }
    }

    fn end(&mut self, read: &mut Read<'_>) {
        self.conclude(read);
        read.also(Output::done());
    }
}

impl Completion {
    /// What the client put together is no event of its own.
    fn conclude(&self, read: &mut Read<'_>) {
        let Some(response) = self.response.get() else { return };
        read.also(concluded(response));
        if let Some(reason) = response.finish_reason() {
            let own = if let FinishReason::Other(word) = &reason { word.as_str() } else { "other" };
            read.also(Output::finish(known_word(&reason).unwrap_or(own)));
        }
    }
}

fn carries(event: &StreamEvent) -> Output<'_> {
    match event {
        StreamEvent::Text { text, .. } => Output::text(text),
        StreamEvent::Reasoning { text, .. } => Output::reasoning(text),
        StreamEvent::Arguments { json, .. } => Output::tool(json),
        StreamEvent::Start { name: Some(name), .. } => Output::tool(name),
        StreamEvent::End { content: AssistantContent::Image(image), .. } => {
            Output::sized(Kind::Media, image_size(image))
        }
        StreamEvent::Start { .. } | StreamEvent::End { .. } => Output::none(),
    }
}

/// What a response says beside its content and its end.
fn concluded(response: &CompletionResponse) -> Output<'_> {
    let tokens = &response.usage;
    let usage = Usage::new()
        .input(tokens.input_tokens)
        .output(tokens.output_tokens)
        .cache_read(tokens.cached_input_tokens)
        .cache_write(tokens.cache_creation_input_tokens)
        .reasoning(tokens.reasoning_tokens);
    Output::none()
        .model(response.origin.response_model.as_deref())
        .id(response.origin.response_id.as_deref())
        .and_usage(usage)
}

/// A word for what the client has brought into one form; `None` where the provider's own is all there is.
fn known_word(reason: &FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Stop => Some("stop"),
        FinishReason::Length => Some("length"),
        FinishReason::ToolCalls => Some("tool_calls"),
        FinishReason::ContentFilter => Some("content_filter"),
        _ => None,
    }
}

/// A whole answer. The provider's own word for a finish reason cannot be borrowed from it.
fn whole(answer: &CompletionResponse) -> Output<'_> {
    let reason = answer.finish_reason().map(|reason| known_word(&reason).unwrap_or("other"));
    answer.choice.iter().fold(concluded(answer).and_finish(reason), with_content)
}

fn with_content<'a>(output: Output<'a>, content: &'a AssistantContent) -> Output<'a> {
    match content {
        AssistantContent::Text(text) => output.and_text(&text.text),
        AssistantContent::ToolCall(call) => output.and(Kind::Tool, &call.function.name),
        AssistantContent::Image(image) => output.and_sized(Kind::Media, image_size(image)),
        _ => output,
    }
}

fn image_size(image: &Image) -> usize {
    match &image.data {
        DocumentSourceKind::Base64(data) => data.len(),
        DocumentSourceKind::Raw(data) => data.len(),
        _ => 0,
    }
}

impl Failing for ProviderError {
    fn tell(&self, tell: &mut dyn FnMut(Failure<'_>)) {
        match self {
            Self::ProviderResponse(response)
            | Self::InvalidAuthentication(response)
            | Self::CacheExpired { response, .. } => tell_response(response, tell),
            Self::Relayed(report) => {
                let status = report.http_status.map(|status| status.to_string());
                let code = report.code.as_deref().filter(|code| Failure::is_name(code));
                let word = code.or(status.as_deref());
                tell(word.map_or(Failure::of(self), Failure::new).message(&report.message));
            }
            Self::Http(error) => tell_transport(error, tell),
            Self::Truncated => tell(Failure::transport("truncated")),
            other => tell(Failure::of(other)),
        }
    }
}

fn tell_response(response: &ProviderResponseError, tell: &mut dyn FnMut(Failure<'_>)) {
    let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
    let told = error_body::in_event(&body);
    let status = response.status.map(|status| status.as_u16().to_string());
    let in_body = told.as_ref().and_then(|told| told.error_type.as_deref());
    let code = response.code.as_deref().filter(|code| Failure::is_name(code));
    let word = code.or(in_body).or(status.as_deref());
    let failure = Failure::new(word.unwrap_or("provider_error"));
    tell(told.as_ref().and_then(|told| told.message).map_or(failure, |message| failure.message(message)));
}

fn tell_transport(error: &http_client::Error, tell: &mut dyn FnMut(Failure<'_>)) {
    match error {
        http_client::Error::InvalidStatusCodeWithDetails { status, .. } => tell(Failure::new(status.as_str())),
        http_client::Error::Instance(inner) => {
            let failure = Failure::of_dyn(inner.as_ref());
            tell(if failure.is_transport() { failure } else { Failure::transport("stream_failed") });
        }
        http_client::Error::StreamEnded => tell(Failure::transport("stream_ended")),
        other => tell(Failure::of(other)),
    }
}
