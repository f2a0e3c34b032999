//! Two hundred runs at once, nested three deep, with parallel tools, spawned tasks and streams: the tree of each is the golden
//! one, nothing is astray, every span ends within its parent, and metrics count what was executed; on both kinds of runtime, and
//! with sampling off.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    collections::{BTreeMap, HashMap},
    io,
    time::Duration,
};

use futures::{Stream, StreamExt as _, future::join_all, stream};
use llmperf_agent::{AgentResult, InCurrentScope as _, ToolFailure, ToolOutcome, Work as _, run, step, tool};
use llmperf_core::{
    Output, chat,
    testing::{ManualClock, Probe},
};
use opentelemetry_sdk::trace::{Sampler, SpanData};
use tokio::task::{JoinSet, yield_now};

const RUNS: usize = 200;
/// Every so many runs the answer is dropped after its first word.
const DROPPED: usize = 8;

const INPUT: u64 = 100;
const OUTPUT: u64 = 10;

const GOLDEN: &str = "\
invoke_agent desk
  chat gpt-4o-mini
  chat gpt-4o-mini
  chat gpt-4o-mini
  execute_tool book
    invoke_agent booker
      chat gpt-4o-mini
      execute_tool pay
        invoke_agent payer
          chat gpt-4o-mini
          chat gpt-4o-mini
  invoke_agent critic
    chat gpt-4o-mini
    execute_tool read
  step gather
    chat gpt-4o-mini
    execute_tool flaky !
    execute_tool search
    execute_tool search
    execute_tool search
    execute_tool weather
";

/// A tool's answer that may report a failure.
struct Answer(bool);

impl ToolOutcome for Answer {
    fn tool_failure(&self) -> Option<ToolFailure> {
        (!self.0).then(|| ToolFailure::code("no_seats"))
    }
}

/// A streamed model call that other tasks run in the midst of.
async fn model(clock: ManualClock) {
    let words = stream::iter([Output::text("a"), Output::text("b"), Output::usage(INPUT, OUTPUT)]);
    let words = words.then(|word| {
        let clock = clock.clone();
        async move {
            clock.advance(Duration::from_micros(3));
            yield_now().await;
            word
        }
    });
    let mut reply =
        Box::pin(llmperf_core::MeasureStream::measure_with(words, chat("openai", "gpt-4o-mini"), |word| *word));
    while reply.next().await.is_some() {}
}

async fn used(name: &'static str, clock: ManualClock) -> Result<(), io::Error> {
    let work = async {
        yield_now().await;
        clock.advance(Duration::from_micros(7));
        Ok(())
    };
    tool(name).arguments(name).run(work).await
}

async fn gather(clock: ManualClock) -> Result<(), io::Error> {
    model(clock.clone()).await;
    let flaky = async {
        yield_now().await;
        Answer(false)
    };
    let (weather, _) = tokio::join!(used("weather", clock.clone()), tool("flaky").run_judged(flaky));
    weather?;
    let mut searches = JoinSet::new();
    for _ in 0..3 {
        searches.spawn(used("search", clock.clone()).in_current_scope());
    }
    searches.join_all().await.into_iter().collect()
}

/// An agent whose answer is a stream; each word takes a model call.
fn streaming(name: &'static str, words: usize, clock: ManualClock) -> impl Stream<Item = usize> + Send {
    let guard = run(name).task("simple").start();
    let words = stream::unfold(0, move |word| {
        let clock = clock.clone();
        async move {
            if word == words {
                return None;
            }
            model(clock).await;
            Some((word, word + 1))
        }
    });
    guard.stream(words, |guard, _| guard.output())
}

async fn booker(clock: ManualClock) -> Result<(), io::Error> {
    model(clock.clone()).await;
    let pay = async {
        let words = streaming("payer", 2, clock);
        // Its stream is read by another task.
        let read = tokio::spawn(words.collect::<Vec<_>>()).await;
        read.map(drop).map_err(io::Error::other)
    };
    tool("pay").run(pay).await
}

async fn critic(clock: ManualClock) -> Result<(), io::Error> {
    let thinks = async {
        model(clock.clone()).await;
        used("read", clock).await
    };
    run("critic").run(thinks).await
}

async fn desk(number: usize, clock: ManualClock) {
    let preparing = async {
        step("gather").run(gather(clock.clone())).await?;
        let critic = tokio::spawn(critic(clock.clone()).in_current_scope());
        let booked = tool("book").run(async { run("booker").run(booker(clock.clone())).await });
        let (booked, judged) = tokio::join!(booked, critic);
        judged.map_err(io::Error::other)?.and(booked)
    };
    let words = clock.clone();
    let answer = run("desk").task("complex").run_then(preparing, |mut guard, prepared| {
        prepared.unwrap();
        guard.result(AgentResult::Success);
        let words = stream::iter(0..3).then(move |_| model(words.clone()));
        guard.stream(words, |guard, ()| guard.output())
    });
    let mut answer = Box::pin(answer.await);
    if number.is_multiple_of(DROPPED) {
        assert!(answer.next().await.is_some());
        return;
    }
    while answer.next().await.is_some() {}
}

async fn all(probe: &Probe) {
    let spawned = (0..RUNS).map(|number| {
        let clock = probe.clock().clone();
        let run = async move { desk(number, clock).await };
        tokio::spawn(probe.instrumentation().scope(run))
    });
    let ended = join_all(spawned.collect::<Vec<_>>()).await;
    assert!(ended.iter().all(Result::is_ok));
}

/// The tree of a trace, siblings by their names.
fn shape(spans: &[&SpanData]) -> String {
    fn write(text: &mut String, span: &SpanData, all: &[&SpanData], depth: usize) {
        let failed = if format!("{:?}", span.status).starts_with("Error") { " !" } else { "" };
        *text += &format!("{:indent$}{}{failed}\n", "", span.name, indent = depth * 2);
        let mut children: Vec<_> =
            all.iter().filter(|child| child.parent_span_id == span.span_context.span_id()).collect();
        children.sort_by(|a, b| a.name.cmp(&b.name));
        children.into_iter().for_each(|child| write(text, child, all, depth + 1));
    }
    let known = |span: &&&SpanData| !all_ids(spans).contains(&span.parent_span_id.to_string());
    let mut text = String::new();
    spans.iter().filter(known).for_each(|root| write(&mut text, root, spans, 0));
    text
}

fn all_ids(spans: &[&SpanData]) -> Vec<String> {
    spans.iter().map(|span| span.span_context.span_id().to_string()).collect()
}

fn check_spans(probe: &Probe) {
    let spans = probe.spans();
    let mut traces: HashMap<_, Vec<&SpanData>> = HashMap::new();
    for span in &spans {
        traces.entry(span.span_context.trace_id()).or_default().push(span);
    }
    assert_eq!(traces.len(), RUNS, "a trace for each run, no stray roots");
    let mut shapes = BTreeMap::<String, usize>::new();
    for trace in traces.values() {
        *shapes.entry(shape(trace)).or_default() += 1;
        for span in trace {
            let Some(parent) = trace.iter().find(|other| other.span_context.span_id() == span.parent_span_id) else {
                assert_eq!(span.name, "invoke_agent desk");
                continue;
            };
            assert!(span.start_time >= parent.start_time, "{} starts before {}", span.name, parent.name);
            assert!(span.end_time <= parent.end_time, "{} ends after {}", span.name, parent.name);
        }
    }
    let dropped = GOLDEN.replacen("  chat gpt-4o-mini\n", "", 2);
    let expected = [(GOLDEN.to_owned(), RUNS - RUNS / DROPPED), (dropped, RUNS / DROPPED)];
    assert_eq!(shapes, expected.into());
    check_tokens(&spans);
}

/// What back ends add up is what the model calls used, however deep they are nested.
fn check_tokens(spans: &[SpanData]) {
    let sum = |key: &str| -> i64 {
        let of_key = spans.iter().flat_map(|span| &span.attributes).filter(|own| own.key.as_str() == key);
        of_key.map(|own| own.value.as_str().parse::<i64>().unwrap()).sum()
    };
    let calls = i64::try_from(calls()).unwrap();
    assert_eq!(sum("gen_ai.usage.input_tokens"), calls * 100);
    assert_eq!(sum("gen_ai.usage.output_tokens"), calls * 10);
    let of_runs = |key: &str| sum(&format!("llmperf.agent.{key}"));
    assert_eq!(of_runs("input_tokens"), calls * 100, "each call is some run's own");
    assert_eq!(of_runs("inference_calls"), calls);
}

/// Model calls in all: eight of each run, six of one whose answer was dropped.
fn calls() -> u64 {
    (RUNS * 8 - RUNS / DROPPED * 2) as u64
}

fn check_metrics(probe: &Probe) {
    let runs = RUNS as f64;
    let dropped = (RUNS / DROPPED) as f64;
    let by = |metric: &str, key: &str| -> BTreeMap<String, f64> {
        let mut sums = BTreeMap::new();
        for point in probe.points(metric) {
            let amount = if point.bounds.is_empty() { point.sum } else { point.count as f64 };
            *sums.entry(point.attribute(key).to_owned()).or_default() += amount;
        }
        sums
    };
    let expected = |entries: &[(&str, f64)]| -> BTreeMap<String, f64> {
        entries.iter().map(|(key, count)| ((*key).to_owned(), *count)).collect()
    };
    let agents = [("booker", runs), ("critic", runs), ("desk", runs), ("payer", runs)];
    for metric in
        ["llmperf.agent.runs", "llmperf.agent.run.duration", "llmperf.agent.steps", "gen_ai.invoke_agent.duration"]
    {
        assert_eq!(by(metric, "gen_ai.agent.name"), expected(&agents), "{metric}");
    }
    let results = [("cancelled", dropped), ("success", 4.0 * runs - dropped)];
    assert_eq!(by("llmperf.agent.runs", "llmperf.agent.result"), expected(&results));
    let tools =
        [("book", runs), ("flaky", runs), ("pay", runs), ("read", runs), ("search", 3.0 * runs), ("weather", runs)];
    for metric in ["llmperf.tool.calls", "llmperf.tool.duration", "gen_ai.execute_tool.duration"] {
        assert_eq!(by(metric, "gen_ai.tool.name"), expected(&tools), "{metric}");
    }
    assert_eq!(by("llmperf.tool.calls", "error.type"), expected(&[("", 7.0 * runs), ("no_seats", runs)]));
    assert_eq!(by("llmperf.agent.step.duration", "llmperf.agent.step"), expected(&[("gather", runs)]));
    assert_eq!(by("llmperf.agent.repeated_calls", "gen_ai.tool.name"), expected(&[("search", runs)]));
    assert_eq!(
        by("llmperf.agent.time_to_first_output", "gen_ai.agent.name"),
        expected(&[("desk", runs), ("payer", runs)])
    );
    let sums = |metric: &str| -> BTreeMap<String, f64> {
        probe.points(metric).iter().map(|point| (point.attribute("gen_ai.agent.name").to_owned(), point.sum)).collect()
    };
    let desk = 4.0 * runs - 2.0 * dropped;
    let inferences = [("booker", runs), ("critic", runs), ("desk", desk), ("payer", 2.0 * runs)];
    assert_eq!(sums("gen_ai.invoke_agent.inference_calls"), expected(&inferences));
    let tools = [("booker", runs), ("critic", runs), ("desk", 6.0 * runs), ("payer", 0.0)];
    assert_eq!(sums("gen_ai.invoke_agent.tool_calls"), expected(&tools));
    let tokens: f64 = probe.points("llmperf.agent.tokens").iter().map(|point| point.sum).sum();
    assert_eq!(tokens, (calls() * (INPUT + OUTPUT)) as f64);
    assert_eq!(probe.count("llmperf.client.calls"), calls() as f64);
    assert_eq!(probe.count("llmperf.internal.events"), 0.0, "nothing is late, nothing astray");
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_many_threads() {
    let probe = Probe::new();
    all(&probe).await;
    check_spans(&probe);
    check_metrics(&probe);
}

#[tokio::test]
async fn on_a_single_thread() {
    let probe = Probe::new();
    all(&probe).await;
    check_spans(&probe);
    check_metrics(&probe);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_sampling_off_metrics_are_the_same_and_no_span_is_exported() {
    let probe = Probe::sampled(Sampler::ParentBased(Box::new(Sampler::AlwaysOff)), |builder| builder);
    all(&probe).await;
    assert_eq!(probe.tree(), "");
    check_metrics(&probe);
}
