//! Two hundred pipelines at once: each its own tree, and nothing lost or counted twice.

use std::{collections::HashMap, io};

use futures::{Stream, StreamExt as _, future::join_all, stream};
use llmperf_core::{InCurrentScope as _, testing::Probe};
use llmperf_rag::{Output, Work as _, assemble, embedding, first_output, generation, pipeline, rerank, retrieval};
use opentelemetry::trace::SpanId;
use opentelemetry_sdk::trace::{Sampler, SpanData};
use tokio::runtime::{Builder, Runtime};

const PIPELINES: usize = 200;

const GOLDEN: &str = "\
pipeline support
  assemble
  chat gpt-4o-mini
  embeddings ada
  pipeline inner
    retrieval inner
  rerank bge
  retrieval keyword
  retrieval vector
";

async fn search(store: &'static str) -> io::Result<[(&'static str, f64); 1]> {
    let stage = retrieval().store(store).relevant(&["d1"]);
    stage
        .search(async {
            tokio::task::yield_now().await;
            Ok([("d1", 1.0)])
        })
        .await
}

/// Three words, each after a moment.
fn words() -> impl Stream<Item = String> + Send {
    stream::unfold(3, |left| async move {
        tokio::task::yield_now().await;
        (left > 0).then(|| (String::from("word"), left - 1))
    })
}

async fn one() -> io::Result<()> {
    pipeline("support")
        .run(async {
            let stage = embedding().provider("openai").model("ada");
            stage
                .answer_with(
                    async {
                        tokio::task::yield_now().await;
                        io::Result::Ok(7)
                    },
                    |tokens| Output::usage(*tokens, 0),
                )
                .await?;
            let keyword = tokio::spawn(search("keyword").in_current_scope());
            let vector = tokio::spawn(async { search("vector").await }.in_current_scope());
            keyword.await.unwrap()?;
            vector.await.unwrap()?;
            rerank()
                .model("bge")
                .reorder(async {
                    tokio::task::yield_now().await;
                    io::Result::Ok([("d1", 2.0)])
                })
                .await?;
            pipeline("inner").run(search("inner")).await?;
            assemble().in_scope(|| (), |guard, ()| guard.complete());
            let stage = generation().provider("openai").model("gpt-4o-mini");
            let request = async { io::Result::Ok(words()) };
            let mut answer = Box::pin(stage.open_with(request, |item| Output::text(item)).await?);
            while answer.next().await.is_some() {
                first_output();
            }
            Ok(())
        })
        .await
}

/// The span and what is inside it, siblings by name: they run side by side, by the machine's clock.
fn tree(span: &SpanData, children: &HashMap<SpanId, Vec<&SpanData>>, depth: usize) -> String {
    let mut text = format!("{}{}\n", "  ".repeat(depth), span.name);
    let mut inside = children.get(&span.span_context.span_id()).cloned().unwrap_or_default();
    inside.sort_by_key(|span| span.name.clone());
    for child in inside {
        assert!(
            child.start_time >= span.start_time && child.end_time <= span.end_time,
            "{} within {}",
            child.name,
            span.name
        );
        assert_eq!(child.span_context.trace_id(), span.span_context.trace_id());
        text += &tree(child, children, depth + 1);
    }
    text
}

fn check(runtime: &Runtime, probe: &Probe, sampled: bool) {
    runtime.block_on(probe.instrumentation().scope(async {
        let all = join_all((0..PIPELINES).map(|_| tokio::spawn(one().in_current_scope()))).await;
        all.into_iter().for_each(|one| one.unwrap().unwrap());
    }));
    let spans = probe.spans();
    let mut children: HashMap<SpanId, Vec<&SpanData>> = HashMap::new();
    for span in &spans {
        children.entry(span.parent_span_id).or_default().push(span);
    }
    let roots = children.get(&SpanId::INVALID).cloned().unwrap_or_default();
    assert_eq!(roots.len(), if sampled { PIPELINES } else { 0 });
    let trees: Vec<_> = roots.iter().map(|root| tree(root, &children, 0)).collect();
    assert!(trees.iter().all(|tree| tree == GOLDEN), "{}", trees.first().map_or("", String::as_str));
    let in_trees: usize = trees.iter().map(|tree| tree.lines().count()).sum();
    assert_eq!(in_trees, spans.len(), "no strays");

    let counts = [
        ("llmperf.rag.pipeline.duration", 2),
        ("llmperf.rag.pipelines", 2),
        ("llmperf.rag.stage.duration", 7),
        ("llmperf.rag.retrieval.duration", 2),
        ("llmperf.rag.retrieval_path.duration", 1),
        ("llmperf.rag.time_to_first_output", 1),
        ("llmperf.rag.documents", 4),
        ("llmperf.rag.recall", 3),
        ("llmperf.client.calls", 2),
        ("gen_ai.client.operation.duration", 4),
        ("llmperf.internal.events", 0),
    ];
    for (metric, each) in counts {
        assert_eq!(probe.count(metric), (each * PIPELINES) as f64, "{metric}");
    }
    assert_eq!(probe.instrumentation().live_calls(), 0);
}

fn real_time(sampler: Sampler) -> Probe {
    Probe::sampled(sampler, |builder| builder)
}

#[test]
fn two_hundred_pipelines_on_many_threads_give_the_golden_tree_each() {
    let runtime = Builder::new_multi_thread().worker_threads(4).build().unwrap();
    check(&runtime, &real_time(Sampler::AlwaysOn), true);
}

#[test]
fn the_same_on_one_thread() {
    let runtime = Builder::new_current_thread().build().unwrap();
    check(&runtime, &real_time(Sampler::AlwaysOn), true);
}

#[test]
fn with_sampling_off_metrics_are_the_same_and_no_span_is_exported() {
    let runtime = Builder::new_multi_thread().worker_threads(4).build().unwrap();
    check(&runtime, &real_time(Sampler::AlwaysOff), false);
}
