//! Names that the function's surroundings use for something else.

#![allow(dead_code, unused_macros, non_camel_case_types, reason = "names are taken, not used")]

use crate::support::{Refused, awaited, measured};

/// A place where everything that generated code could lean on means something else.
mod taken {
    pub(super) mod std {}
    pub(super) mod core {}
    pub(super) mod alloc {}
    pub(super) mod llmperf_core {}
    pub(super) mod llmperf_agent {}

    pub(super) struct Result;
    pub(super) struct Option;
    pub(super) struct Box;
    pub(super) struct String;
    pub(super) struct Work;
    pub(super) struct Guard;
    pub(super) struct Judged;
    pub(super) struct Infallible;
    pub(super) trait Clone {}
    pub(super) trait ToString {}
    pub(super) trait FnOnce {}
    pub(super) trait Deref {}
    #[derive(Debug)]
    pub(super) enum Taken {
        Ok,
        Err,
        Some,
        None,
    }
    #[allow(unused_imports, reason = "names are taken, not used")]
    pub(super) use Taken::{Err, None, Ok, Some};

    #[llmperf::tool(name = name, deadline = ::std::time::Duration::ZERO, attributes("a" = 1))]
    pub(super) fn plain(name: &str) -> ::std::result::Result<u32, super::Refused> {
        ::std::result::Result::Ok(name.len() as u32)
    }

    #[llmperf::agent(goal = |n: &u32| *n > 0)]
    pub(super) async fn asynchronous(n: u32) -> ::std::result::Result<u32, super::Refused> {
        ::std::result::Result::Ok(n)
    }

    #[llmperf::retrieval(store = name, top_k = 5, query = name)]
    pub(super) fn streamed(
        name: &str,
    ) -> ::std::option::Option<::std::result::Result<::futures::stream::BoxStream<'static, u32>, super::Refused>> {
        let _ = name;
        ::std::option::Option::None
    }
}

#[test]
fn generated_code_leans_on_no_name_in_scope() {
    assert_eq!(measured(|| taken::plain("ab")), (Ok(2), "execute_tool ab\n".into()));
    assert_eq!(awaited(|| taken::asynchronous(2)).0, Ok(2));
    assert!(measured(|| taken::streamed("a").is_none()).0);
}

/// Parameters with the names of what generated code has inside: theirs are of another place.
#[llmperf::tool(name = __llmperf_value, arguments = (__llmperf_work, __llmperf_guard))]
async fn same_names(__llmperf_value: &str, __llmperf_work: u32, __llmperf_guard: u32) -> Result<u32, Refused> {
    let __llmperf_never = __llmperf_work + __llmperf_guard;
    Ok(__llmperf_never + __llmperf_value.len() as u32)
}

#[test]
fn generated_names_do_not_meet_those_of_the_user() {
    assert_eq!(awaited(|| same_names("a", 1, 2)), (Ok(4), "execute_tool a\n".into()));
}
