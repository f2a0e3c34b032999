//! Functions that give a future: it is the work, from its first poll on.

use std::{future::Future, pin::Pin};

use futures::future::{BoxFuture, LocalBoxFuture, TryFuture, TryFutureExt};

use crate::support::{BoxError, Refused, awaited};

#[llmperf::tool]
fn opaque(n: u32) -> impl Future<Output = Result<u32, BoxError>> + Send {
    async move { if n == 0 { Err(Refused)? } else { Ok(n) } }
}

#[llmperf::step]
fn pinned(words: &[String]) -> Pin<Box<dyn Future<Output = &str> + Send + '_>> {
    Box::pin(async move { words.first().map_or("", String::as_str) })
}

#[llmperf::agent]
fn boxed(n: u32) -> BoxFuture<'static, u32> {
    Box::pin(async move { if n == 0 { 0 } else { boxed(n - 1).await + 1 } })
}

#[llmperf::step]
fn local(n: u32) -> LocalBoxFuture<'static, u32> {
    let shared = std::rc::Rc::new(n);
    Box::pin(async move { *shared })
}

#[llmperf::step]
fn unpinned(n: u32) -> Box<dyn Future<Output = u32> + Unpin> {
    Box::new(std::future::ready(n))
}

#[llmperf::workflow]
fn tried(n: u32) -> impl TryFuture<Ok = u32, Error = Refused> {
    std::future::ready(if n == 0 { Err(Refused) } else { Ok(n) })
}

#[test]
fn futures_in_every_form() {
    assert_eq!(awaited(async || opaque(1).await.unwrap()), (1, "execute_tool opaque\n".into()));
    assert_eq!(awaited(async || opaque(0).await.is_err()), (true, "execute_tool opaque !\n".into()));
    let words = ["a".to_owned()];
    assert_eq!(awaited(|| pinned(&words)), ("a", "step pinned\n".into()));
    assert_eq!(awaited(|| boxed(1)), (1, "invoke_agent boxed\n  invoke_agent boxed\n".into()));
    assert_eq!(awaited(|| local(1)), (1, "step local\n".into()));
    assert_eq!(awaited(|| unpinned(1)), (1, "step unpinned\n".into()));
    assert_eq!(awaited(|| TryFutureExt::into_future(tried(0))), (Err(Refused), "invoke_workflow tried !\n".into()));
}

#[llmperf::tool]
fn in_result(n: u32) -> Result<impl Future<Output = Result<u32, Refused>>, Refused> {
    if n == 0 {
        return Err(Refused);
    }
    Ok(async move { if n == 1 { Err(Refused) } else { Ok(n) } })
}

#[llmperf::tool]
fn in_option(n: u32) -> Option<BoxFuture<'static, u32>> {
    let n = n.checked_sub(1)?;
    Some(Box::pin(async move { n }))
}

#[test]
fn a_future_in_a_result() {
    assert_eq!(awaited(async || in_result(2).unwrap().await), (Ok(2), "execute_tool in_result\n".into()));
    assert_eq!(awaited(async || in_result(1).unwrap().await), (Err(Refused), "execute_tool in_result !\n".into()));
    assert_eq!(awaited(async || in_result(0).is_err()), (true, "execute_tool in_result !\n".into()));
}

#[test]
fn a_future_in_an_option() {
    assert_eq!(awaited(async || in_option(1).unwrap().await), (0, "execute_tool in_option\n".into()));
    assert_eq!(awaited(async || in_option(0).is_none()), (true, "execute_tool in_option\n".into()));
}

struct Desk {
    count: u32,
    inner: Option<Box<Self>>,
}

impl Desk {
    #[llmperf::step]
    fn count(&mut self) -> BoxFuture<'_, &mut u32> {
        match &mut self.inner {
            Some(inner) => inner.count(),
            None => Box::pin(async {
                self.count += 1;
                &mut self.count
            }),
        }
    }
}

/// What the body makes before there is anything to poll is no child: the work has not begun.
#[test]
fn a_future_that_borrows_a_part_of_what_was_lent() {
    let mut desk = Desk { count: 0, inner: Some(Box::new(Desk { count: 1, inner: None })) };
    assert_eq!(awaited(async || *desk.count().await), (2, "step count\nstep count\n".into()));
    assert_eq!(desk.count, 0);
}
