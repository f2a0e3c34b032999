//! The RAG service: its tree, its caches, its quality, and the mistake that is in it on purpose.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use llmperf::Instrumentation;
use llmperf::opentelemetry::trace::noop::NoopTracerProvider;
use llmperf::rag::quality;
use llmperf::stats::{Figure, SeriesKind, Window};
use llmperf::testing::Probe;

use super::model;
use crate::assistants::{Request, Service, TOP};
use crate::knowledge::{Corpus, Embedder as _, HashedFeatures, Question, fuse, rerank};
use crate::knowledge_tests::Shelf;
use crate::server::Server;

const CORPUS: (u64, usize) = (1, 1_200);

/// A service with its documents added, all on the probe.
struct Running {
    service: Arc<Service>,
    probe: Probe,
    shelf: Shelf,
    _server: Server,
}

impl Running {
    async fn start() -> Self {
        let (server, model) = model();
        let (probe, shelf) = (Probe::new(), Shelf::new());
        let service = Arc::new(Service::new(shelf.store.clone(), HashedFeatures, model));
        probe.instrumentation().scope(service.index(corpus())).await.unwrap();
        Self { service, probe, shelf, _server: server }
    }

    async fn ask(&self, request: Request) -> String {
        self.ask_on(self.probe.instrumentation(), request).await
    }

    async fn ask_on(&self, instrumentation: &Instrumentation, request: Request) -> String {
        let answer = async { Arc::clone(&self.service).answer(request).await.unwrap().try_collect().await.unwrap() };
        instrumentation.scope(answer).await
    }
}

fn corpus() -> Corpus {
    Corpus::new(CORPUS.0, CORPUS.1)
}

fn labelled(question: Question) -> Request {
    Request { text: question.text, relevant: Some(question.relevant), in_full: false }
}

const STAGES: &str = "pipeline travel-answers
  chat swift-1
  embeddings hashed-features-256
  rerank overlap
  retrieval knowledge by vector
  retrieval knowledge by words
  assemble
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_one_trace_with_its_stages_below_the_pipeline() {
    let running = Running::start().await;
    let answer = running.ask(labelled(corpus().question(0))).await;
    assert!(!answer.is_empty());
    let mut expected: Vec<_> = STAGES.lines().chain(["index knowledge"]).collect();
    let tree = running.probe.tree();
    let mut lines: Vec<_> = tree.lines().collect();
    // Stages that nobody waited between begin at the same time of the clock that stands still.
    expected.sort_unstable();
    lines.sort_unstable();
    assert_eq!(lines, expected, "{tree}");
    assert_eq!(tree.lines().filter(|line| !line.starts_with(' ')).count(), 2, "the index and the pipeline:\n{tree}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_was_asked_before_is_answered_from_a_cache_and_asks_no_model() {
    let running = Running::start().await;
    let question = corpus().question(0);
    let answer = running.ask(labelled(question.clone())).await;
    assert_eq!(running.ask(labelled(question.clone())).await, answer);
    assert_eq!(running.ask(labelled(question.reordered())).await, answer);
    running.ask(labelled(corpus().question(1))).await;

    let lookups = running.probe.points("llmperf.rag.cache.lookups");
    let looked_up = |cache: &str, result: &str| {
        let named = ["llmperf.cache.name", "llmperf.cache.result"];
        let points = lookups.iter().filter(|point| named.map(|name| point.attribute(name)) == [cache, result]);
        points.map(|point| point.sum).sum::<f64>()
    };
    assert_eq!([looked_up("same text", "hit"), looked_up("same text", "miss")], [1.0, 3.0]);
    assert_eq!([looked_up("same meaning", "hit"), looked_up("same meaning", "miss")], [1.0, 2.0]);

    let snapshot = running.probe.instrumentation().snapshot();
    let count = |kind, name, detail| {
        let series = snapshot.get(kind, name, detail).unwrap();
        series.window(Window::SinceStart).unwrap().outcomes.all()
    };
    assert_eq!(count(SeriesKind::Pipeline, "travel-answers", ""), 4);
    assert_eq!(count(SeriesKind::Stage, "embed", HashedFeatures.model()), 3);
    assert_eq!(count(SeriesKind::Call, "local", "swift-1"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recall_is_measured_of_each_search_and_of_the_rerank_whenever_the_labels_come() {
    let running = Running::start().await;
    let (now, later) = (corpus().question(0), corpus().question(1));
    running.ask(labelled(now.clone())).await;
    running.ask(Request { relevant: None, ..labelled(later.clone()) }).await;
    let recalls = |stage, detail| {
        let snapshot = running.probe.instrumentation().snapshot();
        let series = snapshot.get(SeriesKind::Stage, stage, detail).unwrap();
        series.figure(Window::SinceStart, Figure::Recall).map(|recall| (recall.count, recall.mean))
    };
    assert_eq!(recalls("rerank", "overlap").unwrap().0, 1, "nobody has labelled the other");

    let unjudged = running.service.unjudged();
    assert_eq!(unjudged.len(), 3, "two searches and a rerank");
    for (text, query) in &unjudged {
        assert_eq!(*text, later.text);
        query.evaluate(&later.relevant);
    }
    let mut expected = 0.0;
    for question in [&now, &later] {
        let vector = HashedFeatures.embed(&question.text).vector;
        let store = &running.shelf.store;
        let found = [store.by_vector(&vector, 40).await.unwrap(), store.by_words(&question.text, 40).await.unwrap()];
        let ranked = rerank(&question.text, &fuse(&found, 40), TOP as usize);
        let ranked: Vec<u32> = ranked.iter().map(|hit| hit.document.id).collect();
        let relevant = question.relevant.iter().map(|&id| (id, 1.0)).collect();
        expected += quality::recall(&ranked, &relevant, TOP as usize).unwrap() / 2.0;
    }
    let (count, mean) = recalls("rerank", "overlap").unwrap();
    assert_eq!(count, 2);
    assert!((mean - expected).abs() < 0.011, "{mean} in the statistics, {expected} by hand");
    assert_eq!(recalls("retrieve", "knowledge by words").unwrap().0, 2);
    assert_eq!(recalls("retrieve", "knowledge by vector").unwrap().0, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_diagnosis_finds_the_lookups_one_by_one_and_no_others() {
    let running = Running::start().await;
    // By a clock that goes: time that does not pass has no parts.
    let instrumentation = Instrumentation::builder().tracer_provider(&NoopTracerProvider::new()).build();
    for number in 0..4 {
        let request = Request { in_full: number == 2, ..labelled(corpus().question(number)) };
        running.ask_on(&instrumentation, request).await;
    }
    let diagnosis = instrumentation.snapshot().diagnose();
    let repeated: Vec<_> = diagnosis.roots.iter().flat_map(|root| &root.repetitions).collect();
    assert_eq!(repeated.len(), 1, "{diagnosis}");
    assert_eq!(repeated[0].title.to_string(), "stage retrieve / knowledge by id");
    assert_eq!((repeated[0].most, repeated[0].runs), (u64::from(TOP), 1));
}

#[tokio::test]
async fn the_index_says_how_much_it_holds_and_how_long_it_took() {
    let running = Running::start().await;
    assert_eq!(running.probe.points("llmperf.rag.index.documents")[0].sum, CORPUS.1 as f64);
    assert!(running.probe.points("llmperf.rag.index.size")[0].sum > (CORPUS.1 * 256 * 4) as f64);
    assert_eq!(running.probe.count("llmperf.rag.index.build.duration"), 1.0);
}
