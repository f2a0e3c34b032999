//! Attributes in odd company: arguments with effects, other attributes, macros.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::support::{Refused, awaited, measured};

thread_local! {
    static SEEN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

fn see<T>(what: &'static str, value: T) -> T {
    SEEN.with_borrow_mut(|seen| seen.push(what));
    value
}

fn seen() -> Vec<&'static str> {
    SEEN.take()
}

#[llmperf::tool(
    name = see("name", "t"), kind = see("kind", "function"), call_id = see("call_id", text.clone()),
    arguments = (see("arguments", &text),), attributes("own" = see("attribute", 1)), labels("tenant" = see("label", "acme")),
)]
fn plain(text: String) -> String {
    see("body", text)
}

#[llmperf::retrieval(store = see("store", "s"), top_k = see("top_k", 3_u8), query = see("query", &text))]
async fn asynchronous(text: String) -> Result<Vec<String>, Refused> {
    see("body", Ok(vec![text]))
}

#[test]
fn each_argument_is_evaluated_once_in_order_and_before_the_body_which_may_take_all() {
    assert_eq!(measured(|| plain("a".into())).0, "a");
    assert_eq!(seen(), ["name", "kind", "call_id", "arguments", "attribute", "label", "body"]);
    assert_eq!(awaited(|| asynchronous("a".into())).0, Ok(vec!["a".to_owned()]));
    assert_eq!(seen(), ["store", "top_k", "query", "body"]);
}

static CALLS: AtomicU32 = AtomicU32::new(0);

#[llmperf::tool]
#[cfg(any())]
fn never_there() -> NoSuchType {}

#[cfg_attr(all(), llmperf::tool)]
fn there_by_configuration(#[cfg(any())] absent: NoSuchType, present: u32) -> u32 {
    CALLS.fetch_add(present, Ordering::Relaxed)
}

macro_rules! generated {
    ($attribute:path, $name:ident, $label:expr, $body:block) => {
        #[$attribute(name = $label)]
        fn $name() -> u32 $body
    };
}
generated!(llmperf::tool, written, format!("by {}", "macro"), { 7 });

#[test]
fn other_attributes_and_macros_go_with_ours() {
    assert_eq!(measured(|| there_by_configuration(2)), (0, "execute_tool there_by_configuration\n".into()));
    assert_eq!(measured(written), (7, "execute_tool by macro\n".into()));
}
