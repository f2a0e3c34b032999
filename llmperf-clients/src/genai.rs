//! [genai](https://docs.rs/genai): chats of all its providers, streamed and whole.
//!
//! ```no_run
//! use futures::StreamExt as _;
//! use genai::{Client, ModelIden, adapter::AdapterKind, chat::{ChatOptions, ChatRequest}};
//! use llmperf_clients::genai as measured;
//!
//! # async fn ask(request: ChatRequest) -> genai::Result<()> {
//! let client = Client::new()?;
//! let model = ModelIden::new(AdapterKind::Anthropic, "claude-sonnet-4-6");
//! let options = ChatOptions::default().with_capture_usage(true).with_max_tokens(512);
//! let call = measured::call(&model, Some(&options));
//! let mut reply = measured::open(call, client.exec_chat_stream(model, request, Some(&options))).await?;
//! while let Some(event) = reply.next().await {
//!     // The application's own work; every event comes as the client gave it.
//! }
//! println!("{}", reply.timing());
//! # Ok(()) }
//! ```
//!
//! Ask for `capture_usage`: without it a stream has no token counts, and so no TPOT.
//!
//! | event | means |
//! |---|---|
//! | `Chunk` | text |
//! | `ReasoningChunk` | reasoning |
//! | `ToolCallChunk` | tool call: its name, and what its arguments have grown by |
//! | `ThoughtSignatureChunk`, `Heartbeat` | an event without output |
//! | `End` with a stop reason | usage, finish reason, id, the marker |
//! | `End` without one | usage; the client makes it up where a stream just ended, so it ends nothing here |
//! | `Start` | nothing: it comes before the request has left |
//!
//! The client brings usage into one form (input with cached tokens, output with reasoning); where its total shows that it has not
//! (Bedrock's cached tokens), it is done here.
//!
//! # What the client hides
//!
//! - **The head.** Its stream sends the request when it is first polled: there is no time to head, and a refused request is an
//!   error *item*. A connection that fails before any event is an error, not an interruption.
//! - **Finish reasons until the end.** A provider that leaves out its marker (`[DONE]`) looks interrupted.
//! - **Model and id** that answered; the id is there for Responses only.
//! - **Codes of Responses' and Interactions' failures**: their words are an error of the client's.
//! - **Choices** but the first.

use std::{
    future::{Future, poll_fn},
    pin::pin,
};

use genai::{
    ModelIden,
    adapter::AdapterKind,
    chat::{
        BinarySource, ChatOptions, ChatResponse, ChatStream, ChatStreamEvent, ChatStreamResponse, ContentPart,
        StopReason, ToolCall, Usage as Counts,
    },
};
use llmperf_core::{Call, Kind, Measured, Output, Read, Reader, Recorder, Sees, Usage};
use serde_json::Value;

use crate::{
    asked::Asked,
    failing::{Failing, told},
    written,
};

mod arguments;
mod errors;

use arguments::Arguments;

/// A call to `model`, with the parameters of `options` (temperature, limits, seed) on the span. The clock starts now.
///
/// The provider is the adapter's, by its name in the conventions where it has one.
pub fn call(model: &ModelIden, options: Option<&ChatOptions>) -> Call {
    let name: &str = &model.model_name;
    describe(llmperf_core::chat(provider(model.adapter_kind), name.to_owned()), options)
}

/// Puts the parameters of `options` on the span of a call that was made by hand.
pub fn describe(call: Call, options: Option<&ChatOptions>) -> Call {
    let Some(options) = options else { return call };
    let asked = Asked {
        temperature: options.temperature,
        top_p: options.top_p,
        max_tokens: options.max_tokens.map(i64::from),
        seed: options.seed.and_then(|seed| i64::try_from(seed).ok()),
        ..Asked::default()
    };
    asked.tell(call)
}

/// Awaits what `exec_chat_stream` gives and measures its stream, in which the request is sent. The call is armed at the first
/// poll.
///
/// # Errors
///
/// The client's own, unchanged.
pub async fn open<F>(call: Call, request: F) -> genai::Result<Measured<ChatStream, Chat>>
where
    F: Future<Output = genai::Result<ChatStreamResponse>>,
{
    // Not `Call::open`: that would take the return of this for the response head.
    let mut call = call.start();
    let mut request = pin!(request);
    match poll_fn(|cx| call.in_scope(|| request.as_mut().poll(cx))).await {
        Ok(response) => Ok(measure(response.stream, call)),
        Err(error) => {
            error.tell(&mut |failure| call.failure(failure));
            Err(error)
        }
    }
}

/// Measures a stream that is there already; its request is sent when it is first polled.
pub fn measure(stream: ChatStream, call: impl Into<Recorder>) -> Measured<ChatStream, Chat> {
    Measured::new(stream, call, Chat::default())
}

/// Awaits what `exec_chat` gives: as [`Call::run`], with the answer's usage, model, id and stop reason.
pub fn run<F>(call: Call, request: F) -> impl Future<Output = genai::Result<ChatResponse>>
where
    F: Future<Output = genai::Result<ChatResponse>>,
{
    call.run_with(told(request), whole)
}

/// Reads the events of a chat stream. It sees the marker, as the end that the client tells.
#[derive(Clone, Debug, Default)]
pub struct Chat {
    arguments: Arguments,
}

impl Reader<genai::Result<ChatStreamEvent>> for Chat {
    const SEES: Sees = Sees::Marker;

    fn read(&mut self, item: &genai::Result<ChatStreamEvent>, read: &mut Read<'_>) {
        match item {
            Ok(ChatStreamEvent::Start) => {}
            Ok(ChatStreamEvent::ToolCallChunk(chunk)) => self.tell_call(&chunk.tool_call, read),
            Ok(event) => read.event(carries(event)),
            Err(error) => error.tell(&mut |failure| read.event(Output::failure(failure))),
        }
    }
}

impl Chat {
    fn tell_call(&mut self, call: &ToolCall, read: &mut Read<'_>) {
        let begins = self.arguments.begins(&call.call_id);
        let named = if begins { Output::tool(&call.fn_name) } else { Output::none() };
        match &call.fn_arguments {
            Value::String(arguments) => {
                let added = self.arguments.added(arguments);
                if begins {
                    read.event(named);
                    read.also(Output::tool(added));
                } else {
                    read.event(Output::tool(added));
                }
            }
            arguments => read.event(named.and_sized(Kind::Tool, written::size(arguments))),
        }
    }
}

fn carries(event: &ChatStreamEvent) -> Output<'_> {
    match event {
        ChatStreamEvent::Chunk(chunk) => Output::text(&chunk.content),
        ChatStreamEvent::ReasoningChunk(chunk) => Output::reasoning(&chunk.content),
        ChatStreamEvent::End(end) => {
            let ended = Output::none()
                .and_usage(end.captured_usage.as_ref().map(usage))
                .id(end.captured_response_id.as_deref());
            match &end.captured_stop_reason {
                Some(reason) => ended.and_finish(reason.raw()).and_done(),
                None => ended,
            }
        }
        ChatStreamEvent::Start
        | ChatStreamEvent::ToolCallChunk(_)
        | ChatStreamEvent::ThoughtSignatureChunk(_)
        | ChatStreamEvent::Heartbeat => Output::none(),
    }
}

fn whole(answer: &ChatResponse) -> Output<'_> {
    let model: &str = &answer.provider_model_iden.model_name;
    let output = Output::none()
        .model(model)
        .id(answer.response_id.as_deref())
        .and_usage(usage(&answer.usage))
        .and_finish(answer.stop_reason.as_ref().map(StopReason::raw))
        .and_reasoning(answer.reasoning_content.as_deref().unwrap_or_default());
    answer.content.parts().iter().fold(output, |output, part| match part {
        ContentPart::Text(text) => output.and_text(text),
        ContentPart::ReasoningContent(text) => output.and_reasoning(text),
        ContentPart::ToolCall(call) => output.and(Kind::Tool, &call.fn_name),
        ContentPart::Binary(binary) => match &binary.source {
            BinarySource::Base64(data) => output.and_sized(Kind::Media, data.len()),
            BinarySource::Url(_) => output,
        },
        _ => output,
    })
}

fn usage(counts: &Counts) -> Usage {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    let input_details = counts.prompt_tokens_details.as_ref();
    let output_details = counts.completion_tokens_details.as_ref();
    let read = count(input_details.and_then(|details| details.cached_tokens));
    let write = count(input_details.and_then(|details| details.cache_creation_tokens));
    let (input, output) = (count(counts.prompt_tokens), count(counts.completion_tokens));
    let cached = read.unwrap_or(0) + write.unwrap_or(0);
    let beside = |(input, output)| count(counts.total_tokens) == Some(input + output + cached);
    let outside = if input.zip(output).is_some_and(beside) { cached } else { 0 };
    Usage::new()
        .input(input.map(|input| input + outside))
        .output(output)
        .cache_read(read)
        .cache_write(write)
        .reasoning(count(output_details.and_then(|details| details.reasoning_tokens)))
        .audio_input(count(input_details.and_then(|details| details.audio_tokens)))
        .audio_output(count(output_details.and_then(|details| details.audio_tokens)))
}

/// The name of a provider in the conventions, else the client's own.
fn provider(adapter: AdapterKind) -> &'static str {
    match adapter {
        AdapterKind::OpenAI | AdapterKind::OpenAIResp => "openai",
        AdapterKind::Gemini | AdapterKind::GeminiIx => "gcp.gemini",
        AdapterKind::Vertex => "gcp.vertex_ai",
        AdapterKind::Xai => "x_ai",
        AdapterKind::Mistral => "mistral_ai",
        AdapterKind::Moonshot | AdapterKind::Kimi => "moonshot_ai",
        AdapterKind::BedrockApi => "aws.bedrock",
        AdapterKind::OllamaCloud => "ollama",
        other => match other.as_lower_str() {
            "bedrock_sigv4" => "aws.bedrock",
            name => name,
        },
    }
}

#[cfg(test)]
mod tests {
    use genai::chat::{CompletionTokensDetails, PromptTokensDetails};

    use super::*;

    fn counts(total: i32) -> Counts {
        Counts {
            prompt_tokens: Some(24),
            prompt_tokens_details: Some(PromptTokensDetails { cached_tokens: Some(16), ..Default::default() }),
            completion_tokens: Some(4),
            completion_tokens_details: Some(CompletionTokensDetails {
                reasoning_tokens: Some(3),
                ..Default::default()
            }),
            total_tokens: Some(total),
        }
    }

    #[test]
    fn cached_tokens_are_added_where_the_total_says_that_they_stand_beside() {
        let rest = Usage::new().output(4).cache_read(16).reasoning(3);
        assert_eq!(usage(&counts(24 + 4)), rest.input(24));
        assert_eq!(usage(&counts(24 + 16 + 4)), rest.input(40));
    }

    #[test]
    fn a_figure_that_the_client_does_not_tell_is_absent() {
        assert!(usage(&Counts::default()).is_empty());
        assert!(usage(&Counts { prompt_tokens: Some(-1), ..Default::default() }).is_empty());
    }
}
