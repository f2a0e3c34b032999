//! Together with other attributes, and with macros that write functions.

use crate::support::{BoxError, awaited, measured};

#[llmperf::tool]
#[tracing::instrument(skip_all)]
async fn inside_instrument(n: u32) -> Result<u32, BoxError> {
    std::future::ready(()).await;
    Ok(n)
}

#[tracing::instrument(skip_all)]
#[llmperf::tool]
async fn outside_instrument(n: u32) -> Result<u32, BoxError> {
    std::future::ready(()).await;
    Ok(n)
}

#[llmperf::step]
#[tracing::instrument(skip_all)]
fn plain_and_instrumented(n: u32) -> u32 {
    n
}

#[test]
fn before_and_after_instrument() {
    assert_eq!(awaited(async || outside_instrument(1).await.unwrap()), (1, "execute_tool outside_instrument\n".into()));
    assert_eq!(awaited(async || inside_instrument(1).await.unwrap()), (1, "execute_tool inside_instrument\n".into()));
    assert_eq!(measured(|| plain_and_instrumented(1)).0, 1);
}

#[tokio::test]
#[llmperf::step]
async fn below_the_attribute_of_a_test() {
    std::future::ready(()).await;
}

#[llmperf::step]
#[tokio::test]
async fn above_the_attribute_of_a_test() {
    std::future::ready(()).await;
}

#[llmperf::workflow(name = "inner")]
#[llmperf::agent]
async fn two_of_ours(n: u32) -> Result<u32, BoxError> {
    Ok(n)
}

#[test]
fn of_two_attributes_the_last_is_outermost() {
    let tree = "invoke_agent two_of_ours\n  invoke_workflow inner\n";
    assert_eq!(awaited(async || two_of_ours(1).await.unwrap()), (1, tree.into()));
}

/// A function written by a macro: types and bodies come in groups of their own.
macro_rules! written {
    ($name:ident, $given:ty, $body:block) => {
        #[llmperf::tool]
        fn $name() -> $given $body
    };
    (async $name:ident, $given:ty, $value:expr) => {
        #[llmperf::tool(name = $value)]
        async fn $name() -> $given {
            Ok($value.len())
        }
    };
}

written!(by_a_macro, Result<impl std::fmt::Display, BoxError>, {
    let n: u32 = "7".parse()?;
    Ok(n)
});
written!(async asynchronous_by_a_macro, Result<usize, BoxError>, "name");

#[test]
fn functions_that_a_macro_writes() {
    assert_eq!(measured(|| by_a_macro().unwrap().to_string()), ("7".into(), "execute_tool by_a_macro\n".into()));
    assert_eq!(awaited(async || asynchronous_by_a_macro().await.unwrap()), (4, "execute_tool name\n".into()));
}

#[llmperf::tool]
fn r#match(r#type: u32) -> u32 {
    r#type
}

#[test]
fn a_name_that_is_a_keyword() {
    assert_eq!(measured(|| r#match(1)), (1, "execute_tool match\n".into()));
}
