//! Measures the chat streams of async-openai by its adapter, and by a closure what the client has no field for.
//!
//! `cargo run --example async_openai`. It asks the local server; for a real one, leave out the base URL below.
//!
//! What a typed client hides, nobody behind it can measure:
//! - its chunks have no field for reasoning (`reasoning_content`, `reasoning`): a model that reasons aloud seems silent
//!   until it answers. Chunks of your own type have one: a closure says what they carry, and TTFT is right again;
//! - it swallows `[DONE]`, so a stream counts as whole by its finish reason;
//! - it waits and retries by itself when it is told to slow down (429): the wait is in the time to head, the attempts are
//!   hidden;
//! - it reads in a task of its own and queues what came: stamps are taken when the queue is polled.
//!
//! Where that is too little, measure in the HTTP client underneath (the example `reqwest_middleware`).

#![allow(clippy::print_stdout, reason = "an example talks to its reader")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod server;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod terminal;

use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, CreateChatCompletionRequest,
    CreateChatCompletionRequestArgs,
};
use futures_util::{Stream, StreamExt as _};
use llmperf::clients::async_openai as measured;
use llmperf::{Outcome, Output, Timing};
use serde::Deserialize;

use server::{Consumer, Ending, Plan, Record, Server, THINKER};
use terminal::{Table, duration, say};

type Error = Box<dyn std::error::Error + Send + Sync>;

const SEED: u64 = 610;
const CALLS: usize = 8;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut plans: Vec<_> = plans().take(CALLS).collect();
    // Asked twice, once for each way to measure it.
    plans.extend(self::plans().find(|plan| plan.model == THINKER && plan.outcome() == Outcome::Complete));
    plans.extend(plans.last().cloned());
    let told = plans.clone();
    let server = Server::start(move |index| told[index as usize % told.len()].clone())?;
    let http = load::Client::new(&server.base_url(), None)?.http().clone();
    let config = OpenAIConfig::new().with_api_base(server.base_url()).with_api_key("none");
    let client = Client::build(http, config);

    let mut table = Table::new(["asked by", "model", "TTFT", "injected", "first answer", "injected", "E2E", "ended"]);
    let mut wrong = 0;
    for (index, plan) in plans.iter().enumerate() {
        let by_closure = index + 1 == plans.len();
        let asked = if by_closure { ask_own(&client, plan.model).await } else { ask(&client, plan.model).await };
        wrong += usize::from(!asked.as_ref().is_ok_and(|timing| timing.outcome == Some(plan.outcome())));
        let did = server.ledger().records().pop();
        let how = if by_closure { "closure" } else { "adapter" };
        table = table.row([how.to_owned(), plan.model.to_owned()].into_iter().chain(cells(asked, did.as_ref())));
    }
    say!("{table}");
    say!("The last two are one answer, and it begins with reasoning.");
    match wrong {
        0 => Ok(()),
        wrong => Err(format!("{wrong} of {} calls ended otherwise than planned", plans.len()).into()),
    }
}

/// What the server does, call by call. Refusals are left out: the client would ask again until it is answered.
fn plans() -> impl Iterator<Item = Plan> {
    let answered = |plan: &Plan| !matches!(plan.ending, Ending::Silent | Ending::Refused(_));
    (0..).map(|index| Plan::nth(SEED, index)).filter(move |plan| answered(plan) && plan.consumer == Consumer::Prompt)
}

/// One measured call. The clock starts at `call`, before the request leaves.
async fn ask(client: &Client<OpenAIConfig>, model: &str) -> Result<Timing, OpenAIError> {
    let request = question(model)?;
    let call = measured::call("openai", &request);
    let mut reply = measured::open(call, client.chat().create_stream(request)).await?;
    read(&mut reply).await;
    Ok(reply.into_timing())
}

/// As [`ask`], with chunks of a type that has reasoning. `create_stream_byot` is a feature of the client: `byot`.
async fn ask_own(client: &Client<OpenAIConfig>, model: &str) -> Result<Timing, OpenAIError> {
    let request = question(model)?;
    let call = measured::call("openai", &request);
    let chat = client.chat();
    let request = chat.create_stream_byot::<_, Chunk>(request);
    let mut reply = call.open_by(request, measured::own(carries)).await?;
    read(&mut reply).await;
    Ok(reply.into_timing())
}

/// The application's own work; the stream gives every chunk as it came.
async fn read<T>(mut chunks: impl Stream<Item = Result<T, OpenAIError>> + Unpin) {
    while let Some(Ok(_chunk)) = chunks.next().await {}
}

fn question(model: &str) -> Result<CreateChatCompletionRequest, OpenAIError> {
    CreateChatCompletionRequestArgs::default()
        .model(model)
        .messages([ChatCompletionRequestUserMessage::from("Which way to the harbour?").into()])
        // With the client's feature `byot` nobody else says so.
        .stream(true)
        // Without it there are no token counts, and so no TPOT.
        .stream_options(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None })
        .build()
}

/// What the application needs of a chunk.
#[derive(Debug, Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
    usage: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Delta {
    reasoning_content: Option<String>,
    content: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Tokens {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// What one chunk carries.
fn carries(chunk: &Chunk) -> Output<'_> {
    let carried = match &chunk.usage {
        Some(usage) => Output::usage(usage.prompt_tokens, usage.completion_tokens),
        None => Output::none(),
    };
    let Some(choice) = chunk.choices.first() else { return carried };
    carried
        .and_reasoning(choice.delta.reasoning_content.as_deref().unwrap_or_default())
        .and_text(choice.delta.content.as_deref().unwrap_or_default())
        .and_finish(choice.finish_reason.as_deref())
}

/// A row of the table: what was measured, and what the server did.
fn cells(asked: Result<Timing, OpenAIError>, did: Option<&Record>) -> Vec<String> {
    let time = |time: Option<Duration>| time.map_or("-".into(), duration);
    match asked {
        Ok(timing) => vec![
            time(timing.time_to_first_token),
            time(did.and_then(Record::time_to_first_token)),
            time(timing.time_to_first_answer),
            time(did.and_then(Record::time_to_first_answer)),
            duration(timing.duration),
            timing.outcome.map_or("not at all".into(), |outcome| outcome.to_string()),
        ],
        Err(error) => vec![error.to_string()],
    }
}
