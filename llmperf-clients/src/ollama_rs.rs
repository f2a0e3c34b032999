//! [ollama-rs](https://docs.rs/ollama-rs): chat and generate, streamed and whole.
//!
//! ```no_run
//! use futures::StreamExt as _;
//! use llmperf_clients::ollama_rs as measured;
//! use ollama_rs::{Ollama, generation::chat::request::ChatMessageRequest};
//!
//! # async fn ask(request: ChatMessageRequest) -> Result<(), ollama_rs::error::OllamaError> {
//! let client = Ollama::default();
//! let call = measured::call(&request);
//! let mut reply = measured::open(call, client.send_chat_messages_stream(request)).await?;
//! while let Some(message) = reply.next().await {
//!     // The application's own work; every item comes as the client gave it.
//! }
//! println!("{}", reply.timing());
//! # Ok(()) }
//! ```
//!
//! | in the item | means |
//! |---|---|
//! | `message.content`, `response` | text |
//! | `thinking` | reasoning |
//! | name and arguments in `message.tool_calls` | tool call |
//! | `done` | the marker |
//! | `prompt_eval_count`, `eval_count` | usage |
//! | `total_duration`, `load_duration`, `prompt_eval_duration`, `eval_duration` | the server's own times, on the span (`llmperf.server_reported.*`) |
//!
//! # What the client hides
//!
//! - **Errors.** A line `{"error": …}` inside a chat stream is printed and dropped: the stream ends without its marker and
//!   the call is *interrupted*. A broken connection is `Err(())`. A refused request is words without a status: its
//!   `error.type` is the name of the client's error.
//! - **`done_reason`.** It has no field for it: a call has no finish reason, and one that met its limit looks like one that
//!   was done.
//! - **Figures that are zero.** Ollama leaves them out; then a chat message has none at all.
//! - **Lines that were split.** Its generate stream parses each network read by itself: a line that two reads share is lost,
//!   and where it is the last one, the call is interrupted.
//! - **Parameters.** Those of a request (`ModelOptions`) are private, so that they are not on the span.

use std::future::Future;

use futures_core::Stream;
use llmperf_core::{
    Call, Failure, Kind, Measured, Output, Read, Reader, Recorder, Sees, Usage, current_call, is_enabled, semconv,
};
use ollama_rs::{
    error::OllamaError,
    generation::{
        chat::{ChatMessageFinalResponseData, ChatMessageResponse, request::ChatMessageRequest},
        completion::{GenerationResponse, request::GenerationRequest},
    },
};

use sealed::Timed as _;

use crate::{
    failing::{Failing, told},
    parts::Parts,
    written,
};

const PROVIDER: &str = "ollama";

/// A call to the model that `request` names, of the provider `ollama`; a generate request's operation is `text_completion`.
/// The clock starts now.
pub fn call(request: &impl Request) -> Call {
    request.call()
}

/// Awaits a request for a stream and measures both: as [`Call::open`], with a reader for the client's items.
pub fn open<F, S>(
    call: Call,
    request: F,
) -> impl Future<Output = Result<Measured<S, <S::Item as Item>::Reader>, OllamaError>>
where
    F: Future<Output = Result<S, OllamaError>>,
    S: Stream<Item: Item>,
{
    call.open_by(told(request), <S::Item as Item>::Reader::default())
}

/// Measures a stream that is there already.
pub fn measure<S: Stream<Item: Item>>(stream: S, call: impl Into<Recorder>) -> Measured<S, <S::Item as Item>::Reader> {
    Measured::new(stream, call, <S::Item as Item>::Reader::default())
}

/// Awaits a request for a whole answer: as [`Call::run`], with the answer's usage, model and server times.
pub fn run<F, T>(call: Call, request: F) -> impl Future<Output = Result<T, OllamaError>>
where
    F: Future<Output = Result<T, OllamaError>>,
    T: Answer,
{
    // Of a call that is switched off, only one around it would hear.
    let heard = is_enabled();
    let request = async move {
        let answer = told(request).await?;
        if heard && let Some(call) = current_call() {
            answer.times().tell(|name, seconds| call.attribute(name, seconds));
        }
        Ok(answer)
    };
    call.run_with(request, T::output)
}

/// Requests of this client.
pub trait Request: sealed::Named {}

/// Items of this client's streams.
pub trait Item: Sized + sealed::Sealed {
    /// What reads them.
    type Reader: Reader<Self> + Default;
}

/// Whole answers of this client.
pub trait Answer: sealed::Timed {
    /// What the answer carries.
    fn output(&self) -> Output<'_>;
}

mod sealed {
    pub trait Sealed {}

    pub trait Named {
        fn call(&self) -> llmperf_core::Call;
    }

    pub trait Timed {
        fn times(&self) -> super::Times;
    }
}

/// Reads the messages of a chat stream. It sees the marker.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Chat;

impl Reader<Result<ChatMessageResponse, ()>> for Chat {
    const SEES: Sees = Sees::Marker;

    fn read(&mut self, item: &Result<ChatMessageResponse, ()>, read: &mut Read<'_>) {
        let Ok(answer) = item else {
            return read.event(Output::failure(Failure::transport("stream_failed")));
        };
        let message = &answer.message;
        let mut parts = Parts::of(Output::none().model(answer.model.as_str()).and_usage(usage_of(answer)));
        parts.piece(read, 0, Kind::Reasoning, message.thinking.as_deref().unwrap_or_default());
        parts.piece(read, 0, Kind::Text, &message.content);
        for call in &message.tool_calls {
            parts.piece(read, 0, Kind::Tool, &call.function.name);
            parts.sized(read, Kind::Tool, written::size(&call.function.arguments));
        }
        parts.told(read);
        tell_end(answer.done, answer.times(), read);
    }
}

/// Reads the responses of a generate stream, of which an item may hold several or none. It sees the marker.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Generate;

type Responses = Result<Vec<GenerationResponse>, OllamaError>;

impl Reader<Responses> for Generate {
    const SEES: Sees = Sees::Marker;

    fn read(&mut self, item: &Responses, read: &mut Read<'_>) {
        match item {
            // A read that held no whole line.
            Ok(responses) if responses.is_empty() => read.event(Output::ignored()),
            Ok(responses) => responses.iter().for_each(|response| {
                read.event(carries(response));
                tell_end(response.done, response.times(), read);
            }),
            Err(error) => error.tell(&mut |failure| read.event(Output::failure(failure))),
        }
    }
}

impl sealed::Sealed for Result<ChatMessageResponse, ()> {}
impl Item for Result<ChatMessageResponse, ()> {
    type Reader = Chat;
}

impl sealed::Sealed for Responses {}
impl Item for Responses {
    type Reader = Generate;
}

/// The server's times come first: after the marker the call has ended.
fn tell_end(done: bool, times: Times, read: &mut Read<'_>) {
    if done {
        times.tell(|name, seconds| read.attribute(name, seconds));
        read.also(Output::done());
    }
}

impl Answer for ChatMessageResponse {
    fn output(&self) -> Output<'_> {
        let output = Output::none()
            .model(self.model.as_str())
            .and_usage(usage_of(self))
            .and_reasoning(self.message.thinking.as_deref().unwrap_or_default())
            .and_text(&self.message.content);
        self.message.tool_calls.iter().fold(output, |output, call| output.and(Kind::Tool, &call.function.name))
    }
}

impl sealed::Timed for ChatMessageResponse {
    fn times(&self) -> Times {
        let data = self.final_data.as_ref();
        Times {
            total: data.map(|data| data.total_duration),
            load: data.map(|data| data.load_duration),
            prompt: data.map(|data| data.prompt_eval_duration),
            generation: data.map(|data| data.eval_duration),
        }
    }
}

impl Answer for GenerationResponse {
    fn output(&self) -> Output<'_> {
        carries(self)
    }
}

impl sealed::Timed for GenerationResponse {
    fn times(&self) -> Times {
        Times {
            total: self.total_duration,
            load: self.load_duration,
            prompt: self.prompt_eval_duration,
            generation: self.eval_duration,
        }
    }
}

fn carries(response: &GenerationResponse) -> Output<'_> {
    Output::none()
        .model(response.model.as_str())
        .and_usage(Usage::new().input(response.prompt_eval_count).output(response.eval_count))
        .and_reasoning(response.thinking.as_deref().unwrap_or_default())
        .and_text(&response.response)
}

fn usage_of(answer: &ChatMessageResponse) -> Option<Usage> {
    let usage = |data: &ChatMessageFinalResponseData| Usage::of(data.prompt_eval_count, data.eval_count);
    answer.final_data.as_ref().map(usage)
}

/// The server's own times of a call, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    total: Option<u64>,
    load: Option<u64>,
    prompt: Option<u64>,
    generation: Option<u64>,
}

impl Times {
    fn tell(self, mut tell: impl FnMut(&'static str, f64)) {
        let times = [
            (semconv::SERVER_TOTAL, self.total),
            (semconv::SERVER_LOAD, self.load),
            (semconv::SERVER_PROMPT, self.prompt),
            (semconv::SERVER_GENERATION, self.generation),
        ];
        for (name, nanos) in times {
            if let Some(nanos) = nanos {
                tell(name, nanos as f64 / 1e9);
            }
        }
    }
}

impl Request for ChatMessageRequest {}
impl sealed::Named for ChatMessageRequest {
    fn call(&self) -> Call {
        llmperf_core::chat(PROVIDER, self.model_name.clone())
    }
}

impl Request for GenerationRequest<'_> {}
impl sealed::Named for GenerationRequest<'_> {
    fn call(&self) -> Call {
        llmperf_core::chat(PROVIDER, self.model_name.clone()).operation("text_completion")
    }
}

impl Failing for OllamaError {
    fn tell(&self, tell: &mut dyn FnMut(Failure<'_>)) {
        match self {
            Self::ReqwestError(error) if error.is_timeout() => tell(Failure::new("timeout")),
            Self::ReqwestError(error) => tell(Failure::of(error)),
            // Words are all that is left of what broke a stream.
            Self::Other(words) if words.starts_with("Failed to read response") => {
                tell(Failure::transport("stream_failed"));
            }
            Self::Other(words) => tell(Failure::of(self).message(words)),
            Self::InternalError(error) => tell(Failure::of(self).message(&error.message)),
            other => tell(Failure::of(other)),
        }
    }
}
