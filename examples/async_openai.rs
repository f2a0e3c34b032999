//! Measures the chat streams of async-openai: a closure says what a chunk carries.
//!
//! `cargo run --example async_openai`. It asks the local server; for a real one, leave out the base URL below.
//!
//! What a typed client hides, nobody behind it can measure:
//! - its chunks have no field for reasoning (`reasoning_content`, `reasoning`): a model that reasons aloud seems silent
//!   until it answers, so its TTFT is the time to its first answer;
//! - it swallows `[DONE]`, so a stream counts as whole by its finish reason: `.sees(Sees::Finish)`;
//! - it waits and retries by itself when it is told to slow down (429): the wait is in the time to head, the attempts are
//!   hidden;
//! - an error frame inside a stream becomes its error for what does not parse, whose name is then the `error.type`;
//! - it reads in a task of its own and queues what came: stamps are taken when the queue is polled.
//!
//! Where that is too little, measure the bytes underneath (`measure_wire`).

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod server;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, CompletionUsage, CreateChatCompletionRequest,
    CreateChatCompletionRequestArgs, CreateChatCompletionStreamResponse, FinishReason,
};
use futures_util::{StreamExt as _, TryFutureExt as _};
use llmperf::{Failure, Kind, Output, Sees, Timing, Usage};

use server::{Ending, Plan, Server};

type Error = Box<dyn std::error::Error + Send + Sync>;

const SEED: u64 = 610;
const CALLS: usize = 8;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let plans: Vec<_> = plans().take(CALLS).collect();
    let models: Vec<_> = plans.iter().map(|plan| plan.model).collect();
    let server = Server::start(move |index| plans[index as usize % CALLS].clone())?;
    let http = load::Client::new(&server.base_url(), None)?.http().clone();
    let config = OpenAIConfig::new().with_api_base(server.base_url()).with_api_key("none");
    let client = Client::build(http, config);

    for model in models {
        match ask(&client, model).await {
            Ok(timing) => println!("{model}: {timing}"),
            Err(error) => println!("{model}: {error}"),
        }
    }
    println!("\n{}", llmperf::stats::snapshot());
    Ok(())
}

/// What the server does, call by call: everything but streams that wait for their client to leave.
fn plans() -> impl Iterator<Item = Plan> {
    (0..).map(|index| Plan::nth(SEED, index)).filter(|plan| plan.ending != Ending::Silent)
}

/// One measured call. The clock starts at `chat`, before the request leaves.
async fn ask(client: &Client<OpenAIConfig>, model: &'static str) -> Result<Timing, OpenAIError> {
    let chat = client.chat();
    let request = chat.create_stream(question(model)?).inspect_err(tell_status);
    let call = llmperf::chat("openai", model).sees(Sees::Finish);
    let mut reply = call.open_with(request, item).await?;
    while let Some(chunk) = reply.next().await {
        // The application's own work; the stream gives every chunk as it came.
        if chunk.is_err() {
            break;
        }
    }
    Ok(reply.into_timing())
}

fn question(model: &str) -> Result<CreateChatCompletionRequest, OpenAIError> {
    CreateChatCompletionRequestArgs::default()
        .model(model)
        .messages([ChatCompletionRequestUserMessage::from("Which way to the harbour?").into()])
        // Without it there are no token counts, and so no TPOT.
        .stream_options(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None })
        .build()
}

/// What one item of the stream carries. The error for a connection that broke has only words in it, so it is named here;
/// where an error's source chain tells, `try_open_with` and a closure over chunks are enough.
fn item(item: &Result<CreateChatCompletionStreamResponse, OpenAIError>) -> Output<'_> {
    match item {
        Ok(chunk) => carries(chunk),
        Err(OpenAIError::StreamError(_)) => Output::failure(Failure::transport("stream_failed")),
        Err(error) => Output::failure(Failure::of(error)),
    }
}

/// What one chunk carries; with `n` choices in a request, each chunk has one of them.
fn carries(chunk: &CreateChatCompletionStreamResponse) -> Output<'_> {
    let usage = chunk.usage.as_ref().map(usage);
    let carried = Output::none().model(chunk.model.as_str()).id(chunk.id.as_str()).and_usage(usage);
    let Some(choice) = chunk.choices.first() else { return carried };

    let delta = &choice.delta;
    let functions = delta.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref());
    let tools = functions.flat_map(|function| [&function.name, &function.arguments]).flatten();
    tools
        .fold(carried, |carried, part| carried.and(Kind::Tool, part))
        .and_text(delta.content.as_deref().unwrap_or_default())
        .and(Kind::Refusal, delta.refusal.as_deref().unwrap_or_default())
        .and_finish(choice.finish_reason.map(word))
        .choice(choice.index)
}

fn usage(usage: &CompletionUsage) -> Usage {
    let cached = usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens);
    let reasoning = usage.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens);
    Usage::of(usage.prompt_tokens.into(), usage.completion_tokens.into())
        .cache_read(cached.map(u64::from))
        .reasoning(reasoning.map(u64::from))
}

fn word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::ContentFilter => "content_filter",
        FinishReason::FunctionCall => "function_call",
    }
}

/// The status of a refused request says more than the type of the error.
fn tell_status(error: &OpenAIError) {
    if let (OpenAIError::ApiError(refusal), Some(call)) = (error, llmperf::current_call()) {
        call.status(refusal.status_code.as_u16());
    }
}
