//! The attributes and the builders by hand tell the same.

#![cfg(feature = "macros")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io;

use futures::{Stream, StreamExt as _, executor::block_on, stream};
use llmperf_core::testing::Probe;
use llmperf_rag::{Output, Work as _, embedding, generation, pipeline, rerank, retrieval};

type Documents = Vec<(&'static str, f64)>;

fn found() -> Documents {
    vec![("d1", 0.75), ("d2", 0.5)]
}

mod attributes {
    use super::*;

    #[embedding(provider = "openai", model = "ada", reads = |tokens: &u64| Output::usage(*tokens, 0))]
    async fn embed(words: &str) -> io::Result<u64> {
        Ok(words.len() as u64)
    }

    #[retrieval(store = "qdrant", top_k = k, relevant = ["d2"], labels("tenant" = tenant))]
    async fn search(k: usize, tenant: &str) -> io::Result<Documents> {
        Ok(found().into_iter().take(k).collect())
    }

    #[rerank(model = "bge", candidates = documents)]
    fn reorder(documents: &Documents) -> Documents {
        documents.iter().rev().copied().collect()
    }

    #[generation(provider = "openai", model = "gpt", reads = |token: &String| Output::text(token))]
    fn generate(documents: Documents) -> impl Stream<Item = io::Result<String>> + Send {
        stream::iter(documents.into_iter().map(|(id, _)| Ok(id.to_owned())))
    }

    #[pipeline(name = "support")]
    pub(super) async fn answer(question: &str) -> io::Result<impl Stream<Item = io::Result<String>> + Send + use<>> {
        embed(question).await?;
        let documents = search(2, "acme").await?;
        Ok(generate(reorder(&documents)))
    }
}

mod by_hand {
    use super::*;

    pub(super) async fn answer(question: &str) -> io::Result<impl Stream<Item = io::Result<String>> + Send + use<>> {
        let words = question.to_owned();
        let inside = async move {
            let stage = embedding().provider("openai").model("ada");
            stage.answer_with(async { io::Result::Ok(words.len() as u64) }, |tokens| Output::usage(*tokens, 0)).await?;
            let stage = retrieval().store("qdrant").top_k(2).relevant(&["d2"]).label("tenant", "acme");
            let documents = stage.search(async { io::Result::Ok(found()) }).await?;
            let reversed = || -> Documents { documents.iter().rev().copied().collect() };
            let best = rerank().model("bge").candidates(&documents).in_scope(reversed, |mut guard, best| {
                guard.documents(&best);
                guard.complete();
                best
            });
            let mut guard = generation().provider("openai").model("gpt").start();
            let tokens = guard.in_scope(|| stream::iter(best.into_iter().map(|(id, _)| Ok(id.to_owned()))));
            let call = guard.call();
            let tokens =
                llmperf_core::MeasureStream::try_measure_with(tokens, call, |token: &String| Output::text(token));
            Ok(guard.stream(tokens, |_, _: &io::Result<String>| {}))
        };
        pipeline("support")
            .run_then(inside, |guard, result: io::Result<_>| match result {
                Ok(stream) => Ok(guard.stream(stream, |guard, item: &io::Result<String>| {
                    if item.is_ok() {
                        guard.output();
                    }
                })),
                Err(error) => Err(error),
            })
            .await
    }
}

/// Tree, attributes of spans, and metrics of what an answer told.
fn told<S: Stream<Item = io::Result<String>>>(answer: impl Future<Output = io::Result<S>>) -> (String, Vec<String>) {
    let probe = Probe::new();
    let words: Vec<_> = block_on(probe.instrumentation().scope(async {
        let stream = Box::pin(answer.await.unwrap());
        stream.map(Result::unwrap).collect().await
    }));
    assert_eq!(words, ["d2", "d1"]);
    let mut all: Vec<String> = Vec::new();
    for span in probe.spans() {
        all.extend(span.attributes.iter().map(|own| format!("{} {}={}", span.name, own.key, own.value)));
    }
    for metric in probe.metric_names() {
        all.extend(
            probe.points(&metric).iter().map(|point| format!("{metric} {:?} {}", point.attributes, point.count)),
        );
    }
    all.sort();
    (probe.tree(), all)
}

#[test]
fn attributes_and_builders_tell_the_same() {
    let (attributes, by_hand) = (told(attributes::answer("fog?")), told(by_hand::answer("fog?")));
    let tree = "\
pipeline support
  chat gpt
  embeddings ada
  rerank bge
  retrieval qdrant
";
    assert_eq!(attributes.0, tree);
    assert_eq!(by_hand.0, tree);
    for (attributes, by_hand) in attributes.1.iter().zip(&by_hand.1) {
        assert_eq!(attributes, by_hand);
    }
    assert_eq!(attributes.1.len(), by_hand.1.len());
    assert!(attributes.1.len() > 60, "{}", attributes.1.len());
}
