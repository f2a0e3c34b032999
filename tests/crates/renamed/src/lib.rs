//! The attributes of a facade that has another name here.

#[cfg(test)]
mod tests {
    use futures::{Stream, StreamExt as _, executor::block_on, stream};
    use perf::testing::Probe;

    #[perf::pipeline(crate = perf)]
    async fn answer(question: &str) -> Result<usize, std::num::ParseIntError> {
        let found = search(question, 3).await;
        let run = run(found[0].parse()?);
        Ok(run.count().await)
    }

    #[perf::retrieval(crate = perf, store = "memory", top_k = k, attributes("asked" = question))]
    async fn search(question: &str, k: usize) -> Vec<String> {
        vec![question.to_owned(); k]
    }

    #[perf::agent(crate = ::perf, first_output = |n: &u32| *n > 0)]
    fn run(n: u32) -> impl Stream<Item = u32> {
        stream::iter(0..n).map(doubled)
    }

    #[perf::tool(arguments = n, crate = self::renamed_again)]
    fn doubled(n: u32) -> u32 {
        n * 2
    }

    use perf as renamed_again;

    #[test]
    fn both_parts_are_found_by_the_path_that_is_given() {
        let probe = Probe::new();
        let count = block_on(probe.instrumentation().scope(async { answer("2").await }));
        assert_eq!(count, Ok(2));
        let run = "  invoke_agent run\n    execute_tool doubled\n    execute_tool doubled\n";
        // All at one instant of the manual clock: siblings by name.
        assert_eq!(probe.tree(), format!("pipeline answer\n{run}  retrieval memory\n"));
    }
}
