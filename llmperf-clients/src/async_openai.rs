//! [async-openai](https://docs.rs/async-openai): chat completions and Responses, streamed and whole.
//!
//! ```no_run
//! use async_openai::{Client, types::chat::CreateChatCompletionRequest};
//! use futures::StreamExt as _;
//! use llmperf_clients::async_openai as measured;
//!
//! # async fn ask(request: CreateChatCompletionRequest) -> Result<(), async_openai::error::OpenAIError> {
//! let client = Client::new();
//! let call = measured::call("openai", &request);
//! let mut reply = measured::open(call, client.chat().create_stream(request)).await?;
//! while let Some(chunk) = reply.next().await {
//!     // The application's own work; every chunk comes as the client gave it.
//! }
//! println!("{}", reply.timing());
//! # Ok(()) }
//! ```
//!
//! Ask for `stream_options.include_usage`: without it a chat stream has no token counts, and so no TPOT.
//!
//! # What the client hides
//!
//! - **Arrival.** It reads in a task of its own and queues what came: stamps are taken when the queue is polled, and what
//!   the task sets off is no child of the call's span.
//! - **`[DONE]`.** It ends a stream at the marker as at the end of the body: a chat stream is whole by its finish reasons. A
//!   Responses stream shows its terminal event.
//! - **Reasoning of chat models** (`reasoning_content`, `reasoning`): its chunks have no field for it, so that a model that
//!   reasons aloud seems silent until it answers. Take chunks of your own and say what they carry: [`own`].
//! - **Attempts.** It waits and retries by itself when it is told to slow down: the wait is in the time to head, the attempts
//!   are absent.
//! - **Finish reasons that it does not know**: the chunk does not parse, its item is an error, and the call ends as one.

use std::{borrow::Cow, future::Future};

use async_openai::error::{OpenAIError, StreamError};
use futures_core::Stream;
use llmperf_core::{Call, Failure, Measured, Output, Read, Reader, Recorder, Sees};
use serde_json::Value;

use crate::{
    error_body,
    failing::{Failing, told},
};

mod chat;
mod responses;

pub use chat::Chat;
pub use responses::Responses;

/// A call to the model that `request` names, with its parameters (temperature, limits, seed; never its messages) on the span.
/// The clock starts now.
///
/// `provider` is yours to say: the client speaks to whoever has its base URL.
pub fn call(provider: impl Into<Cow<'static, str>>, request: &impl Request) -> Call {
    request.describe(llmperf_core::chat(provider, request.model_name()))
}

/// Puts the parameters of `request` on the span of a call that was made by hand: of an
/// [`Instrumentation`](llmperf_core::Instrumentation) of your own, of a [`Model`](llmperf_core::Model).
pub fn describe(call: Call, request: &impl Request) -> Call {
    request.describe(call)
}

/// Awaits a request for a stream and measures both: as [`Call::open`], with a reader for the client's items, and by the
/// codes of its errors.
pub fn open<F, S>(
    call: Call,
    request: F,
) -> impl Future<Output = Result<Measured<S, <S::Item as Item>::Reader>, OpenAIError>>
where
    F: Future<Output = Result<S, OpenAIError>>,
    S: Stream<Item: Item>,
{
    call.open_by(told(request), <S::Item as Item>::Reader::default())
}

/// Measures a stream that is there already.
pub fn measure<S: Stream<Item: Item>>(stream: S, call: impl Into<Recorder>) -> Measured<S, <S::Item as Item>::Reader> {
    Measured::new(stream, call, <S::Item as Item>::Reader::default())
}

/// Awaits a request for a whole answer: as [`Call::run`], with the answer's usage, model, id and (first) finish reason.
pub fn run<F, T>(call: Call, request: F) -> impl Future<Output = Result<T, OpenAIError>>
where
    F: Future<Output = Result<T, OpenAIError>>,
    T: Answer,
{
    call.run_with(told(request), T::output)
}

/// A reader for chunks of a type of your own (the client's `create_stream_byot`): `carries` says what one carries, the
/// client's errors are read as everywhere here. It sees finish reasons.
///
/// With its feature `byot` the client sets the `stream` of no request any more: set it yourself, in all that stream.
///
/// ```
/// use async_openai::types::stream::StreamResponse;
/// use futures::StreamExt as _;
/// use llmperf_clients::async_openai as measured;
/// use llmperf_core::{Measured, Output};
///
/// /// What `create_stream_byot` shall parse: deserialize it as you need.
/// struct Chunk { reasoning: Option<String>, content: Option<String>, finish_reason: Option<String> }
///
/// fn carries(chunk: &Chunk) -> Output<'_> {
///     Output::none()
///         .and_reasoning(chunk.reasoning.as_deref().unwrap_or_default())
///         .and_text(chunk.content.as_deref().unwrap_or_default())
///         .and_finish(chunk.finish_reason.as_deref())
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let thought = Chunk { reasoning: Some("Hm".into()), content: None, finish_reason: None };
/// # let answer = Chunk { reasoning: None, content: Some("Hi".into()), finish_reason: Some("stop".into()) };
/// # let stream: StreamResponse<Chunk> = Box::pin(futures::stream::iter([Ok(thought), Ok(answer)]));
/// // let stream: StreamResponse<Chunk> = client.chat().create_stream_byot(request).await?;
/// let mut reply = Measured::new(stream, llmperf_core::chat("vllm", "qwen3"), measured::own(carries));
/// while reply.next().await.is_some() {}
/// assert_eq!((reply.timing().outputs, reply.timing().outcome), (2, Some(llmperf_core::Outcome::Complete)));
/// # }
/// ```
pub fn own<T, F: FnMut(&T) -> Output<'_>>(carries: F) -> Own<F> {
    Own(carries)
}

/// Reads chunks of the caller's own type. Made by [`own`].
#[derive(Clone, Debug)]
pub struct Own<F>(F);

impl<T, F: FnMut(&T) -> Output<'_>> Reader<Result<T, OpenAIError>> for Own<F> {
    const SEES: Sees = Sees::Finish;

    fn read(&mut self, item: &Result<T, OpenAIError>, read: &mut Read<'_>) {
        match item {
            Ok(chunk) => read.event((self.0)(chunk)),
            Err(error) => tell_error(error, read),
        }
    }
}

/// Requests of this client.
pub trait Request: sealed::Asks {}

/// Items of this client's streams.
pub trait Item: Sized + sealed::Sealed {
    /// What reads them.
    type Reader: Reader<Self> + Default;
}

/// Whole answers of this client.
pub trait Answer: sealed::Sealed {
    /// What the answer carries.
    fn output(&self) -> Output<'_>;
}

mod sealed {
    pub trait Sealed {}

    pub trait Asks {
        fn model_name(&self) -> String;

        fn describe(&self, call: llmperf_core::Call) -> llmperf_core::Call;
    }
}

fn tell_error(error: &OpenAIError, read: &mut Read<'_>) {
    error.tell(&mut |failure| read.event(Output::failure(failure)));
}

impl Failing for OpenAIError {
    fn tell(&self, tell: &mut dyn FnMut(Failure<'_>)) {
        match self {
            Self::ApiError(refusal) => {
                let error = &refusal.api_error;
                let words = [error.code.as_deref(), error.r#type.as_deref(), Some(refusal.status_code.as_str())];
                let word = words.into_iter().flatten().find(|word| Failure::is_name(word));
                let failure = word.map_or(Failure::of(self), Failure::new);
                tell(failure.message(&error.message));
            }
            // An error inside a stream is no chunk, and so this.
            Self::JSONDeserialize(_, payload) => {
                let event: Value = serde_json::from_str(payload).unwrap_or_default();
                let Some(body) = error_body::in_event(&event) else { return tell(Failure::of(self)) };
                let failure = body.error_type.as_deref().map_or(Failure::of(self), Failure::new);
                tell(body.message.map_or(failure, |message| failure.message(message)));
            }
            // Words are all that is left of what broke a stream.
            Self::StreamError(broken) => match &**broken {
                StreamError::EventStream(words) if words.starts_with("Transport error") => {
                    tell(Failure::transport("stream_failed"));
                }
                StreamError::EventStream(_) => tell(Failure::new("malformed_stream")),
                StreamError::UnknownEvent(_) => tell(Failure::new("unknown_event")),
            },
            Self::Reqwest(error) if error.is_timeout() => tell(Failure::new("timeout")),
            Self::Reqwest(error) => tell(Failure::of(error)),
            other => tell(Failure::of(other)),
        }
    }
}
