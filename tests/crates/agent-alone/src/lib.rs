//! The attributes of llmperf-agent, where nothing else of llmperf is: a library's case.
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
    use futures::{StreamExt as _, executor::block_on, stream, stream::BoxStream};
    use llmperf_agent::{agent, step, tool, workflow};

    #[workflow]
    async fn booking(city: &str) -> Result<usize, std::fmt::Error> {
        desk(city).await.map(str::len)
    }

    #[agent(task = "simple", goal = |answer: &&str| !answer.is_empty())]
    async fn desk(city: &str) -> Result<&str, std::fmt::Error> {
        look(city);
        assert_eq!(weather(city).count().await, city.len());
        Ok(city)
    }

    #[step]
    fn look(city: &str) {
        let _ = city;
    }

    #[tool(arguments = city)]
    fn weather(city: &str) -> BoxStream<'static, u8> {
        stream::iter(city.to_owned().into_bytes()).boxed()
    }

    #[test]
    fn the_attributes_need_nothing_but_the_part() {
        assert_eq!(block_on(booking("Lisbon")), Ok(6));
    }
}
