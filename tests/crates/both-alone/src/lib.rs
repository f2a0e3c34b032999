//! The attributes of both parts without the facade, in a crate of an older edition: opaque types take no lifetimes by
//! themselves there, and temporaries of a tail live longer.

#[cfg(test)]
mod tests {
    use std::{future::Future, sync::Mutex};

    use futures::{Stream, StreamExt as _, executor::block_on, stream};
    use llmperf_core::testing::Probe;

    #[llmperf_agent::agent]
    async fn desk(words: &Mutex<Vec<String>>) -> usize {
        let found = search(words).await.len();
        let word = words.lock().unwrap()[0].clone();
        let streamed: Vec<_> = letters(&word).collect().await;
        found + streamed.len() + count(words).await + tail(words)
    }

    #[llmperf_rag::retrieval(top_k = words.lock().unwrap().len())]
    async fn search(words: &Mutex<Vec<String>>) -> Vec<String> {
        words.lock().unwrap().clone()
    }

    #[llmperf_agent::tool]
    fn letters<'a>(word: &'a str) -> impl Stream<Item = char> + 'a {
        stream::iter(word.chars())
    }

    #[llmperf_agent::tool]
    fn count<'a>(words: &'a Mutex<Vec<String>>) -> impl Future<Output = usize> + Send + 'a {
        async move { words.lock().unwrap().len() }
    }

    #[llmperf_agent::step]
    fn tail(words: &Mutex<Vec<String>>) -> usize {
        words.lock().unwrap().len()
    }

    #[llmperf_agent::step]
    fn never(n: u32) -> ! {
        std::panic::resume_unwind(Box::new(n))
    }

    #[llmperf_agent::step]
    async fn never_awaited(n: u32) -> ! {
        std::panic::resume_unwind(Box::new(n))
    }

    #[async_trait::async_trait]
    trait Reads {
        #[llmperf_agent::tool]
        async fn read(&mut self, n: u32) -> Result<u32, std::fmt::Error> {
            if n == 0 {
                Err(std::fmt::Error)?;
            }
            Ok(n)
        }
    }

    impl Reads for () {}

    #[test]
    fn an_older_edition_gives_the_same() {
        let probe = Probe::new();
        let words = Mutex::new(vec!["ab".to_owned()]);
        let total = block_on(probe.instrumentation().scope(async { desk(&words).await }));
        assert_eq!(total, 5);
        // All at one instant of the manual clock: siblings by name.
        let inside = "  execute_tool count\n  execute_tool letters\n  retrieval\n  step tail\n";
        assert_eq!(probe.tree(), format!("invoke_agent desk\n{inside}"));
    }

    #[test]
    fn nothing_returns_from_what_never_does() {
        let caught = std::panic::catch_unwind(|| never(1));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&1_u32));
        let caught = std::panic::catch_unwind(|| block_on(never_awaited(2)));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&2_u32));
        assert!(block_on(().read(0)).is_err());
    }
}
