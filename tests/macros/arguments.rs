//! Arguments of attributes: literals and expressions over the function's parameters, taken before the body runs.

use std::{fmt, time::Duration};

use futures::{Stream, StreamExt as _, stream};
use llmperf::{Output, Usage, testing::Probe};

use crate::support::{BoxError, Refused, on};

/// The attributes of the only span, as text, `llmperf.outcome` left out.
fn attributes(probe: &Probe) -> Vec<String> {
    let span = probe.span();
    let all = span.attributes.iter().filter(|attribute| attribute.key.as_str() != "llmperf.outcome");
    let mut all: Vec<_> = all.map(|attribute| format!("{}={}", attribute.key, attribute.value)).collect();
    all.sort();
    all
}

#[derive(Clone, Copy)]
struct Tenant(u32);

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

const STORE: &str = "qdrant";

#[llmperf::retrieval(
    store = STORE,
    top_k = k + 1,
    relevant = truth,
    k = 2,
    deadline = wait.map(Duration::from_secs),
    attributes("tenant.rank" = tenant.0, "ratio" = 0.5, "kind" = "a", "large" = 5_000_000_000, "on" = !query.is_empty()),
    labels("tenant" = tenant)
)]
async fn search(
    query: &str,
    k: usize,
    tenant: Tenant,
    truth: &[&str],
    wait: Option<u64>,
) -> Result<Vec<(String, f32)>, BoxError> {
    Ok(vec![(query.to_owned(), 0.5), ("b".to_owned(), 0.0)])
}

#[test]
fn a_retrieval_takes_them_all() {
    let probe = Probe::new();
    assert_eq!(on(&probe, || search("a", 4, Tenant(7), &["a"], Some(1))).unwrap().len(), 2);
    let told = attributes(&probe);
    for expected in
        ["gen_ai.data_source.id=qdrant", "tenant.rank=7", "ratio=0.5", "kind=a", "large=5000000000", "on=true"]
    {
        assert!(told.iter().any(|told| told == expected), "{expected}: {told:?}");
    }
    assert!(told.iter().any(|told| told == "tenant=t7"), "{told:?}");
    assert!(told.iter().any(|told| told.ends_with("top_k=5")), "{told:?}");
    assert!(!told.iter().any(|told| told.contains("query")), "content is captured: {told:?}");
    assert_eq!(probe.points("llmperf.rag.stage.duration")[0].attribute("tenant"), "t7");
    assert_eq!(probe.points("llmperf.rag.recall")[0].sum, 1.0);
    assert_eq!(probe.count("llmperf.rag.documents"), 1.0);
}

#[llmperf::rerank(model = "cross-encoder", provider = "local", top_k = 1u8, candidates = candidates, relevant = &["b"])]
fn reorder(mut candidates: Vec<(&'static str, f32)>) -> Vec<(&'static str, f32)> {
    candidates.reverse();
    candidates.truncate(1);
    candidates
}

#[test]
fn candidates_are_read_before_the_body_takes_them() {
    let probe = Probe::new();
    let kept = probe.instrumentation().sync_scope(|| reorder(vec![("a", 0.2), ("b", 0.1)]));
    assert_eq!(kept, [("b", 0.1)]);
    assert!(attributes(&probe).iter().any(|told| told == "gen_ai.request.model=cross-encoder"));
    assert_eq!(probe.points("llmperf.rag.reciprocal_rank")[0].sum, 1.0);
}

#[llmperf::agent(name = "desk", task = if hard { "complex" } else { "simple" }, conversation = id, model = "gpt-4o-mini")]
async fn run(hard: bool, id: u32) -> Result<(), Refused> {
    for _ in 0..3 {
        call("Lisbon", 1, id);
    }
    Ok(())
}

#[llmperf::tool(kind = "function", call_id = id, description = "Looks it up", arguments = (city, days))]
fn call(city: &str, days: u32, id: u32) -> bool {
    city.len() as u32 > days + id
}

#[test]
fn a_run_and_its_tools_take_them_all() {
    let probe = Probe::new();
    on(&probe, || run(true, 1)).unwrap();
    let call = "  execute_tool call\n";
    assert_eq!(probe.tree(), format!("invoke_agent desk\n{call}{call}{call}"));
    let told = |name: &str| {
        let spans = probe.spans();
        let span = spans.iter().find(|span| span.name == name).unwrap().clone();
        span.attributes.iter().map(|attribute| format!("{}={}", attribute.key, attribute.value)).collect::<Vec<_>>()
    };
    let run = told("invoke_agent desk");
    for expected in ["llmperf.task.class=complex", "gen_ai.conversation.id=1", "gen_ai.request.model=gpt-4o-mini"] {
        assert!(run.iter().any(|told| told == expected), "{expected}: {run:?}");
    }
    let tool = told("execute_tool call");
    for expected in ["gen_ai.tool.type=function", "gen_ai.tool.call.id=1", "gen_ai.tool.description=Looks it up"] {
        assert!(tool.iter().any(|told| told == expected), "{expected}: {tool:?}");
    }
    assert!(!tool.iter().any(|told| told.contains("Lisbon")), "arguments are recorded: {tool:?}");
    assert_eq!(probe.count("llmperf.agent.repeated_calls"), 1.0);
}

#[llmperf::workflow(conversation = format!("{}-{}", id, 1))]
fn workflow(id: &str) -> String {
    id.to_owned()
}

#[llmperf::pipeline(name = name.clone(), query = question, attributes("words" = question.split(' ').count()))]
async fn pipeline(name: String, question: String) -> String {
    name + &question
}

#[test]
fn expressions_borrow_what_the_body_then_takes() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| workflow("a"));
    assert!(attributes(&probe).iter().any(|told| told == "gen_ai.conversation.id=a-1"));
    let probe = Probe::new();
    assert_eq!(on(&probe, || pipeline("docs".into(), "a b".into())), "docsa b");
    assert_eq!(probe.tree(), "pipeline docs\n");
    assert!(attributes(&probe).iter().any(|told| told == "words=2"));
}

struct Answer {
    text: String,
    usage: Usage,
}

#[llmperf::generation(provider = "openai", model = model, reads = |answer| Output::text(&answer.text).and_usage(answer.usage))]
async fn whole(model: &str) -> Result<Answer, BoxError> {
    Ok(Answer { text: model.to_owned(), usage: Usage::of(5, 7) })
}

#[llmperf::embedding(provider = "openai", model = "text-embedding-3-small", reads = |_| Output::usage(4, 0))]
fn embed(text: &str) -> Vec<f32> {
    vec![0.0; text.len()]
}

#[test]
fn a_stage_that_names_a_model_is_a_measured_call() {
    let probe = Probe::new();
    assert_eq!(on(&probe, || whole("m")).unwrap().text, "m");
    assert_eq!(probe.tree(), "chat m\n");
    let told = attributes(&probe);
    assert!(told.iter().any(|told| told == "gen_ai.usage.output_tokens=7"), "{told:?}");
    let probe = Probe::new();
    assert_eq!(probe.instrumentation().sync_scope(|| embed("ab")), [0.0; 2]);
    let told = attributes(&probe);
    assert!(told.iter().any(|told| told == "gen_ai.usage.input_tokens=4"), "{told:?}");
    assert!(probe.tree().starts_with("embeddings text-embedding-3-small"));
}

#[derive(Clone)]
enum Event {
    Text(&'static str),
    Last(u64, u64),
}

impl Event {
    fn carries(&self) -> Output<'_> {
        match self {
            Self::Text(text) => Output::text(text),
            Self::Last(input, output) => Output::finish("stop").and_usage(Usage::of(*input, *output)),
        }
    }
}

#[llmperf::generation(model = "m", reads = Event::carries)]
fn answer(events: &[Event]) -> impl Stream<Item = Event> + Unpin {
    stream::iter(events.to_vec())
}

#[llmperf::generation(model = "m", reads = Event::carries)]
async fn tried(
    events: Vec<Result<Event, Refused>>,
) -> Result<stream::BoxStream<'static, Result<Event, Refused>>, BoxError> {
    Ok(stream::iter(events).boxed())
}

#[llmperf::generation(provider = "local", model = "m")]
fn words(words: &[&'static str]) -> impl Stream<Item = &'static str> {
    stream::iter(words.to_vec())
}

#[llmperf::generation]
fn unnamed(n: u32) -> impl Stream<Item = u32> {
    stream::iter(0..n)
}

#[test]
fn a_stream_of_a_model_is_read() {
    let events = [Event::Text("a"), Event::Text("b"), Event::Last(3, 2)];
    let probe = Probe::new();
    assert_eq!(on(&probe, async || answer(&events).count().await), 3);
    assert_eq!(probe.tree(), "chat m\n");
    let told = attributes(&probe);
    assert!(told.iter().any(|told| told == "gen_ai.usage.output_tokens=2"), "{told:?}");

    let probe = Probe::new();
    let items = events.iter().cloned().map(Ok).chain([Err(Refused)]).collect();
    assert_eq!(on(&probe, async || tried(items).await.unwrap().count().await), 4);
    assert_eq!(probe.points("llmperf.client.time_to_first_token").len(), 1);

    let probe = Probe::new();
    assert_eq!(on(&probe, async || words(&["a", "b"]).count().await), 2);
    assert_eq!(probe.points("llmperf.client.time_to_first_token").len(), 1);

    let probe = Probe::new();
    assert_eq!(on(&probe, async || unnamed(2).count().await), 2);
    assert_eq!(probe.tree(), "generate\n");
}

#[test]
fn an_answer_that_is_dropped_after_its_finish_reason_is_complete() {
    let probe = Probe::new();
    on(&probe, async || {
        let mut stream = answer(&[Event::Text("a"), Event::Last(1, 1), Event::Text("b")]);
        stream.next().await;
        stream.next().await;
    });
    assert_eq!(probe.points("llmperf.client.calls")[0].attribute("llmperf.outcome"), "complete");
    assert_eq!(probe.points("llmperf.rag.stage.duration")[0].attribute("llmperf.outcome"), "complete");
}

#[llmperf::pipeline(first_output = |item| item.as_ref().is_ok_and(|text| !text.is_empty()))]
fn answered(
    items: Vec<(u64, Result<&'static str, Refused>)>,
    probe: &Probe,
) -> impl Stream<Item = Result<&'static str, Refused>> {
    stream::iter(items).map(|(after, item)| {
        probe.clock().advance(Duration::from_secs(after));
        item
    })
}

#[llmperf::agent]
fn replied(after: u64, probe: &Probe) -> impl Stream<Item = Result<u32, Refused>> {
    stream::iter([Err(Refused), Ok(1)]).map(move |item| {
        probe.clock().advance(Duration::from_secs(after));
        item
    })
}

#[test]
fn the_first_output_is_the_first_item_that_is_said_to_be_one() {
    let probe = Probe::new();
    let items = vec![(1, Ok("")), (1, Ok("a")), (1, Ok("b"))];
    assert_eq!(on(&probe, async || answered(items, &probe).count().await), 3);
    assert_eq!(probe.points("llmperf.rag.time_to_first_output")[0].sum, 2.0);
    assert_eq!(probe.points("llmperf.rag.pipeline.duration")[0].sum, 3.0);

    let probe = Probe::new();
    let items = vec![(1, Ok("a")), (1, Err(Refused))];
    assert_eq!(on(&probe, async || answered(items, &probe).count().await), 2);
    assert_eq!(probe.tree(), "pipeline answered !\n");
}

#[test]
fn or_else_the_first_item_that_is_no_error() {
    let probe = Probe::new();
    assert_eq!(on(&probe, async || replied(1, &probe).count().await), 2);
    assert_eq!(probe.points("llmperf.agent.time_to_first_output")[0].sum, 2.0);
}
