//! Measures a few hundred streamed calls to a local OpenAI-compatible server, or some to a real one, and shows what
//! llmperf saw: the spans of one call, the statistics of all, and how far they are from what the local server did.
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
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use llmperf::export::{self, Telemetry};
use llmperf::opentelemetry::Context;
use llmperf::opentelemetry::trace::{FutureExt as _, TraceContextExt as _, Tracer as _, TracerProvider as _};
use llmperf::stats::{Figure, Snapshot, Window};
use llmperf::testing::Probe;
use llmperf::{Instrumentation, Outcome, Timing};

use load::{Arguments, Comparison, Load, Pair, Subject, Target, USAGE, measured, root_cause};
use server::{Ledger, Plan, Server};
use terminal::{Progress, Table, bars, distribution, duration, say, seconds};

type Error = Box<dyn std::error::Error + Send + Sync>;
/// One call by its number; without a timing, and with the reason, if no response came.
type Ended = (u64, Result<Timing, reqwest::Error>);

/// Width of bars and plots in characters.
const WIDTH: usize = 72;
/// How long the server may take to end after the last call.
const STOP_LIMIT: Duration = Duration::from_secs(2);
/// The variable that turns OTLP on.
const OTLP: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

#[tokio::main]
async fn main() -> ExitCode {
    let ran = match Arguments::from_env() {
        Ok(Arguments::Help) => {
            say!("{}", USAGE.trim_end());
            Ok(())
        }
        Ok(Arguments::Measure { load, target, serve }) => run(load, target, serve).await,
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

async fn run(load: Load, target: Target, serve: bool) -> Result<(), Error> {
    let began = Instant::now();
    let (telemetry, server) = match target {
        Target::Local { seed } => {
            let server = Server::start(move |index| Plan::nth(seed, index))?;
            let subject = Subject::local(&server, seed)?;
            say!("Some of these calls fail, are cut off, are read slowly or left on purpose: all as planned.\n");
            let (telemetry, calls) = measure(load, &subject).await?;
            drop(subject);
            print_injected(&pairs(calls, seed, server.ledger()));
            (telemetry, Some(server))
        }
        Target::Remote(remote) => (measure(load, &Subject::remote(&remote)?).await?.0, None),
    };
    print_where_to_look(&telemetry, serve);
    say!("Took {}.", duration(began.elapsed()));
    if serve {
        tokio::signal::ctrl_c().await?;
    }
    if let Some(server) = server {
        server.stop(STOP_LIMIT);
    }
    // What is still queued leaves here; it takes at most five seconds, whatever the receiver does.
    telemetry.shutdown()?;
    Ok(())
}

/// Shows one call, sets telemetry up, makes all calls, and shows their statistics.
async fn measure(load: Load, subject: &Subject) -> Result<(Telemetry, Vec<Ended>), Error> {
    one_call(subject).await?;

    let telemetry = telemetry()?;
    if let Some(address) = telemetry.metrics_address() {
        say!("Metrics of what follows: http://{address}/metrics");
    }
    say!("{} calls, {} at a time, to {}\n", load.calls, load.concurrency, subject.title);
    let instrumentation = Instrumentation::global();
    let calls = drive(load, subject, &instrumentation).await?;

    let snapshot = instrumentation.snapshot();
    say!("\nHow they ended\n\n{}", bars(&ends(&calls), WIDTH / 2));
    say!("{snapshot}");
    say!("{}", distribution("TTFT", &values(&snapshot, Figure::TimeToFirstToken), WIDTH, 6));
    say!("{}", distribution("Gap between chunks", &values(&snapshot, Figure::ChunkGap), WIDTH, 6));
    Ok((telemetry, calls))
}

/// One call with a tracer provider of its own, which keeps the spans: the application's, and the call's inside it.
async fn one_call(subject: &Subject) -> Result<(), Error> {
    let spans = Probe::new();
    let instrumentation = Instrumentation::builder().tracer_provider(spans.tracer_provider()).build();
    let application = spans.tracer_provider().tracer("quickstart").start("answer a question");
    let inside = Context::current_with_span(application);

    let (question, consumer) = subject.question(subject.example);
    let call = measured(&instrumentation, subject.provider, &subject.client, &question, consumer);
    let timing = call.with_context(inside).await?;

    say!("One call, as its spans and as its timing\n\n{}", spans.tree());
    for span in spans.spans().iter().filter(|span| span.name.starts_with("chat")) {
        for attribute in &span.attributes {
            say!("    {} = {}", attribute.key, attribute.value);
        }
    }
    say!("\n{timing}\n");
    Ok(())
}

/// Serves `/metrics` on a free port, and sends everything over OTLP if the environment says where to.
fn telemetry() -> Result<Telemetry, export::Error> {
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let export = match std::env::var_os(OTLP) {
        Some(_) => export::otlp().prometheus(address),
        None => export::prometheus(address),
    };
    export.service("llmperf-quickstart").install()
}

/// Makes all calls under a progress bar.
async fn drive(load: Load, subject: &Subject, instrumentation: &Instrumentation) -> Result<Vec<Ended>, Error> {
    let mut calls = Vec::new();
    let mut progress = Progress::stdout(usize::try_from(load.calls)?);
    let mut shown = Ok(());
    let call = |index| {
        let (instrumentation, provider, client) = (instrumentation.clone(), subject.provider, subject.client.clone());
        let (question, consumer) = subject.question(index);
        async move { (index, measured(&instrumentation, provider, &client, &question, consumer).await) }
    };
    load.run(call, |ended| {
        calls.extend(ended);
        if shown.is_ok() {
            shown = progress.advance("");
        }
    })
    .await;
    shown?;
    progress.finish()?;
    Ok(calls)
}

/// How many calls ended in which way, and why.
fn ends(calls: &[Ended]) -> Vec<(String, usize)> {
    let mut ends = BTreeMap::new();
    for (_, timing) in calls {
        let end = match timing {
            Ok(Timing { outcome: Some(outcome), error_type: Some(error_type), .. }) => {
                format!("{outcome} ({error_type})")
            }
            Ok(Timing { outcome: Some(outcome), .. }) => outcome.to_string(),
            Ok(_) => "not measured".into(),
            Err(error) => format!("error (no response: {})", root_cause(error)),
        };
        *ends.entry(end).or_default() += 1;
    }
    ends.into_iter().collect()
}

/// The values of a figure over all models, from the quantiles of their histograms.
fn values(snapshot: &Snapshot, figure: Figure) -> Vec<f64> {
    let summaries = snapshot.series.iter().filter_map(|series| series.figure(Window::SinceStart, figure));
    let values = summaries.flat_map(|summary| {
        let middle = |rank: u64| (rank as f64 + 0.5) / summary.count as f64;
        (0..summary.count).filter_map(move |rank| summary.quantile(middle(rank)))
    });
    values.collect()
}

/// The calls that were measured, each with what the server did.
fn pairs(calls: Vec<Ended>, seed: u64, ledger: &Ledger) -> Vec<Pair> {
    let pair = |(index, timing): Ended| Pair::of(Plan::nth(seed, index), index, ledger, timing.ok()?);
    calls.into_iter().filter_map(pair).collect()
}

/// What the local server did beside what was measured.
fn print_injected(pairs: &[Pair]) {
    let mut marks = Table::new(["injected and measured", "calls", "injected", "measured", "difference", "worst"]);
    let cell = |time: Option<f64>| time.map_or("-".into(), seconds);
    for mark in Comparison::of(pairs) {
        let times = [mark.injected(), mark.measured(), mark.difference(), mark.worst()].map(cell);
        marks = marks.row([mark.mark.to_owned(), mark.calls().to_string()].into_iter().chain(times));
    }
    say!("{marks}");
    say!("Medians of the calls that were read at once; the difference is call by call. Measured from the moment the");
    say!("request was made, injected from its arrival at the server: the way between them is in the difference.\n");

    let mut outcomes = Table::new(["outcome", "planned", "measured"]);
    for outcome in Outcome::ALL {
        let planned = pairs.iter().filter(|pair| pair.plan.outcome() == outcome).count();
        let measured = pairs.iter().filter(|pair| pair.measured.outcome == Some(outcome)).count();
        outcomes = outcomes.row([outcome.as_str().to_owned(), planned.to_string(), measured.to_string()]);
    }
    say!("{outcomes}");
}

fn print_where_to_look(telemetry: &Telemetry, serve: bool) {
    say!("Where to look");
    if let Some(address) = telemetry.metrics_address() {
        let until = if serve { "until Ctrl-C" } else { "until this ends; --serve keeps it up" };
        say!("  http://{address}/metrics ({until})");
    }
    match std::env::var(OTLP) {
        Ok(endpoint) => say!("  {endpoint}: traces and metrics over OTLP"),
        Err(_) => say!("  nothing was sent over OTLP: {OTLP} is not set (http://localhost:4317, say)"),
    }
}
