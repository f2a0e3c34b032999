//! A RAG service end to end: what each question's stages took, how good its retrieval was, and what the diagnosis says.
//!
//! `cargo run --example rag`, and `-- --help` for the options. 3,000 generated documents lie in a real SQLite file, found by
//! words and by vector; a model of the local server answers over HTTP. The service itself, with its attributes, is
//! `examples/assistants/service.rs`: the file to copy from. Here it is put under load, and shown:
//!
//! - one question as the spans that were exported: two searches side by side, and a pipeline that ends with its stream;
//! - the statistics of all: stages, pipeline, calls;
//! - recall and its kin for each search and after the rerank. Half of the questions are labelled when they are asked; the
//!   others are judged when all is over, by the handle of their query;
//! - cache hits, by the same text and by the same meaning;
//! - the diagnosis. It finds one thing that is wrong on purpose: some users want their sources in full, and those are
//!   looked up one by one.

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

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::TryStreamExt as _;
use lexopt::prelude::*;
use llmperf::Instrumentation;
use llmperf::stats::{Figure, SeriesKind, Snapshot, Window};
use llmperf::testing::Probe;

use assistants::{Model, PIPELINE, Request, Sending, Service, TOP, plans, spans};
use knowledge::{Corpus, Embedder as _, HashedFeatures, Store};
use load::Load;
use server::Server;
use terminal::{Table, duration, say};

type Error = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "\
Answers questions from a generated knowledge base, and shows what llmperf saw.

Usage: cargo run --example rag -- [options]

  --queries <n>      questions in all           [60]
  --concurrency <n>  questions at a time        [6]
  --documents <n>    documents in the store     [3000]
  --seed <n>         seed of documents and load [1]
";
/// Width of the waterfall in characters.
const WIDTH: usize = 48;
/// How long the server may take to end after the last answer.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// What the options say.
struct Options {
    load: Load,
    documents: usize,
    seed: u64,
    sending: Sending,
}

#[tokio::main]
async fn main() -> ExitCode {
    let ran = match options() {
        Ok(Some(options)) => run(options).await,
        Ok(None) => {
            say!("{USAGE}{}  --help             this text", Sending::USAGE);
            Ok(())
        }
        Err(error) => Err(format!("{error} (--help lists the options)").into()),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rag: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `None` if help is asked for.
fn options() -> Result<Option<Options>, Error> {
    let load = Load { calls: 60, concurrency: 6 };
    let mut options = Options { load, documents: 3_000, seed: 1, sending: Sending::default() };
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(None),
            Long("queries") => options.load.calls = arguments.value()?.parse()?,
            Long("concurrency") => options.load.concurrency = arguments.value()?.parse()?,
            Long("documents") => options.documents = arguments.value()?.parse()?,
            Long("seed") => options.seed = arguments.value()?.parse()?,
            Long("otlp") => options.sending.otlp = Some(arguments.value()?.parse()?),
            Long("prometheus") => options.sending.prometheus = true,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(options))
}

async fn run(options: Options) -> Result<(), Error> {
    let began = Instant::now();
    let telemetry = options.sending.install("llmperf-rag")?;
    let folder = Folder::new()?;
    let server = Server::start(plans())?;
    let store = Store::open(&folder.0.join("knowledge.sqlite"))?;
    let service = Arc::new(Service::new(store, HashedFeatures, Model::new(&server)?));
    let corpus = Corpus::new(options.seed, options.documents);
    service.index(corpus).await?;
    say!("{} documents were added and can be found after {}.\n", options.documents, duration(began.elapsed()));

    one_question(&service, corpus).await?;
    drive(&service, corpus, options.load).await?;
    let judged_later = judge(&service, corpus, options.load);

    let snapshot = llmperf::stats::snapshot();
    say!("{snapshot}");
    print_quality(&snapshot, judged_later);
    print_caches(&snapshot);
    say!("{}", snapshot.diagnose());
    say!("Took {}.", duration(began.elapsed()));
    drop(service);
    server.stop(STOP_LIMIT);
    options.sending.finish(telemetry).await
}

/// One question with a tracer provider of its own, which keeps the spans.
async fn one_question(service: &Arc<Service>, corpus: Corpus) -> Result<(), Error> {
    let probe = Probe::new();
    let kept = Instrumentation::builder().tracer_provider(probe.tracer_provider()).build();
    let Request { text, .. } = request(corpus, 0);
    let answer = kept.scope(read(Arc::clone(service), Request { in_full: true, ..request(corpus, 0) })).await?;
    say!("{text}?\n{answer}\n\n{}", spans(&probe.spans(), WIDTH));
    Ok(())
}

/// Asks all questions, so many at a time.
async fn drive(service: &Arc<Service>, corpus: Corpus, load: Load) -> Result<(), Error> {
    let mut failed = Ok(());
    load.run(
        |number| read(Arc::clone(service), request(corpus, number)),
        |answer| {
            if let Err(error) = answer.map_err(Error::from).and_then(|answer| answer) {
                failed = Err(error);
            }
        },
    )
    .await;
    failed
}

/// Asks, and reads the answer to its end.
async fn read(service: Arc<Service>, request: Request) -> Result<String, Error> {
    service.answer(request).await?.try_collect().await
}

/// Request number `number`: a question of its own, or one that was asked before, in the same words or in another order.
/// Every second is labelled, and every fourth user wants to see the sources.
fn request(corpus: Corpus, number: u64) -> Request {
    let number = number as usize;
    let question = match number % 10 {
        7 => corpus.question(number / 10 * 10),
        9 => corpus.question(number / 10 * 10 + 1).reordered(),
        _ => corpus.question(number),
    };
    let relevant = number.is_multiple_of(2).then_some(question.relevant);
    Request { text: question.text, relevant, in_full: number % 4 == 2 }
}

/// Somebody has labelled the other questions: what was found for them is judged, beside their traces. How many lists of
/// documents that were.
fn judge(service: &Service, corpus: Corpus, load: Load) -> usize {
    let labels = (0..load.calls as usize).map(|number| corpus.question(number));
    let labels: std::collections::HashMap<_, _> = labels.map(|question| (question.text, question.relevant)).collect();
    let unjudged = service.unjudged();
    for (text, query) in &unjudged {
        query.evaluate(&labels.get(text));
    }
    unjudged.len()
}

/// What each search found, and what the rerank made of it.
fn print_quality(snapshot: &Snapshot, judged_later: usize) {
    let figures = [Figure::Recall, Figure::Precision, Figure::ReciprocalRank, Figure::Ndcg];
    let mut table = Table::new(["mean of all questions", "judged", "recall", "precision", "reciprocal rank", "nDCG"]);
    for (stage, detail) in
        [("retrieve", "knowledge by vector"), ("retrieve", "knowledge by words"), ("rerank", "overlap")]
    {
        let series = snapshot.get(SeriesKind::Stage, stage, detail);
        let summary = |figure| series.and_then(|series| series.figure(Window::SinceStart, figure));
        let judged = summary(Figure::Recall).map_or(0, |recall| recall.count);
        let means = figures.map(|figure| summary(figure).map_or("-".into(), |figure| format!("{:.2}", figure.mean)));
        table = table.row([format!("{stage} {detail}"), judged.to_string()].into_iter().chain(means));
    }
    say!("{table}\nOf the first {TOP} each. {judged_later} lists were judged after the answer.\n");
}

/// What a cache answers goes no further: how often each was asked and answered shows in the stages behind it.
fn print_caches(snapshot: &Snapshot) {
    let runs = |kind, name, detail| {
        let series = snapshot.get(kind, name, detail);
        series.and_then(|series| series.window(Window::SinceStart)).map_or(0, |window| window.outcomes.all())
    };
    let asked = runs(SeriesKind::Pipeline, PIPELINE, "");
    let embedded = runs(SeriesKind::Stage, "embed", HashedFeatures.model());
    let searched = runs(SeriesKind::Stage, "retrieve", "knowledge by words");
    let mut table = Table::new(["cache", "lookups", "hits", "hit rate"]);
    for (cache, lookups, missed) in [("same text", asked, embedded), ("same meaning", embedded, searched)] {
        let hits = lookups.saturating_sub(missed);
        let rate = format!("{:.0} %", 100.0 * hits as f64 / lookups.max(1) as f64);
        table = table.row([cache.to_owned(), lookups.to_string(), hits.to_string(), rate]);
    }
    say!("{table}");
}

/// A folder that is gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Error> {
        let folder = std::env::temp_dir().join(format!("llmperf-rag-{}", std::process::id()));
        // One that is there already is somebody else's.
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}
