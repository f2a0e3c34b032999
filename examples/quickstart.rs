//! Runs a few hundred streamed calls against a local OpenAI-compatible server, or some against a real one, and shows
//! how they went.
//!
//! `cargo run --example quickstart`, and `-- --help` for the options.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its reader")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod server;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod terminal;

use std::collections::BTreeMap;
use std::error::Error as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use load::{Arguments, Client, Load, Question, Remote, USAGE, read};
use server::{Consumer, Ledger, Plan, Record, Server};
use terminal::{Progress, Table, bars, distribution, duration};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Width of bars and plots in characters.
const WIDTH: usize = 72;
/// How long the server may take to end after the last call.
const STOP_LIMIT: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> ExitCode {
    let ran = match Arguments::from_env() {
        Ok(Arguments::Help) => {
            print!("{USAGE}");
            Ok(())
        }
        Ok(Arguments::Local { load, seed }) => local(load, seed).await,
        Ok(Arguments::Remote { load, remote }) => measure_remote(load, &remote).await,
        Err(error) => Err(format!("{error} (--help lists the options)").into()),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quickstart: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Drives the local server by the plans of `seed`.
async fn local(load: Load, seed: u64) -> Result<(), Error> {
    let began = Instant::now();
    let server = Server::start(move |index| Plan::nth(seed, index))?;
    println!("{} calls, {} at a time, to {}\n", load.calls, load.concurrency, server.base_url());
    let client = Client::new(&server.base_url(), None)?;
    let question = move |index| {
        let plan = Plan::nth(seed, index);
        (Question::planned(index, &plan), plan.consumer)
    };
    let ends = drive(load, &client, question).await?;
    let ledger = server.ledger().clone();
    drop(client);
    server.stop(STOP_LIMIT);

    print_ends(&ends);
    print_injected(&ledger);
    println!("\nTook {}.", duration(began.elapsed()));
    Ok(())
}

/// Asks a real server the same question again and again.
async fn measure_remote(load: Load, remote: &Remote) -> Result<(), Error> {
    let began = Instant::now();
    println!("{} calls, {} at a time, to {} at {}\n", load.calls, load.concurrency, remote.model, remote.base_url);
    let client = Client::new(&remote.base_url, remote.key()?.as_deref())?;
    let question = Question {
        model: remote.model.clone(),
        prompt: remote.prompt.clone(),
        max_tokens: Some(remote.max_tokens),
        plan: None,
    };
    let ends = drive(load, &client, move |_| (question.clone(), Consumer::Prompt)).await?;
    print_ends(&ends);
    println!("\nTook {}.", duration(began.elapsed()));
    Ok(())
}

/// Makes all calls under a progress bar and counts how they ended for the HTTP client.
async fn drive(
    load: Load,
    client: &Client,
    question: impl Fn(u64) -> (Question, Consumer),
) -> Result<BTreeMap<String, usize>, Error> {
    let mut ends = BTreeMap::new();
    let mut progress = Progress::stdout(usize::try_from(load.calls)?);
    let mut shown = Ok(());
    let call = |index| {
        let (question, consumer) = question(index);
        call(client.clone(), question, consumer)
    };
    load.run(call, |end| {
        let end = end.unwrap_or_else(|panic| format!("panic: {panic}"));
        *ends.entry(end).or_default() += 1;
        if shown.is_ok() {
            shown = progress.advance("");
        }
    })
    .await;
    shown?;
    progress.finish()?;
    Ok(ends)
}

/// One call; says how it ended.
async fn call(client: Client, question: Question, consumer: Consumer) -> String {
    let response = match client.ask(&question).send().await {
        Ok(response) if response.status().is_success() => response,
        Ok(response) => return format!("HTTP {}", response.status().as_u16()),
        Err(error) => return format!("no response: {}", root_cause(&error)),
    };
    let received = read(response.bytes_stream(), consumer).await;
    match (received.broken, consumer) {
        (Some(_), _) => "broken".into(),
        (None, Consumer::Leaves { .. }) => "left".into(),
        (None, _) => "ended".into(),
    }
}

fn root_cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(error.source(), |&error| error.source());
    causes.last().map_or_else(|| error.to_string(), ToString::to_string)
}

fn print_ends(ends: &BTreeMap<String, usize>) {
    let ends: Vec<_> = ends.iter().map(|(end, &count)| (end.as_str(), count)).collect();
    println!("\n{}", bars(&ends, WIDTH / 2));
}

/// The marks as the server made them.
fn print_injected(ledger: &Ledger) {
    let records = ledger.records();
    let of = |mark: fn(&Record) -> Option<Duration>| records.iter().filter_map(mark).collect::<Vec<_>>();
    let first_tokens = of(Record::time_to_first_token);
    let gaps: Vec<_> = records.iter().flat_map(Record::gaps).collect();
    let table = Table::new(["injected", "calls", "P50", "P95", "P99"])
        .row(quantiles("head", of(Record::time_to_head)))
        .row(quantiles("first chunk", of(Record::time_to_first_chunk)))
        .row(quantiles("TTFT", first_tokens.clone()))
        .row(quantiles("gap", gaps.clone()))
        .row(quantiles("E2E", of(Record::duration)));
    println!("{table}");
    println!("{}", distribution("TTFT", &seconds(&first_tokens), WIDTH, 6));
    println!("{}", distribution("Gap", &seconds(&gaps), WIDTH, 6));
}

fn quantiles(name: &str, mut times: Vec<Duration>) -> [String; 5] {
    times.sort_unstable();
    let at =
        |percent: usize| times.get(times.len().saturating_sub(1) * percent / 100).map_or("-".into(), |&t| duration(t));
    [name.into(), times.len().to_string(), at(50), at(95), at(99)]
}

fn seconds(times: &[Duration]) -> Vec<f64> {
    times.iter().map(Duration::as_secs_f64).collect()
}
