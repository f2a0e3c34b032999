//! Two hundred nested runs at once: each span tree is the golden one, nothing is lost, nothing reaches beyond its parent.

use std::{collections::BTreeMap, time::Duration};

use futures::{StreamExt as _, future::join_all, stream};
use llmperf_core::{
    InCurrentScope as _, Instrumentation, MeasureStream as _, Work as _, chat,
    opentelemetry::TraceId,
    part::Title,
    stats::{SeriesKind, Window},
    testing::{Probe, render},
};
use opentelemetry_sdk::trace::{Sampler, SpanData};
use tokio::runtime::{Builder, Runtime};

use crate::{
    job::{agent, pipeline, stage, step, tool},
    spans::assert_within_parents,
};

const RUNS: usize = 200;

/// One run; its name is in each of its own spans' trace, and nowhere else.
const GOLDEN: &str = "\
agent desk
  pipeline support
    stage generate
      chat gpt-4o
    stage retrieve
    stage retrieve
  step desk
    tool weather
    tool weather
  tool spawned
";

async fn run() {
    let body = async {
        let retrievals = (0..2).map(|_| stage("retrieve", "").run_then(tokio::task::yield_now(), |g, ()| g.complete()));
        let body = async {
            join_all(retrievals.collect::<Vec<_>>()).await;
            let generate = stage("generate", "").start();
            let context = generate.context();
            let tokens = stream::iter(["a", "b", "c"]).then(|token| async move {
                tokio::task::yield_now().await;
                token
            });
            let call = chat("openai", "gpt-4o").parent(context);
            let mut reply = Box::pin(generate.stream(Box::pin(tokens).measure(call), |guard, _| guard.output()));
            while reply.next().await.is_some() {}
        };
        pipeline("support").run_then(body, |guard, ()| guard.complete()).await;
        let spawned = tool("spawned").run_then(tokio::task::yield_now(), |guard, ()| guard.complete());
        tokio::spawn(spawned.in_current_scope()).await.unwrap();
        let tools = async {
            let one = || tool("weather").run_then(tokio::task::yield_now(), |guard, ()| guard.complete());
            tokio::join!(one(), one());
        };
        step("think").run_then(tools, |guard, ()| guard.complete()).await;
    };
    agent("desk").run_then(body, |guard, ()| guard.complete()).await;
}

fn run_all(runtime: &Runtime, instrumentation: &Instrumentation) {
    let task = || {
        let instrumentation = instrumentation.clone();
        runtime.spawn(async move { instrumentation.scope(async { run().await }).await })
    };
    let tasks: Vec<_> = (0..RUNS).map(|_| task()).collect();
    runtime.block_on(join_all(tasks)).into_iter().for_each(Result::unwrap);
}

/// The tree of each trace, children in the order of their names: times differ from run to run.
fn trees(spans: &[SpanData]) -> Vec<String> {
    let mut traces: BTreeMap<[u8; 16], Vec<SpanData>> = BTreeMap::new();
    for span in spans {
        let trace: TraceId = span.span_context.trace_id();
        let mut span = span.clone();
        span.start_time = std::time::UNIX_EPOCH;
        traces.entry(trace.to_bytes()).or_default().push(span);
    }
    traces.values().map(|spans| render(spans)).collect()
}

/// What was executed was counted: by kind, name and detail.
fn assert_counted(instrumentation: &Instrumentation) {
    let snapshot = instrumentation.snapshot();
    let runs = RUNS as u64;
    let expected = [
        (SeriesKind::Call, "openai", "gpt-4o", runs),
        (SeriesKind::Pipeline, "support", "", runs),
        (SeriesKind::Stage, "generate", "", runs),
        (SeriesKind::Stage, "retrieve", "", 2 * runs),
        (SeriesKind::Agent, "desk", "simple", runs),
        (SeriesKind::Step, "desk", "think", runs),
        (SeriesKind::Tool, "spawned", "", runs),
        (SeriesKind::Tool, "weather", "", 2 * runs),
    ];
    assert_eq!(snapshot.series.len(), expected.len());
    for (kind, name, detail, count) in expected {
        let outcomes = snapshot.get(kind, name, detail).unwrap().window(Window::SinceStart).unwrap().outcomes;
        assert_eq!((outcomes.complete, outcomes.all()), (count, count), "{name}");
    }
    let agent = snapshot.get(SeriesKind::Agent, "desk", "simple").unwrap().window(Window::SinceStart).unwrap();
    let composition = agent.composition.as_ref().unwrap();
    assert_eq!((composition.runs, composition.parts.len()), (runs, 7));
    let part = |kind, name| composition.part(&Title::new(kind, name, "")).unwrap();
    assert_eq!(part(SeriesKind::Tool, "weather").count, 2 * runs);
    assert_eq!(part(SeriesKind::Stage, "retrieve").count, 2 * runs);
    let exclusive: Duration = composition.parts.iter().map(llmperf_core::stats::PartTotals::exclusive).sum();
    assert_eq!(exclusive + composition.other(), composition.total(), "the shares add up to the whole");
    assert_eq!(instrumentation.live_calls(), 0);
}

fn runtimes() -> [Runtime; 2] {
    [Builder::new_multi_thread().worker_threads(4).build().unwrap(), Builder::new_current_thread().build().unwrap()]
}

#[test]
fn two_hundred_runs_at_once_have_the_golden_tree_and_end_within_their_parents() {
    for runtime in runtimes() {
        let probe = Probe::new();
        let real = Instrumentation::builder().tracer_provider(probe.tracer_provider()).build();
        run_all(&runtime, &real);
        let (spans, trees) = (probe.spans(), trees(&probe.spans()));
        assert_eq!((spans.len(), trees.len()), (10 * RUNS, RUNS));
        trees.iter().for_each(|tree| assert_eq!(tree, GOLDEN));
        assert_within_parents(&spans);
        assert_counted(&real);
    }
}

#[test]
fn two_hundred_unsampled_runs_are_counted_as_sampled_ones_and_export_nothing() {
    for runtime in runtimes() {
        let probe = Probe::sampled(Sampler::AlwaysOff, |builder| builder);
        let real = Instrumentation::builder().tracer_provider(probe.tracer_provider()).build();
        run_all(&runtime, &real);
        assert_eq!(probe.spans().len(), 0);
        assert_counted(&real);
    }
}

#[test]
fn two_hundred_runs_without_a_tracer_are_counted_too() {
    for runtime in runtimes() {
        let bare = Instrumentation::builder().build();
        run_all(&runtime, &bare);
        assert_counted(&bare);
    }
}
