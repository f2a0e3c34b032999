//! An agent with tools: what each run did step by step, what its tools cost, and whether it went round in circles.
//!
//! `cargo run --example agent`, and `-- --help` for the options. The agent is `examples/assistants/desk.rs`, its tools are
//! `examples/assistants/tools.rs`: the files to copy from. Here runs of all sorts are made, and shown:
//!
//! - one run as the spans that were exported: tools side by side below their step, a tool that is an agent of its own, in
//!   a spawned task, a failure that was retried, a request by MCP that is told on the tool's span;
//! - how the runs came out. An answer that says "sold out" is no error, and no success either;
//! - the statistics of all: agents by class of task, steps, tools, calls;
//! - the diagnosis. It finds what is wrong on purpose: riddles send the agent round in circles.

#![allow(clippy::print_stderr, reason = "an example talks to its reader")]

#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod assistants;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod knowledge;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod load;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod server;
#[allow(dead_code, unused_imports, reason = "each user of the shared parts needs some of them")]
mod terminal;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use lexopt::prelude::*;
use llmperf::agent::AgentOutcome as _;
use llmperf::testing::Probe;
use llmperf::{Instrumentation, Price, Prices};

use assistants::{Desk, FULL, MODEL, Model, PROVIDER, Sending, Task, plans, spans};
use load::Load;
use server::Server;
use terminal::{bars, duration, say};

type Error = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "\
Has an agent plan trips, and shows what llmperf saw.

Usage: cargo run --example agent -- [options]

  --runs <n>         runs in all        [40]
  --concurrency <n>  runs at a time     [8]
";
/// Width of the waterfall in characters.
const WIDTH: usize = 48;
/// How long the server may take to end after the last answer.
const STOP_LIMIT: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> ExitCode {
    let ran = match options() {
        Ok(Some((load, sending))) => run(load, &sending).await,
        Ok(None) => {
            say!("{USAGE}{}  --help             this text", Sending::USAGE);
            Ok(())
        }
        Err(error) => Err(format!("{error} (--help lists the options)").into()),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("agent: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `None` if help is asked for.
fn options() -> Result<Option<(Load, Sending)>, Error> {
    let (mut load, mut sending) = (Load { calls: 40, concurrency: 8 }, Sending::default());
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("runs") => load.calls = arguments.value()?.parse()?,
            Long("concurrency") => load.concurrency = arguments.value()?.parse()?,
            Long("otlp") => sending.otlp = Some(arguments.value()?.parse()?),
            Long("prometheus") => sending.prometheus = true,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some((load, sending)))
}

async fn run(load: Load, sending: &Sending) -> Result<(), Error> {
    let began = Instant::now();
    let telemetry = sending.install("llmperf-agent")?;
    // USD per million tokens of input and output, so that runs have a cost.
    let prices = Prices::new().model(PROVIDER, MODEL, Price::new(0.15, 0.60));
    Instrumentation::builder().prices(prices).build().make_global();
    let server = Server::start(plans())?;
    let desk = Desk::new(Model::new(&server)?);

    one_run(&desk).await?;
    say!("How {} runs came out\n\n{}", load.calls, bars(&drive(&desk, load).await?, WIDTH / 2));
    let snapshot = llmperf::stats::snapshot();
    say!("{snapshot}");
    say!("{}", snapshot.diagnose());
    say!("Took {}.", duration(began.elapsed()));
    drop(desk);
    server.stop(STOP_LIMIT);
    sending.finish(telemetry).await
}

/// One run with a tracer provider of its own, which keeps the spans.
async fn one_run(desk: &Desk) -> Result<(), Error> {
    let probe = Probe::new();
    let kept = Instrumentation::builder().tracer_provider(probe.tracer_provider()).build();
    kept.scope(desk.plan(Task::Tour { places: ["aldermouth", "brackwell"] })).await?;
    let all = probe.spans();
    say!("One run, as its spans\n\n{}", spans(&all, WIDTH));
    for span in all.iter().filter(|span| span.name == "invoke_agent travel-desk") {
        for attribute in &span.attributes {
            say!("    {} = {}", attribute.key, attribute.value);
        }
    }
    say!("");
    Ok(())
}

/// Makes all runs, so many at a time; how they came out.
async fn drive(desk: &Desk, load: Load) -> Result<Vec<(String, usize)>, Error> {
    let mut ends = BTreeMap::new();
    let run = |number| {
        let (desk, task) = (desk.clone(), task(number));
        async move { desk.plan(task).await }
    };
    load.run(run, |reply| {
        let end = match reply {
            Ok(Ok(reply)) => reply.agent_result().map_or("unknown".into(), |result| result.to_string()),
            Ok(Err(error)) => format!("error ({error})"),
            Err(error) => format!("panic ({error})"),
        };
        *ends.entry(end).or_default() += 1;
    })
    .await;
    Ok(ends.into_iter().collect())
}

/// What run number `number` is asked for.
fn task(number: u64) -> Task {
    match number % 10 {
        3 => Task::Nowhere,
        5 => Task::Riddle { place: "greyholm" },
        7 => Task::Tour { places: [FULL, "eastray"] },
        1 | 4 | 8 => Task::Tour { places: ["inverlay", "dunmere"] },
        _ => Task::Weekend { place: "larkstead" },
    }
}
