//! Methods of traits: native async ones, defaults, and those that `async_trait` writes anew.

use std::future::Future;

use futures::{StreamExt as _, stream::BoxStream};

use crate::support::{BoxError, Refused, awaited, measured, on};

struct Desk(u32);

trait Native {
    fn plain(&self) -> u32;
    async fn asynchronous(&self, n: u32) -> Result<u32, BoxError>;
    fn future(&self) -> impl Future<Output = u32> + Send;

    #[llmperf::step]
    fn default(&self) -> u32 {
        self.plain() + 1
    }

    #[llmperf::tool]
    async fn asynchronous_default(&self) -> u32 {
        self.asynchronous(1).await.unwrap_or_default()
    }
}

impl Native for Desk {
    #[llmperf::tool]
    fn plain(&self) -> u32 {
        self.0
    }

    #[llmperf::tool]
    async fn asynchronous(&self, n: u32) -> Result<u32, BoxError> {
        if n == 0 {
            Err(Refused)?;
        }
        Ok(self.0 + n)
    }

    #[llmperf::tool]
    fn future(&self) -> impl Future<Output = u32> + Send {
        async { self.0 }
    }
}

#[test]
fn methods_of_an_implementation() {
    assert_eq!(measured(|| Desk(1).plain()), (1, "execute_tool plain\n".into()));
    assert!(awaited(async || Desk(1).asynchronous(0).await.is_err()).1.ends_with("!\n"));
    assert_eq!(awaited(async || Desk(1).future().await), (1, "execute_tool future\n".into()));
}

#[test]
fn methods_with_a_default_body() {
    assert_eq!(measured(|| Desk(1).default()), (2, "step default\n  execute_tool plain\n".into()));
    let tree = "execute_tool asynchronous_default\n  execute_tool asynchronous\n";
    assert_eq!(awaited(async || Desk(1).asynchronous_default().await), (2, tree.into()));
}

type Answer = BoxStream<'static, u32>;

#[async_trait::async_trait]
trait Dynamic: Send + Sync {
    async fn call(&self, n: u32) -> Result<u32, BoxError>;
    async fn stream(&mut self, n: u32) -> Result<BoxStream<'static, u32>, BoxError>;
    async fn alias(&self) -> Answer;

    #[llmperf::step(attributes("length" = text.len()))]
    async fn defaulted(&self, text: &str) -> String {
        text.to_owned()
    }
}

#[async_trait::async_trait]
impl Dynamic for Desk {
    #[llmperf::tool(arguments = n)]
    async fn call(&self, n: u32) -> Result<u32, BoxError> {
        if n == 0 {
            return Err(Refused.into());
        }
        Ok(self.0 + n)
    }

    #[llmperf::agent]
    async fn stream(&mut self, n: u32) -> Result<BoxStream<'static, u32>, BoxError> {
        self.0 += n;
        if n == 0 {
            Err(Refused)?;
        }
        Ok(futures::stream::iter(0..n).boxed())
    }

    #[llmperf::agent(stream = boxed)]
    async fn alias(&self) -> Answer {
        futures::stream::iter(0..self.0).boxed()
    }
}

#[test]
fn methods_that_async_trait_boxes() {
    let desk: Box<dyn Dynamic> = Box::new(Desk(1));
    assert_eq!(awaited(|| desk.call(1)).0.unwrap(), 2);
    assert_eq!(awaited(async || desk.call(0).await.is_err()), (true, "execute_tool call !\n".into()));
    assert_eq!(awaited(|| desk.defaulted("a")), ("a".into(), "step defaulted\n".into()));
}

#[test]
fn a_stream_that_an_async_trait_gives_ends_the_run() {
    let probe = llmperf::testing::Probe::new();
    let mut desk = Desk(0);
    let stream = on(&probe, || desk.stream(2)).unwrap();
    assert_eq!(probe.tree(), "");
    assert_eq!(futures::executor::block_on(stream.collect::<Vec<_>>()), [0, 1]);
    assert_eq!(probe.tree(), "invoke_agent stream\n");
    assert!(awaited(async || desk.stream(0).await.is_err()).1.ends_with("!\n"));
    assert_eq!(awaited(async || desk.alias().await.count().await), (2, "invoke_agent alias\n".into()));
}

/// A method that is measured before `async_trait` sees it: the attribute of a whole function, inside.
#[async_trait::async_trait]
impl Dynamic for (Desk, Desk) {
    async fn call(&self, n: u32) -> Result<u32, BoxError> {
        #[llmperf::tool]
        async fn inside(desk: &Desk, n: u32) -> Result<u32, BoxError> {
            desk.call(n).await
        }
        inside(&self.0, n).await
    }

    async fn stream(&mut self, n: u32) -> Result<BoxStream<'static, u32>, BoxError> {
        self.1.stream(n).await
    }

    async fn alias(&self) -> Answer {
        self.1.alias().await
    }
}

#[test]
fn a_function_inside_a_method_that_async_trait_boxes() {
    let pair = (Desk(1), Desk(2));
    let tree = "execute_tool inside\n  execute_tool call\n";
    assert_eq!(awaited(async || pair.call(1).await.unwrap()), (2, tree.into()));
}
