//! Free functions.

use std::{borrow::Cow, fmt::Display, rc::Rc};

use crate::support::{Anyhow, BoxError, Refused, awaited, measured};

#[llmperf::tool]
fn value(n: u32) -> u32 {
    n + 1
}

#[test]
fn a_plain_function() {
    assert_eq!(measured(|| value(1)), (2, "execute_tool value\n".into()));
}

#[llmperf::step]
fn unit(seen: &mut Vec<u32>) {
    seen.push(1);
}

#[test]
fn a_function_that_gives_nothing() {
    let mut seen = Vec::new();
    let ((), tree) = measured(|| unit(&mut seen));
    assert_eq!((seen, tree.as_str()), (vec![1], "step unit\n"));
}

#[llmperf::workflow]
fn question_mark(text: &str) -> Result<u32, BoxError> {
    let n: u32 = text.parse()?;
    if n == 0 {
        return Err(Refused.into());
    }
    Ok(n)
}

#[test]
fn a_function_that_returns_early() {
    assert_eq!(measured(|| question_mark("7").ok()), (Some(7), "invoke_workflow question_mark\n".into()));
    assert_eq!(measured(|| question_mark("0").is_err()), (true, "invoke_workflow question_mark !\n".into()));
    assert_eq!(measured(|| question_mark("x").is_err()), (true, "invoke_workflow question_mark !\n".into()));
}

#[llmperf::agent]
fn from_anything(text: &str) -> Result<u32, Anyhow> {
    Ok(text.parse()?)
}

#[test]
fn an_error_that_is_made_of_any_other() {
    assert_eq!(measured(|| from_anything("7").ok()), (Some(7), "invoke_agent from_anything\n".into()));
    assert_eq!(measured(|| from_anything("x").is_err()), (true, "invoke_agent from_anything !\n".into()));
}

#[llmperf::tool]
fn boxed_error(text: &str) -> Result<u32, Box<dyn std::error::Error>> {
    Ok(text.parse()?)
}

#[test]
fn an_error_in_a_box_that_stays_on_its_thread() {
    assert_eq!(measured(|| boxed_error("x").is_err()), (true, "execute_tool boxed_error !\n".into()));
}

#[llmperf::step]
fn optional(n: u32) -> Option<u32> {
    let n = n.checked_sub(1)?;
    Some(n)
}

#[test]
fn none_is_complete() {
    assert_eq!(measured(|| optional(0)), (None, "step optional\n".into()));
    assert_eq!(measured(|| optional(1)), (Some(0), "step optional\n".into()));
}

#[llmperf::tool]
fn lent<'a>(words: &'a [String], _other: &str) -> Option<&'a str> {
    words.first().map(String::as_str)
}

#[test]
fn a_reference_with_a_lifetime_of_its_own() {
    let words = ["a".to_owned()];
    assert_eq!(measured(|| lent(&words, "b")).0, Some("a"));
}

#[llmperf::tool]
fn elided(words: &mut Vec<String>) -> &mut String {
    words.push("x".to_owned());
    let last = words.len() - 1;
    &mut words[last]
}

#[test]
fn a_mutable_reference_out_of_a_mutable_reference() {
    let mut words = Vec::new();
    let (word, _) = measured(|| elided(&mut words).clone());
    assert_eq!((word.as_str(), words.len()), ("x", 1));
}

#[llmperf::step]
fn part_of(pair: &mut (String, Vec<u32>)) -> (&str, &mut [u32]) {
    (&pair.0, &mut pair.1[..])
}

#[test]
fn several_references_out_of_one() {
    let mut pair = ("a".to_owned(), vec![1]);
    let (n, _) = measured(|| part_of(&mut pair).1.len());
    assert_eq!(n, 1);
}

#[llmperf::tool]
fn cow(text: &str) -> Cow<'_, str> {
    text.into()
}

#[llmperf::tool]
fn opaque(n: u32) -> impl Display {
    n
}

#[llmperf::tool]
fn opaque_in(n: u32) -> Result<impl Display, BoxError> {
    if n == 0 {
        Err(Refused)?;
    }
    Ok(n)
}

#[llmperf::tool]
fn iterator(words: &mut [String]) -> impl Iterator<Item = &mut String> {
    words.iter_mut()
}

#[test]
fn opaque_values() {
    assert_eq!(measured(|| cow("a").into_owned()).0, "a");
    assert_eq!(measured(|| opaque(7).to_string()), ("7".into(), "execute_tool opaque\n".into()));
    assert!(measured(|| opaque_in(0).is_err()).1.ends_with("!\n"));
    assert_eq!(measured(|| iterator(&mut ["a".to_owned()]).count()).0, 1);
}

#[llmperf::step]
fn generic<T: Clone, const N: usize>(item: &T, _sizes: [u8; N]) -> (T, usize)
where
    [T; N]: Sized,
{
    (item.clone(), N)
}

#[test]
fn types_and_constants_as_parameters() {
    assert_eq!(measured(|| generic(&"a", [0; 3])), (("a", 3), "step generic\n".into()));
}

#[llmperf::step]
#[allow(clippy::needless_pass_by_value, reason = "the shape is what is tested")]
fn patterns((a, b): (u32, u32), mut c: u32, [d, ..]: [u32; 2], _: Rc<u32>) -> u32 {
    c += 1;
    a + b + c + d
}

#[test]
fn patterns_and_mutable_arguments() {
    assert_eq!(measured(|| patterns((1, 2), 3, [4, 5], Rc::new(6))).0, 11);
}

#[llmperf::step]
fn functions(
    opaque: impl Fn(u32) -> u32,
    lent: &dyn Fn(u32) -> u32,
    mutable: &mut dyn FnMut(u32),
    once: Box<dyn FnOnce() -> u32>,
) -> u32 {
    mutable(1);
    opaque(1) + lent(2) + once()
}

#[test]
fn functions_as_arguments() {
    let mut seen = 0;
    let (n, _) = measured(|| functions(|n| n, &|n| n, &mut |n| seen = n, Box::new(|| 4)));
    assert_eq!((n, seen), (7, 1));
}

#[llmperf::step]
fn function_given(n: u32) -> impl Fn(u32) -> u32 {
    move |m| m + n
}

#[llmperf::step]
fn boxed_function_given(n: usize) -> Box<dyn Fn(&str) -> usize> {
    Box::new(move |text| text.len() + n)
}

#[test]
fn functions_as_values() {
    assert_eq!(measured(|| function_given(1)(2)).0, 3);
    assert_eq!(measured(|| boxed_function_given(1)("ab")).0, 3);
}

#[llmperf::tool]
fn never(n: u32) -> ! {
    if n == 0 {
        std::panic::resume_unwind(Box::new("zero"))
    }
    std::panic::resume_unwind(Box::new("other"))
}

#[test]
fn a_function_that_never_returns() {
    let (caught, tree) = measured(|| std::panic::catch_unwind(|| never(0)).is_err());
    assert_eq!((caught, tree.as_str()), (true, "execute_tool never !\n"));
}

#[llmperf::step]
fn recursive(n: u32) -> u32 {
    if n == 0 { 0 } else { recursive(n - 1) + 1 }
}

#[test]
fn a_function_that_calls_itself() {
    assert_eq!(measured(|| recursive(2)), (2, "step recursive\n  step recursive\n    step recursive\n".into()));
}

#[llmperf::step]
fn divergent(n: u32) -> u32 {
    let _unused = n;
    loop {
        if n > 0 {
            break n;
        }
    }
}

#[test]
fn a_body_that_is_a_loop() {
    assert_eq!(measured(|| divergent(1)).0, 1);
}

#[llmperf::step]
fn inner_items(n: u32) -> u32 {
    #![allow(clippy::items_after_statements, reason = "the shape is what is tested")]
    const TWO: u32 = 2;
    fn twice(n: u32) -> u32 {
        n * TWO
    }
    #[llmperf::tool]
    fn measured_too(n: u32) -> u32 {
        twice(n)
    }
    measured_too(n)
}

#[test]
fn attributes_and_items_inside_the_body() {
    assert_eq!(measured(|| inner_items(2)), (4, "step inner_items\n  execute_tool measured_too\n".into()));
}

#[llmperf::step]
extern "C" fn foreign(n: u32) -> u32 {
    n
}

#[test]
fn a_function_with_an_abi() {
    assert_eq!(measured(|| foreign(2)).0, 2);
}

#[llmperf::tool]
async fn asynchronous(text: &str, n: u32) -> Result<String, BoxError> {
    std::future::ready(()).await;
    if n == 0 {
        Err(Refused)?;
    }
    Ok(text.repeat(n as usize))
}

#[test]
fn an_async_function() {
    let (value, tree) = awaited(|| asynchronous("a", 2));
    assert_eq!((value.unwrap().as_str(), tree.as_str()), ("aa", "execute_tool asynchronous\n"));
    let (value, tree) = awaited(|| asynchronous("a", 0));
    assert!(value.is_err() && tree == "execute_tool asynchronous !\n");
}

#[llmperf::step]
async fn asynchronous_unit(seen: &mut Vec<u32>) {
    std::future::ready(()).await;
    seen.push(1);
}

#[llmperf::step]
async fn asynchronous_lent<'a>(one: &'a str, other: &str) -> &'a str {
    let _ = other;
    one
}

#[llmperf::step]
async fn asynchronous_opaque(n: u32) -> Result<impl Display + Send, BoxError> {
    if n == 0 {
        return Err(Refused.into());
    }
    Ok(n)
}

#[llmperf::step]
async fn asynchronous_generic<T: Clone, const N: usize>(item: &T) -> [T; N] {
    std::array::from_fn(|_| item.clone())
}

#[test]
fn async_functions_of_other_shapes() {
    let mut seen = Vec::new();
    awaited(|| asynchronous_unit(&mut seen));
    assert_eq!(seen, [1]);
    assert_eq!(awaited(|| asynchronous_lent("a", "b")).0, "a");
    assert_eq!(awaited(|| asynchronous_opaque(1)).0.unwrap().to_string(), "1");
    assert_eq!(awaited(|| asynchronous_generic::<_, 2>(&1)).0, [1, 1]);
}

#[llmperf::agent]
async fn asynchronous_recursion(n: u32) -> u32 {
    if n == 0 { 0 } else { Box::pin(asynchronous_recursion(n - 1)).await + 1 }
}

#[test]
fn an_async_function_that_awaits_itself() {
    let tree = "invoke_agent asynchronous_recursion\n  invoke_agent asynchronous_recursion\n";
    assert_eq!(awaited(|| asynchronous_recursion(1)), (1, tree.into()));
}

#[llmperf::workflow]
async fn forever(n: u32) -> ! {
    loop {
        assert!(n > 0);
        std::future::pending::<()>().await;
    }
}

#[test]
fn an_async_function_that_never_returns_is_cancelled_when_it_is_dropped() {
    let (_, tree) = awaited(|| async {
        let future = std::pin::pin!(forever(1));
        assert!(futures::poll!(future).is_pending());
    });
    assert_eq!(tree, "invoke_workflow forever\n");
}

#[llmperf::tool]
async fn with_shared(item: Rc<u32>) -> u32 {
    std::future::ready(()).await;
    *item
}

#[test]
fn a_future_that_stays_on_its_thread() {
    assert_eq!(awaited(|| with_shared(Rc::new(1))).0, 1);
}
