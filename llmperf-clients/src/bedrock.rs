//! [aws-sdk-bedrockruntime](https://docs.rs/aws-sdk-bedrockruntime): Converse, streamed and whole.
//!
//! ```no_run
//! use aws_sdk_bedrockruntime::Client;
//! use llmperf_clients::bedrock as measured;
//!
//! # async fn ask(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//! let request = client.converse_stream().model_id("anthropic.claude-sonnet-4-5-20250929-v1:0"); // and messages
//! let call = measured::call(&request);
//! let mut reply = measured::open(call, request.send()).await?;
//! while let Some(event) = reply.recv().await? {
//!     // The application's own work; every event comes as the client gave it.
//! }
//! println!("{}", reply.timing());
//! # Ok(()) }
//! ```
//!
//! | event | means |
//! |---|---|
//! | `contentBlockDelta` with text | text |
//! | … with reasoning text | reasoning; signatures and redacted content are none |
//! | … with a tool's input, `contentBlockStart` of a tool (its name) | tool call |
//! | … with an image | media |
//! | `messageStop` | the finish reason |
//! | `metadata` | usage, the server's latency, the marker |
//! | an exception | the call has failed, by its name (`modelStreamErrorException`) |
//! | all others | an event without output |
//!
//! Bedrock counts what it read from its cache, or wrote there, beside the input; it is added. The service names neither model
//! nor response; the id of the request is on the span (`aws.request_id`).
//!
//! # What the client hides
//!
//! - **Attempts.** It retries by itself before the stream begins: the wait is in the time to head, the attempts are absent.
//! - **A cut in the middle of a message** is its error for what does not parse; it is read as the interruption that it is. A
//!   cut between two messages is its clean end: the call is interrupted unless the stop reason had come.

use std::{
    fmt,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use aws_sdk_bedrockruntime::{
    error::{ProvideErrorMetadata, SdkError},
    operation::{
        RequestId as _,
        converse::{ConverseError, ConverseOutput, builders::ConverseFluentBuilder},
        converse_stream::{ConverseStreamError, ConverseStreamOutput as Opened, builders::ConverseStreamFluentBuilder},
    },
    types::{
        ContentBlock, ContentBlockDelta, ContentBlockStart, ConverseOutput as Answer, ConverseStreamOutput as Event,
        ImageSource, InferenceConfiguration, ReasoningContentBlock, ReasoningContentBlockDelta, TokenUsage,
        error::ConverseStreamOutputError,
    },
};
use aws_smithy_types::{
    event_stream::{Message, RawMessage},
    str_bytes::StrBytes,
};
use futures_core::Stream;
use llmperf_core::{
    Call, Failure, Kind, Measured, Oddity, Output, Read, Reader, Recorder, Sees, Timing, Usage, current_call,
    is_enabled, semconv,
};

use crate::{
    asked::{Asked, as_written},
    failing::{Failing, told},
};

const PROVIDER: &str = "aws.bedrock";
/// The id that AWS gave the request, on the span.
const REQUEST_ID: &str = "aws.request_id";

/// What the SDK's receiver gives for an event that is none.
pub type ReceiveError = SdkError<ConverseStreamOutputError, RawMessage>;

/// A call to the model that `request` names, of the provider `aws.bedrock`, with its parameters (temperature, limits; never
/// its messages) on the span. The clock starts now.
pub fn call(request: &impl Request) -> Call {
    request.describe(llmperf_core::chat(PROVIDER, request.model_name()))
}

/// Puts the parameters of `request` on the span of a call that was made by hand.
pub fn describe(call: Call, request: &impl Request) -> Call {
    request.describe(call)
}

/// Awaits the sending of a ConverseStream request and measures it and what it receives: as [`Call::open`], by the codes of
/// the client's errors.
///
/// # Errors
///
/// The client's own, unchanged.
pub async fn open<F>(call: Call, request: F) -> Result<Reply, SdkError<ConverseStreamError>>
where
    F: Future<Output = Result<Opened, SdkError<ConverseStreamError>>>,
{
    let heard = is_enabled();
    let events = async {
        let opened = told(request).await?;
        tell_id(heard, opened.request_id());
        Ok(Events(opened))
    };
    call.open_by(events, Converse).await.map(Reply)
}

/// Measures what was opened already.
pub fn measure(opened: Opened, call: impl Into<Recorder>) -> Reply {
    Reply(Measured::new(Events(opened), call, Converse))
}

/// Awaits the sending of a Converse request: as [`Call::run`], with the answer's usage, stop reason and latency.
///
/// # Errors
///
/// The client's own, unchanged.
pub async fn run<F>(call: Call, request: F) -> Result<ConverseOutput, SdkError<ConverseError>>
where
    F: Future<Output = Result<ConverseOutput, SdkError<ConverseError>>>,
{
    let heard = is_enabled();
    let request = async {
        let answer = told(request).await?;
        tell_id(heard, answer.request_id());
        if let Some(metrics) = answer.metrics.as_ref().filter(|_| heard)
            && let Some(call) = current_call()
        {
            call.attribute(semconv::SERVER_TOTAL, seconds(metrics.latency_ms));
        }
        Ok(answer)
    };
    call.run_with(request, whole).await
}

fn tell_id(heard: bool, id: Option<&str>) {
    if let Some(id) = id.filter(|_| heard)
        && let Some(call) = current_call()
    {
        call.attribute(REQUEST_ID, id.to_owned());
    }
}

/// A measured reply: the SDK's receiver, in its own shape and as a stream.
///
/// Dropped before the answer was whole, the call ends as *cancelled*.
#[derive(Debug)]
#[must_use = "dropping a reply ends its call as cancelled"]
pub struct Reply(Measured<Events, Converse>);

impl Reply {
    /// Receives the next event; `None` at the end. It may be dropped and asked again: no event is lost.
    ///
    /// # Errors
    ///
    /// The client's own, unchanged.
    pub async fn recv(&mut self) -> Result<Option<Event>, ReceiveError> {
        poll_fn(|cx| Pin::new(&mut self.0).poll_next(cx)).await.transpose()
    }

    /// What has been measured, as of now; final once its outcome is set.
    #[must_use]
    pub fn timing(&self) -> Timing {
        self.0.timing()
    }

    /// Lets go of the reply and gives what was measured: final. A call that had not ended ends here, as by a drop.
    #[must_use]
    pub fn into_timing(self) -> Timing {
        self.0.into_timing()
    }

    /// What the SDK opened.
    #[must_use]
    pub fn get_ref(&self) -> &Opened {
        &self.0.get_ref().0
    }

    /// Gives back what the SDK opened; the call ends here, as by a drop.
    pub fn into_inner(self) -> Opened {
        self.0.into_inner().0
    }
}

impl Stream for Reply {
    type Item = Result<Event, ReceiveError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.0).poll_next(cx)
    }
}

/// The SDK's receiver as a stream.
struct Events(Opened);

impl Stream for Events {
    type Item = Result<Event, ReceiveError>;

    /// A `recv` that is asked anew each time: what has come lies in the receiver, never in the future.
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        pin!(self.0.stream.recv()).poll(cx).map(Result::transpose)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

/// Reads the events of ConverseStream. It sees the marker.
#[derive(Clone, Copy, Debug, Default)]
struct Converse;

impl Reader<Result<Event, ReceiveError>> for Converse {
    const SEES: Sees = Sees::Marker;

    fn read(&mut self, item: &Result<Event, ReceiveError>, read: &mut Read<'_>) {
        match item {
            Ok(event) => {
                if let Event::Metadata(metadata) = event
                    && let Some(metrics) = &metadata.metrics
                {
                    read.attribute(semconv::SERVER_TOTAL, seconds(metrics.latency_ms));
                }
                read.oddity(Oddity::UnknownEvent, u64::from(event.is_unknown()));
                read.event(carries(event));
            }
            Err(error) => error.tell(&mut |failure| read.event(Output::failure(failure))),
        }
    }
}

fn carries(event: &Event) -> Output<'_> {
    match event {
        Event::ContentBlockStart(event) => match &event.start {
            Some(ContentBlockStart::ToolUse(tool)) => Output::tool(&tool.name),
            _ => Output::none(),
        },
        Event::ContentBlockDelta(event) => match &event.delta {
            Some(ContentBlockDelta::Text(text)) => Output::text(text),
            Some(ContentBlockDelta::ReasoningContent(ReasoningContentBlockDelta::Text(text))) => {
                Output::reasoning(text)
            }
            Some(ContentBlockDelta::ToolUse(tool)) => Output::tool(&tool.input),
            Some(ContentBlockDelta::Image(image)) => Output::sized(Kind::Media, image_size(image.source.as_ref())),
            _ => Output::none(),
        },
        Event::MessageStop(event) => Output::finish(event.stop_reason.as_str()),
        Event::Metadata(event) => Output::none().and_usage(event.usage.as_ref().map(usage)).and_done(),
        _ => Output::none(),
    }
}

fn whole(answer: &ConverseOutput) -> Output<'_> {
    let output = Output::none().and_usage(answer.usage.as_ref().map(usage)).and_finish(answer.stop_reason.as_str());
    let Some(Answer::Message(message)) = &answer.output else { return output };
    message.content.iter().fold(output, |output, block| match block {
        ContentBlock::Text(text) => output.and_text(text),
        ContentBlock::ReasoningContent(ReasoningContentBlock::ReasoningText(block)) => {
            output.and_reasoning(&block.text)
        }
        ContentBlock::ToolUse(tool) => output.and(Kind::Tool, &tool.name),
        ContentBlock::Image(image) => output.and_sized(Kind::Media, image_size(image.source.as_ref())),
        _ => output,
    })
}

fn image_size(source: Option<&ImageSource>) -> usize {
    match source {
        Some(ImageSource::Bytes(bytes)) => bytes.as_ref().len(),
        _ => 0,
    }
}

/// Input that was read from the cache, or written to it, stands beside the input; where the total says that it is in it
/// already, it is.
fn usage(usage: &TokenUsage) -> Usage {
    let count = |tokens: i32| u64::try_from(tokens).ok();
    let (read, write) = (usage.cache_read_input_tokens.and_then(count), usage.cache_write_input_tokens.and_then(count));
    let (input, output) = (count(usage.input_tokens), count(usage.output_tokens));
    let inside = input.zip(output).is_some_and(|(input, output)| count(usage.total_tokens) == Some(input + output));
    let beside = if inside { 0 } else { read.unwrap_or(0) + write.unwrap_or(0) };
    Usage::new().input(input.map(|input| input + beside)).output(output).cache_read(read).cache_write(write)
}

fn seconds(millis: i64) -> f64 {
    millis as f64 / 1e3
}

/// Requests of this client.
pub trait Request: sealed::Asks {}

mod sealed {
    pub trait Asks {
        fn model_name(&self) -> String;

        fn describe(&self, call: llmperf_core::Call) -> llmperf_core::Call;
    }
}

impl Request for ConverseStreamFluentBuilder {}
impl sealed::Asks for ConverseStreamFluentBuilder {
    fn model_name(&self) -> String {
        self.get_model_id().clone().unwrap_or_default()
    }

    fn describe(&self, call: Call) -> Call {
        asked(self.get_inference_config().as_ref()).tell(call)
    }
}

impl Request for ConverseFluentBuilder {}
impl sealed::Asks for ConverseFluentBuilder {
    fn model_name(&self) -> String {
        self.get_model_id().clone().unwrap_or_default()
    }

    fn describe(&self, call: Call) -> Call {
        asked(self.get_inference_config().as_ref()).tell(call)
    }
}

fn asked(parameters: Option<&InferenceConfiguration>) -> Asked {
    Asked {
        temperature: parameters.and_then(|given| given.temperature).map(as_written),
        top_p: parameters.and_then(|given| given.top_p).map(as_written),
        max_tokens: parameters.and_then(|given| given.max_tokens).map(i64::from),
        ..Asked::default()
    }
}

/// A request that failed before its stream began.
impl<E: ProvideErrorMetadata + std::error::Error + 'static> Failing for SdkError<E> {
    fn tell(&self, tell: &mut dyn FnMut(Failure<'_>)) {
        match self {
            Self::ServiceError(refused) => {
                let status = refused.raw().status().as_u16().to_string();
                let failure = Failure::new(refused.err().code().filter(|code| !code.is_empty()).unwrap_or(&status));
                tell(refused.err().message().map_or(failure, |message| failure.message(message)));
            }
            Self::TimeoutError(_) => tell(Failure::new("timeout")),
            other => tell(Failure::of(other)),
        }
    }
}

/// A stream that failed.
impl Failing for ReceiveError {
    fn tell(&self, tell: &mut dyn FnMut(Failure<'_>)) {
        match self {
            Self::ServiceError(exception) => {
                let name = match exception.raw() {
                    RawMessage::Decoded(message) => exception_name(message),
                    _ => None,
                };
                let failure = Failure::new(name.or(exception.err().code()).unwrap_or("exception"));
                tell(exception.err().message().map_or(failure, |message| failure.message(message)));
            }
            Self::ResponseError(broken) => match broken.raw() {
                // The body ended in the middle of a message.
                RawMessage::Invalid(Some(_)) => tell(Failure::transport("unexpected_eof")),
                _ => tell(Failure::new("malformed_stream")),
            },
            Self::DispatchFailure(_) => tell(Failure::transport("stream_failed")),
            Self::TimeoutError(_) => tell(Failure::new("timeout")),
            other => tell(Failure::of(other)),
        }
    }
}

/// The name of an exception, as it stands on the wire.
fn exception_name(message: &Message) -> Option<&str> {
    let header = message.headers().iter().find(|header| header.name().as_str() == ":exception-type")?;
    header.value().as_string().ok().map(StrBytes::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(total: i32) -> TokenUsage {
        let counts = TokenUsage::builder().input_tokens(24).output_tokens(4).total_tokens(total);
        counts.cache_read_input_tokens(16).cache_write_input_tokens(8).build().expect("all that is required")
    }

    #[test]
    fn what_the_cache_gave_is_added_unless_the_total_says_that_it_is_in_there() {
        let cached = Usage::new().cache_read(16).cache_write(8);
        assert_eq!(usage(&counts(24 + 16 + 8 + 4)), cached.input(48).output(4));
        assert_eq!(usage(&counts(24 + 4)), cached.input(24).output(4));
    }
}
