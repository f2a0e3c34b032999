//! One middleware in the HTTP client measures what async-openai asks, and no line of the application does.
//!
//! `cargo run --example reqwest_middleware`. async-openai takes any service that answers its requests: here a client of
//! reqwest-middleware, which retries and measures. It measures plain posts just as well. Below the client of an API there is
//! more to see than above it: reasoning, the marker, when the bytes came, and each attempt. A call that is measured above it
//! too is counted once. The example fails if one is not, or ends otherwise than the local server planned.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its reader")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod server;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod terminal;

use std::sync::Arc;
use std::time::Duration;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use async_openai::types::chat::{
    ChatCompletionRequestUserMessage, ChatCompletionStreamOptions, CreateChatCompletionRequest,
    CreateChatCompletionRequestArgs, CreateChatCompletionStreamResponse as Chunk,
};
use async_trait::async_trait;
use axum::http::Extensions;
use futures_util::{Stream, StreamExt as _};
use llmperf::clients::async_openai as measured;
use llmperf::http::Measure;
use llmperf::testing::{self, Probe};
use llmperf::{Instrumentation, Outcome};
use reqwest::{Request, Response, StatusCode};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};
use serde_json::json;

use load::Calls;
use server::{Consumer, Dialect, Ending, Plan, SWIFT, Server};
use terminal::{Table, duration, say};

type Error = Box<dyn std::error::Error + Send + Sync>;

const SEED: u64 = 610;
/// Calls that async-openai makes on its own.
const CALLS: usize = 8;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let plans = plans();
    let told = plans.clone();
    // The server answers by these plans in their order, and then by the last one.
    let server = Server::start(move |index| told[told.len().min(index as usize + 1) - 1].clone())?;
    let (spans, calls) = (Probe::new(), Calls::default());
    let instrumentation =
        Instrumentation::builder().tracer_provider(spans.tracer_provider()).observer(Arc::new(calls.clone())).build();

    let plain = load::Client::new(&server.base_url(), None)?.http().clone();
    let http = client(plain.clone(), &instrumentation);
    let openai = openai(plain, http.clone(), &server);
    let mut report =
        Report { server: &server, calls: &calls, plans: &plans, rows: Vec::new(), requests: 0, asked: 0, wrong: 0 };

    // As if nothing were measured.
    for plan in plans.iter().filter(|plan| !matches!(plan.ending, Ending::Refused(_))).take(CALLS) {
        let chunks = read(openai.chat().create_stream(question(plan.model)?).await?).await;
        report.note("async-openai", Dialect::OpenAiChat, chunks, &instrumentation).await;
    }

    // Another dialect, without a client of its API.
    let dialect = Dialect::OllamaChat;
    let request = http.post(server.url(&dialect.path(SWIFT, true))).json(&dialect.question(SWIFT, "Which way?", true));
    let lines = request.send().await?.text().await?.lines().count();
    report.note("plain post", dialect, format!("{lines} lines"), &instrumentation).await;

    // Measured above async-openai too.
    let before = spans.spans().len();
    let request = question(SWIFT)?;
    let call = measured::describe(instrumentation.chat("local", SWIFT), &request);
    let chat = openai.chat();
    let mut reply = measured::open(call, chat.create_stream(request)).await?;
    let chunks = read(&mut reply).await;
    let above = reply.into_timing();
    report.note("with its adapter", Dialect::OpenAiChat, chunks, &instrumentation).await;

    let table =
        Table::new(["asked with", "model", "injected", "TTFT", "tokens", "attempts", "ended", "application saw"]);
    say!("{}", report.rows.iter().cloned().fold(table, Table::row));
    say!("Injected is from the request's arrival at the server to its first output, retries included.\n");
    say!("The last call as its spans: the adapter's, the middleware's around the retry, the one attempt below it\n");
    say!("{}\n{above}\n", testing::render(&spans.spans()[before..]));

    // What else passes is told apart, or not measured at all.
    let input = json!({ "model": SWIFT, "input": "the harbour" });
    http.post(server.url("/v1/embeddings")).json(&input).send().await?.bytes().await?;
    http.get(server.url("/v1/models")).send().await?.bytes().await?;
    settled(&instrumentation).await;
    let (asked, counted) = (report.asked + 1, calls.all().len());
    say!("{counted} calls counted, {asked} made, one of them an embedding");
    match (report.wrong, counted == asked) {
        (0, true) => Ok(()),
        (wrong, _) => Err(format!("{wrong} calls were measured wrongly, {counted} of {asked} counted").into()),
    }
}

/// What the server does: all sorts of answers and failures, and a refusal before the third.
fn plans() -> Vec<Plan> {
    let read_at_once = |plan: &Plan| plan.consumer == Consumer::Prompt && !matches!(plan.ending, Ending::Refused(_));
    let planned = (0..).map(|index| Plan::nth(SEED, index)).filter(read_at_once);
    let mut plans: Vec<_> = planned.take(CALLS).collect();
    plans.insert(2, Plan { ending: Ending::Refused(503), bursts: Vec::new(), ..plans[2].clone() });
    plans.extend([Plan::steady(Duration::from_millis(20), 20), Plan::steady(Duration::from_millis(20), 20)]);
    plans
}

// ---- the client ----

/// The client that measures: a call is what goes in above, its attempts are what leaves below.
fn client(plain: reqwest::Client, instrumentation: &Instrumentation) -> ClientWithMiddleware {
    let measure = || Measure::new().instrumentation(instrumentation).provider("local");
    ClientBuilder::new(plain).with(measure()).with(Again).with(measure()).build()
}

/// async-openai over that client.
fn openai(plain: reqwest::Client, http: ClientWithMiddleware, server: &Server) -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new().with_api_base(server.base_url()).with_api_key("none");
    let service = tower::service_fn(move |request: HttpRequestFactory| {
        let http = http.clone();
        async move { http.execute(request.build().await?).await.map_err(error) }
    });
    Client::build(plain, config).with_http_service(service)
}

fn error(error: reqwest_middleware::Error) -> OpenAIError {
    match error {
        reqwest_middleware::Error::Reqwest(error) => OpenAIError::Reqwest(error),
        reqwest_middleware::Error::Middleware(error) => OpenAIError::Boxed(error.into()),
    }
}

/// Asks once more where the server has no place; your own retry does it better.
struct Again;

#[async_trait]
impl Middleware for Again {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        let again = request.try_clone();
        let response = next.clone().run(request, extensions).await?;
        match again {
            Some(again) if response.status() == StatusCode::SERVICE_UNAVAILABLE => next.run(again, extensions).await,
            _ => Ok(response),
        }
    }
}

// ---- the application ----

fn question(model: &str) -> Result<CreateChatCompletionRequest, OpenAIError> {
    CreateChatCompletionRequestArgs::default()
        .model(model)
        .messages([ChatCompletionRequestUserMessage::from("Which way to the harbour?").into()])
        .stream(true)
        .stream_options(ChatCompletionStreamOptions { include_usage: Some(true), include_obfuscation: None })
        .build()
}

/// The application's own work: it reads a stream to its end or its error, and says what it saw.
async fn read(mut chunks: impl Stream<Item = Result<Chunk, OpenAIError>> + Unpin) -> String {
    let mut seen = 0;
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(_) => seen += 1,
            Err(error) => {
                let error = error.to_string();
                return format!("{seen} chunks, {}", error.split(':').next().unwrap_or_default());
            }
        }
    }
    format!("{seen} chunks")
}

// ---- what was found ----

/// Call by call, what the server did beside what was measured.
struct Report<'a> {
    server: &'a Server,
    calls: &'a Calls,
    plans: &'a [Plan],
    rows: Vec<Vec<String>>,
    /// Requests that the server has seen.
    requests: usize,
    asked: usize,
    wrong: usize,
}

impl Report<'_> {
    /// A call has been made: the next one in the ledger, and the last one that was counted.
    async fn note(&mut self, how: &str, dialect: Dialect, seen: String, instrumentation: &Instrumentation) {
        settled(instrumentation).await;
        let (records, calls) = (self.server.ledger().records(), self.calls.all());
        let requests = records.get(self.requests..).unwrap_or_default();
        let (Some(first), Some(last), Some(call)) = (requests.first(), requests.last(), calls.last()) else { return };
        self.requests = records.len();
        self.asked += 1;

        let plan = &self.plans[usize::try_from(last.plan).unwrap_or_default().min(self.plans.len() - 1)];
        let (timing, outcome) = (&call.timing, dialect.outcome(plan));
        let tokens = (outcome == Outcome::Complete).then(|| u64::from(plan.output_tokens()));
        let right = timing.outcome == Some(outcome)
            && timing.usage.output_tokens() == tokens
            && timing.attempts == u32::try_from(requests.len()).ok()
            && calls.len() == self.asked;
        self.wrong += usize::from(!right);

        let injected = last.time_to_first_token().map(|time| last.received - first.received + time);
        let time = |time: Option<Duration>| time.map_or("-".into(), duration);
        let ended = timing.outcome.map_or("not at all".into(), |outcome| outcome.to_string());
        let attempts = timing.attempts.map_or("-".into(), |attempts| attempts.to_string());
        let tokens = timing.usage.output_tokens().map_or("-".into(), |tokens| tokens.to_string());
        let row = [how.into(), call.model.clone(), time(injected), time(timing.time_to_first_token), tokens, attempts];
        self.rows.push(row.into_iter().chain([ended, seen]).collect());
    }
}

/// Waits for the calls under way: async-openai reads in a task of its own, which may end after its reader.
async fn settled(instrumentation: &Instrumentation) {
    while instrumentation.live_calls() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
