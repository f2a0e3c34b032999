//! The RAG service and the agent of the examples: their traces as a real Jaeger gives them back.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::TryStreamExt as _;
use llmperf::Instrumentation;
use llmperf::export::{self, Telemetry};
use tokio::runtime::{self, Runtime};

use crate::assistants::{Desk, Model, Request, Service, Task, plans};
use crate::backends::{self, Jaeger, Kind, Span, Status, Trace};
use crate::knowledge::{Corpus, HashedFeatures, Store};
use crate::server::Server;

const CORPUS: Corpus = Corpus::new(1, 600);

const QUESTION: &str = "\
pipeline travel-answers
  embeddings hashed-features-256 (client)
  retrieval knowledge by vector (client)
  retrieval knowledge by words (client)
  rerank overlap
  retrieval knowledge by id (client)
  retrieval knowledge by id (client)
  retrieval knowledge by id (client)
  retrieval knowledge by id (client)
  retrieval knowledge by id (client)
  assemble
  chat swift-1 (client)
";

const TOUR: &str = "\
invoke_agent travel-desk
  step gather
    chat swift-1 (client)
    execute_tool weather
    execute_tool weather
    execute_tool prices !
    execute_tool second_opinion
      invoke_agent critic
        chat swift-1 (client)
    execute_tool prices
  step book
    chat swift-1 (client)
    execute_tool book
  chat swift-1 (client)
";

#[test]
fn a_question_is_one_trace_in_jaeger() {
    if backends::left_out() {
        return;
    }
    let jaeger = Jaeger::start().unwrap();
    let (telemetry, instrumentation) = sending(&jaeger, "rag");
    let shelf = Shelf::new();
    let server = Server::start(plans()).unwrap();
    let model = Model::new(&server).unwrap();
    let asked = async {
        let service = service(&shelf, &model).await;
        read(&service, request(0)).await;
        // This one is answered from the cache.
        read(&service, request(0)).await;
    };
    runtime().block_on(instrumentation.scope(asked));

    let traces = arrived(&jaeger, &telemetry, "rag", 3);
    let trees: Vec<String> = traces.iter().map(tree).collect();
    let expected = ["index knowledge\n", "pipeline travel-answers\n", QUESTION];
    for expected in expected {
        assert_eq!(trees.iter().filter(|tree| *tree == expected).count(), 1, "{expected} in {trees:#?}");
    }
    let question = traces.iter().find(|trace| trace.spans.len() > 1).unwrap();
    let pipeline = question.roots().next().unwrap();
    assert_eq!(pipeline.text("llmperf.outcome"), Some("complete"));
    assert!(pipeline.number("llmperf.rag.time_to_first_output").is_some(), "{pipeline:?}");
    let chat = question.spans.iter().find(|span| span.name == "chat swift-1").unwrap();
    assert_eq!(chat.text("llmperf.rag.stage"), Some("generate"));
    assert_eq!(chat.number("gen_ai.usage.input_tokens"), Some(120.0));
    telemetry.shutdown().unwrap();
}

#[test]
fn a_run_of_an_agent_is_one_trace_in_jaeger() {
    if backends::left_out() {
        return;
    }
    let jaeger = Jaeger::start().unwrap();
    let (telemetry, instrumentation) = sending(&jaeger, "agent");
    let server = Server::start(plans()).unwrap();
    let desk = Desk::new(Model::new(&server).unwrap());
    let tour = desk.plan(Task::Tour { places: ["aldermouth", "brackwell"] });
    runtime().block_on(instrumentation.scope(tour)).unwrap();

    let traces = arrived(&jaeger, &telemetry, "agent", 1);
    let [trace] = traces.as_slice() else { panic!("stray traces: {traces:#?}") };
    assert_eq!(in_any_order(&tree(trace)), in_any_order(TOUR), "{}", tree(trace));
    let run = trace.roots().next().unwrap();
    assert_eq!((run.text("llmperf.agent.result"), run.text("llmperf.task.class")), (Some("success"), Some("complex")));
    let booked = trace.spans.iter().find(|span| span.name == "execute_tool book").unwrap();
    assert_eq!(booked.text("mcp.method.name"), Some("tools/call"), "the request is told on the tool's span");
    let own = trace.spans.iter().filter(|span| span.name == "chat swift-1");
    let tokens: f64 = own.filter_map(|span| span.number("gen_ai.usage.input_tokens")).sum();
    assert_eq!(run.number("llmperf.agent.total.input_tokens"), Some(tokens));
    telemetry.shutdown().unwrap();
}

/// A set-up that sends traces to Jaeger, and an instrumentation on it.
fn sending(jaeger: &Jaeger, service: &str) -> (Telemetry, Instrumentation) {
    let telemetry = export::otlp_grpc().endpoint(&jaeger.otlp_grpc).service(service).metrics(false).build().unwrap();
    let instrumentation = Instrumentation::builder().tracer_provider(telemetry.tracer_provider().unwrap()).build();
    (telemetry, instrumentation)
}

/// The service, with documents in a store of its own.
pub(crate) async fn service(shelf: &Shelf, model: &Model) -> Arc<Service> {
    let service = Service::new(Store::open(&shelf.0).unwrap(), HashedFeatures, model.clone());
    service.index(CORPUS).await.unwrap();
    Arc::new(service)
}

/// A labelled question, whose sources are wanted in full.
pub(crate) fn request(number: usize) -> Request {
    let question = CORPUS.question(number);
    Request { text: question.text, relevant: Some(question.relevant), in_full: true }
}

/// Asks, and reads the answer to its end.
pub(crate) async fn read(service: &Arc<Service>, request: Request) {
    Arc::clone(service).answer(request).await.unwrap().try_collect::<String>().await.unwrap();
}

pub(crate) fn runtime() -> Runtime {
    runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// All traces of a service, as soon as every span that was sent is there.
fn arrived(jaeger: &Jaeger, telemetry: &Telemetry, service: &str, traces: usize) -> Vec<Trace> {
    telemetry.force_flush().unwrap();
    let sent = usize::try_from(telemetry.exported_spans()).unwrap();
    let spans = |found: &[Trace]| found.iter().map(|trace| trace.spans.len()).sum::<usize>();
    let found = jaeger.wait_for(service, |found| spans(found) >= sent).unwrap();
    assert_eq!((spans(&found), found.len()), (sent, traces), "{found:#?}");
    found
}

/// A trace with one root as a tree, siblings in the order of their starts; each span lies within the one around it.
fn tree(trace: &Trace) -> String {
    let [root] = trace.roots().collect::<Vec<_>>()[..] else { panic!("stray roots: {trace:#?}") };
    assert_eq!(root.parent_id, None);
    let mut text = String::new();
    write(&mut text, trace, root, 0);
    assert_eq!(text.lines().count(), trace.spans.len(), "{trace:#?}");
    text
}

fn write(text: &mut String, trace: &Trace, span: &Span, depth: usize) {
    let kind = if span.kind == Kind::Client { " (client)" } else { "" };
    let failed = if span.status == Status::Error { " !" } else { "" };
    writeln!(text, "{:indent$}{}{kind}{failed}", "", span.name, indent = 2 * depth).unwrap();
    for child in trace.children(span) {
        assert!(span.start <= child.start && child.end() <= span.end(), "{child:?} is not within {span:?}");
        write(text, trace, child, depth + 1);
    }
}

/// Lines with the names above them, sorted: what runs side by side begins in any order.
fn in_any_order(tree: &str) -> Vec<String> {
    let mut above: Vec<&str> = Vec::new();
    let mut lines: Vec<_> = tree
        .lines()
        .map(|line| {
            let name = line.trim_start();
            above.truncate((line.len() - name.len()) / 2);
            above.push(name);
            above.join(" › ")
        })
        .collect();
    lines.sort_unstable();
    lines
}

/// The file of a store, in a folder that is gone when this is dropped.
pub(crate) struct Shelf(PathBuf);

impl Shelf {
    pub(crate) fn new() -> Self {
        static SHELVES: AtomicU32 = AtomicU32::new(0);
        let number = SHELVES.fetch_add(1, Ordering::Relaxed);
        let name = format!("live-shelf-{}-{number}", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder.join("knowledge.sqlite"))
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}
