//! Ollama's streams, which are lines of JSON, and its own times beside ours: what is the model, what is not.
//!
//! `cargo run --example ollama`. The same questions go out by ollama-rs, measured by its adapter, and as plain posts, whose
//! bytes are measured underneath. The last line of an answer says how long the server took to load, to read the prompt and
//! to generate; the rest of our time is the network's, or a queue's before the server looked at its clock. The example fails
//! if a call ends otherwise, has other tokens or says less than the local server planned.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its reader")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod server;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod terminal;

use std::time::Duration;

use futures_util::StreamExt as _;
use llmperf::clients::ollama_rs as measured;
use llmperf::testing::Probe;
use llmperf::{Dialect, Instrumentation, OpenWire as _, Outcome, Timing, semconv};
use ollama_rs::Ollama;
use ollama_rs::generation::chat::ChatMessage;
use ollama_rs::generation::chat::request::ChatMessageRequest;

use server::{Consumer, Plan, Record, Server};
use terminal::{Table, duration, say, seconds};

type Error = Box<dyn std::error::Error + Send + Sync>;

const SEED: u64 = 7;
const CALLS: usize = 5;
const QUESTION: &str = "Which way to the harbour?";
/// What the server says of itself, in the order of the table.
const TOLD: [&str; 4] =
    [semconv::SERVER_TOTAL, semconv::SERVER_LOAD, semconv::SERVER_PROMPT, semconv::SERVER_GENERATION];

#[tokio::main]
async fn main() -> Result<(), Error> {
    let plans: Vec<_> = plans().take(CALLS).collect();
    let told = plans.clone();
    let server = Server::start(move |index| told[index as usize % CALLS].clone())?;
    // For the spans, whose attributes are shown below; an application has an exporter here.
    let spans = Probe::new();
    Instrumentation::builder().tracer_provider(spans.tracer_provider()).build().make_global();

    let ollama = Ollama::try_new(server.url("/"))?;
    let http = load::Client::new(&server.base_url(), None)?.http().clone();
    let mut asked = Vec::new();
    for plan in &plans {
        let timing = by_client(&ollama, plan.model).await?;
        asked.push(Asked::last("ollama-rs", plan, timing, &spans, &server));
    }
    for plan in &plans {
        let timing = by_bytes(&http, &server.url("/api/chat"), plan.model).await?;
        asked.push(Asked::last("bytes", plan, timing, &spans, &server));
    }

    say!("What was measured, and the server's own words\n\n{}", times(&asked));
    say!(
        "Total to generation are the server's words, the rest is E2E less its total: the way there and back. The local"
    );
    say!("server says what it planned; its timers, a millisecond late at each line, are most of the rest here.\n");
    say!("What was measured, and what the local server did\n\n{}", injected(&asked));
    match asked.iter().filter(|asked| !asked.is_right()).count() {
        0 => Ok(()),
        wrong => Err(format!("{wrong} of {} calls were measured wrongly", asked.len()).into()),
    }
}

/// Answers that are read at once and end well.
fn plans() -> impl Iterator<Item = Plan> {
    let well = |plan: &Plan| plan.outcome() == Outcome::Complete && plan.consumer == Consumer::Prompt;
    (0..).map(|index| Plan::nth(SEED, index)).filter(well)
}

/// With ollama-rs. The clock starts at `call`, before the request leaves.
async fn by_client(ollama: &Ollama, model: &str) -> Result<Timing, Error> {
    let request = ChatMessageRequest::new(model.into(), vec![ChatMessage::user(QUESTION.into())]);
    let call = measured::call(&request);
    let mut reply = measured::open(call, ollama.send_chat_messages_stream(request)).await?;
    while let Some(message) = reply.next().await {
        message.map_err(|()| "the stream broke")?;
    }
    Ok(reply.into_timing())
}

/// As bytes, which pass untouched: a stream that is there already takes `measure_wire`.
async fn by_bytes(http: &reqwest::Client, url: &str, model: &'static str) -> Result<Timing, Error> {
    let request = http.post(url).json(&server::Dialect::OllamaChat.question(model, QUESTION, true));
    let response = async {
        let response = request.send().await?;
        if let Some(call) = llmperf::current_call() {
            call.status(response.status().as_u16());
        }
        Ok::<_, reqwest::Error>(response.bytes_stream())
    };
    let mut body = llmperf::chat("ollama", model).open_wire(response, Dialect::Ollama).await?;
    while let Some(bytes) = body.next().await {
        bytes?;
    }
    Ok(body.into_timing())
}

/// One call: what was planned, measured, told and done.
struct Asked<'a> {
    how: &'static str,
    plan: &'a Plan,
    timing: Timing,
    /// What the server says of itself, in seconds.
    told: [Option<f64>; 4],
    did: Option<Record>,
}

impl<'a> Asked<'a> {
    /// The call that ended last.
    fn last(how: &'static str, plan: &'a Plan, timing: Timing, spans: &Probe, server: &Server) -> Self {
        let span = spans.spans().pop();
        let attribute = |name: &str| {
            let mut attributes = span.as_ref()?.attributes.iter();
            attributes.find(|attribute| attribute.key.as_str() == name)?.value.to_string().parse().ok()
        };
        Self { how, plan, timing, told: TOLD.map(attribute), did: server.ledger().records().pop() }
    }

    fn is_right(&self) -> bool {
        self.timing.outcome == Some(Outcome::Complete)
            && self.timing.usage.output_tokens() == Some(u64::from(self.plan.output_tokens()))
            && self.told.iter().all(Option::is_some)
    }
}

fn times(asked: &[Asked<'_>]) -> Table {
    let table = Table::new(["asked with", "model", "E2E", "total", "rest", "load", "prompt", "generation"]);
    let row = |table: Table, asked: &Asked<'_>| {
        let [total, load, prompt, generation] = asked.told;
        let rest = total.map(|total| asked.timing.duration.as_secs_f64() - total);
        let told = [total, rest, load, prompt, generation].map(|time| time.map_or("-".into(), seconds));
        let ours = [asked.how.into(), asked.plan.model.into(), duration(asked.timing.duration)];
        table.row(ours.into_iter().chain(told))
    };
    asked.iter().fold(table, row)
}

fn injected(asked: &[Asked<'_>]) -> Table {
    let table = Table::new(["asked with", "model", "TTFT", "injected", "E2E", "injected", "tokens", "injected"]);
    let row = |table: Table, asked: &Asked<'_>| {
        let (timing, did) = (&asked.timing, |time: fn(&Record) -> Option<Duration>| asked.did.as_ref().and_then(time));
        let first = [timing.time_to_first_token, did(Record::time_to_first_token)];
        let times = first.into_iter().chain([Some(timing.duration), did(Record::duration)]);
        let times = times.map(|time| time.map_or("-".into(), duration));
        let tokens = timing.usage.output_tokens().map_or("-".into(), |tokens| tokens.to_string());
        let call = [asked.how.to_owned(), asked.plan.model.to_owned()];
        table.row(call.into_iter().chain(times).chain([tokens, asked.plan.output_tokens().to_string()]))
    };
    asked.iter().fold(table, row)
}
