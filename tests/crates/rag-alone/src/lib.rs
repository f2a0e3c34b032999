//! The attributes of llmperf-rag, where nothing else of llmperf is: a library's case.
//! Lints are forbidden here, so that generated code could not even allow one.

#![forbid(
    unreachable_code,
    unused_braces,
    unused_imports,
    unused_must_use,
    unused_mut,
    unused_results,
    unused_variables,
    clippy::diverging_sub_expression,
    clippy::empty_loop,
    clippy::let_and_return,
    clippy::let_unit_value,
    clippy::needless_return,
    clippy::redundant_closure_call,
    clippy::wildcard_imports
)]

#[cfg(test)]
mod tests {
    use futures::{Stream, StreamExt as _, executor::block_on, stream};
    use llmperf_rag::{Instrumentation, Output, pipeline};

    #[llmperf_rag::pipeline(name = "docs", query = question)]
    async fn answer(question: &str) -> Result<String, std::fmt::Error> {
        let vector = embed(question);
        let found = reorder(search(&vector, 2).await?);
        Ok(generate(&found).collect().await)
    }

    #[llmperf_rag::embedding(provider = "local", model = "hash", reads = |_| Output::usage(1, 0))]
    fn embed(text: &str) -> Vec<f32> {
        text.bytes().map(f32::from).collect()
    }

    #[llmperf_rag::retrieval(store = "memory", top_k = k)]
    async fn search(vector: &[f32], k: usize) -> Result<Vec<(u32, f32)>, std::fmt::Error> {
        Ok((0..).zip(vector.iter().copied()).take(k).collect())
    }

    #[llmperf_rag::rerank(candidates = found)]
    fn reorder(mut found: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
        found.reverse();
        found
    }

    #[llmperf_rag::generation(provider = "local", model = "echo", reads = |token: &String| Output::text(token))]
    fn generate(found: &[(u32, f32)]) -> impl Stream<Item = String> {
        stream::iter(found.iter().map(|(id, _)| id.to_string()))
    }

    #[test]
    fn the_attributes_need_nothing_but_the_part() {
        let instrumentation = Instrumentation::builder().build();
        let answer = block_on(instrumentation.scope(async { answer("ab").await }));
        assert_eq!(answer.as_deref(), Ok("10"));
        let table = instrumentation.snapshot().to_string();
        for name in ["docs", "retrieve", "rerank", "embed", "generate"] {
            assert!(table.contains(name), "{name} is missing in\n{table}");
        }
    }

    #[test]
    fn a_builder_and_an_attribute_share_a_name() {
        let _work = pipeline("by hand");
    }
}
