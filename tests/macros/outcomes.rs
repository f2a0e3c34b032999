//! Every way in which measured work can end, for every attribute.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Duration,
};

use futures::{FutureExt as _, Stream, StreamExt as _, future::BoxFuture, stream};
use llmperf::{
    agent::{AgentOutcome, AgentResult, ToolFailure, ToolOutcome},
    testing::Probe,
};

use crate::support::{Refused, on};

const LIMIT: Duration = Duration::from_secs(5);

/// What the function is to do.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Succeed,
    Fail,
    ReturnEarly,
    Panic,
    Wait,
}

impl Way {
    fn go(self) -> Result<u32, Refused> {
        match self {
            Self::Fail | Self::ReturnEarly => Err(Refused),
            Self::Panic => resume_unwind(Box::new("panic")),
            Self::Succeed | Self::Wait => Ok(1),
        }
    }
}

/// The outcome of the only span, and its `error.type`.
fn outcome(probe: &Probe) -> (String, String) {
    let span = probe.span();
    let of = |key| {
        let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == key);
        found.map_or_else(String::new, |attribute| attribute.value.to_string())
    };
    (of("llmperf.outcome"), of("error.type"))
}

fn complete() -> (String, String) {
    ("complete".into(), String::new())
}

fn cancelled() -> (String, String) {
    ("cancelled".into(), String::new())
}

fn error(error_type: &str) -> (String, String) {
    ("error".into(), error_type.into())
}

/// Tests of one attribute: its name, and what it calls the error of the tests.
macro_rules! every_outcome {
    ($($attribute:ident: $refused:literal),* $(,)?) => {$(
        mod $attribute {
            use super::*;

            #[llmperf::$attribute]
            fn plain(way: Way) -> Result<u32, Refused> {
                if way == Way::ReturnEarly {
                    let never = way.go()?;
                    return Ok(never);
                }
                way.go()
            }

            #[llmperf::$attribute(deadline = LIMIT)]
            async fn asynchronous(way: Way) -> Result<u32, Refused> {
                match way {
                    Way::Wait => std::future::pending().await,
                    Way::ReturnEarly => {
                        let never = way.go()?;
                        return Ok(never);
                    }
                    _ => way.go(),
                }
            }

            #[llmperf::$attribute(deadline = Some(LIMIT))]
            fn boxed(way: Way) -> BoxFuture<'static, Result<u32, Refused>> {
                async move { if way == Way::Wait { std::future::pending().await } else { way.go() } }.boxed()
            }

            #[llmperf::$attribute(deadline = LIMIT)]
            fn streamed(way: Way) -> impl Stream<Item = Result<u32, Refused>> + Unpin {
                stream::iter([Way::Succeed, way]).map(Way::go)
            }

            #[llmperf::$attribute]
            async fn opened(way: Way) -> Result<impl Stream<Item = u32> + Unpin, Refused> {
                let n = way.go()?;
                Ok(stream::iter(0..n))
            }

            #[llmperf::$attribute]
            fn optional(way: Way) -> Option<u32> {
                way.go().ok()
            }

            /// Each function of a value.
            fn of_values() -> [fn(Way) -> BoxFuture<'static, Result<u32, Refused>>; 3] {
                [|way| async move { plain(way) }.boxed(), |way| asynchronous(way).boxed(), boxed]
            }

            #[test]
            fn ok_is_complete() {
                for code in of_values() {
                    let probe = Probe::new();
                    assert_eq!(on(&probe, || code(Way::Succeed)), Ok(1));
                    assert_eq!(outcome(&probe), complete());
                }
            }

            #[test]
            fn err_is_an_error_also_by_a_question_mark() {
                for code in of_values() {
                    for way in [Way::Fail, Way::ReturnEarly] {
                        let probe = Probe::new();
                        assert_eq!(on(&probe, || code(way)), Err(Refused));
                        assert_eq!(outcome(&probe), error($refused));
                    }
                }
            }

            #[test]
            fn none_is_complete() {
                let probe = Probe::new();
                assert_eq!(probe.instrumentation().sync_scope(|| optional(Way::Fail)), None);
                assert_eq!(outcome(&probe), complete());
            }

            #[test]
            fn a_panic_is_an_error_and_goes_on() {
                for code in of_values() {
                    let probe = Probe::new();
                    let payload = catch_unwind(AssertUnwindSafe(|| on(&probe, || code(Way::Panic)))).unwrap_err();
                    assert_eq!(payload.downcast_ref(), Some(&"panic"));
                    assert_eq!(outcome(&probe), error("panic"));
                }
            }

            #[test]
            fn a_future_that_is_dropped_is_cancelled_and_after_its_deadline_timed_out() {
                for code in &of_values()[1..] {
                    for (later, expected) in [(LIMIT / 2, cancelled()), (LIMIT, error("timeout"))] {
                        let probe = Probe::new();
                        on(&probe, async || {
                            let mut future = code(Way::Wait);
                            assert!(futures::poll!(&mut future).is_pending());
                            probe.clock().advance(later);
                        });
                        assert_eq!(outcome(&probe), expected);
                    }
                }
            }

            #[test]
            fn a_stream_that_ends_is_complete() {
                let probe = Probe::new();
                let items: Vec<_> = on(&probe, async || streamed(Way::Succeed).collect().await);
                assert_eq!(items, [Ok(1), Ok(1)]);
                assert_eq!(outcome(&probe), complete());
                let probe = Probe::new();
                assert_eq!(on(&probe, async || opened(Way::Succeed).await.unwrap().count().await), 1);
                assert_eq!(outcome(&probe), complete());
            }

            #[test]
            fn an_item_that_is_an_error_is_one_of_the_work_and_passes() {
                let probe = Probe::new();
                let items: Vec<_> = on(&probe, async || streamed(Way::Fail).collect().await);
                assert_eq!(items, [Ok(1), Err(Refused)]);
                assert_eq!(outcome(&probe), error($refused));
            }

            #[test]
            fn an_error_in_the_place_of_a_stream_is_one_of_the_work() {
                let probe = Probe::new();
                assert!(on(&probe, async || opened(Way::Fail).await.is_err()));
                assert_eq!(outcome(&probe), error($refused));
            }

            #[test]
            fn a_stream_that_is_dropped_midway_is_cancelled_and_after_its_deadline_timed_out() {
                for (later, expected) in [(LIMIT / 2, cancelled()), (LIMIT, error("timeout"))] {
                    let probe = Probe::new();
                    on(&probe, async || {
                        let mut stream = streamed(Way::Succeed);
                        assert_eq!(stream.next().await, Some(Ok(1)));
                        probe.clock().advance(later);
                    });
                    assert_eq!(outcome(&probe), expected);
                }
            }

            #[test]
            fn a_panic_in_a_stream_is_an_error_and_goes_on() {
                let probe = Probe::new();
                let items = || on(&probe, async || streamed(Way::Panic).count().await);
                assert!(catch_unwind(AssertUnwindSafe(items)).is_err());
                assert_eq!(outcome(&probe), error("panic"));
            }
        }
    )*};
}

every_outcome! {
    retrieval: "macros::support::Refused",
    rerank: "macros::support::Refused",
    embedding: "macros::support::Refused",
    generation: "macros::support::Refused",
    pipeline: "macros::support::Refused",
    agent: "macros::support::Refused",
    step: "macros::support::Refused",
    tool: "other",
    workflow: "macros::support::Refused",
}

/// An answer that says itself whether it is one.
struct Answer(Option<ToolFailure>);

impl ToolOutcome for Answer {
    fn tool_failure(&self) -> Option<ToolFailure> {
        self.0.clone()
    }
}

#[llmperf::tool]
fn told(failure: Option<ToolFailure>) -> Answer {
    Answer(failure)
}

#[llmperf::tool]
async fn told_in_ok(failure: Option<ToolFailure>) -> Result<Answer, Refused> {
    Ok(Answer(failure))
}

#[llmperf::tool]
fn told_by_an_item(failure: Option<ToolFailure>) -> impl Stream<Item = Answer> {
    stream::iter([Answer(None), Answer(failure)])
}

#[test]
fn a_tool_that_reports_a_failure_as_its_value_has_failed() {
    for (failure, expected) in [(None, complete()), (Some(ToolFailure::Auth), error("auth"))] {
        let (probe, of) = (Probe::new(), failure.clone());
        probe.instrumentation().sync_scope(|| told(of));
        assert_eq!(outcome(&probe), expected);
        let (probe, of) = (Probe::new(), failure.clone());
        assert!(on(&probe, || told_in_ok(of)).is_ok());
        assert_eq!(outcome(&probe), expected);
        let (probe, of) = (Probe::new(), failure);
        assert_eq!(on(&probe, async || told_by_an_item(of).count().await), 2);
        assert_eq!(outcome(&probe), expected);
    }
}

/// An answer that says itself how the run came out.
struct Reply(AgentResult);

impl AgentOutcome for Reply {
    fn agent_result(&self) -> Option<AgentResult> {
        Some(self.0)
    }
}

#[llmperf::agent]
fn concluded(result: AgentResult) -> Reply {
    Reply(result)
}

#[llmperf::agent]
async fn concluded_in_ok(result: AgentResult) -> Result<Reply, Refused> {
    Ok(Reply(result))
}

#[llmperf::agent]
fn concluded_by_an_item(result: AgentResult) -> impl Stream<Item = Result<Reply, Refused>> {
    stream::iter([Ok(Reply(result))])
}

#[llmperf::agent(goal = |answer| answer.len() > least)]
async fn judged(answer: &str, least: usize) -> Result<String, Refused> {
    Ok(answer.to_owned())
}

#[llmperf::agent(goal = |answer: &&str| !answer.is_empty())]
fn judged_where_there_is_an_answer(answer: Option<&str>) -> Option<&str> {
    answer
}

fn result(probe: &Probe) -> String {
    let span = probe.span();
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == "llmperf.agent.result");
    found.map_or_else(String::new, |attribute| attribute.value.to_string())
}

#[test]
fn a_run_comes_out_as_its_value_says() {
    for expected in [AgentResult::Success, AgentResult::GaveUp, AgentResult::StepLimit] {
        let probe = Probe::new();
        probe.instrumentation().sync_scope(|| concluded(expected));
        assert_eq!((result(&probe).as_str(), outcome(&probe)), (expected.as_str(), complete()));
        let probe = Probe::new();
        assert!(on(&probe, || concluded_in_ok(expected)).is_ok());
        assert_eq!(result(&probe), expected.as_str());
        let probe = Probe::new();
        assert_eq!(on(&probe, async || concluded_by_an_item(expected).count().await), 1);
        assert_eq!(result(&probe), expected.as_str());
    }
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| concluded(AgentResult::Error));
    assert_eq!(outcome(&probe).0, "error");
}

#[test]
fn a_run_comes_out_as_its_goal_says() {
    for (least, expected) in [(2, "success"), (3, "failure")] {
        let probe = Probe::new();
        assert!(on(&probe, || judged("abc", least)).is_ok());
        assert_eq!((result(&probe).as_str(), outcome(&probe)), (expected, complete()));
    }
    for (answer, expected) in [(Some("a"), "success"), (Some(""), "failure"), (None, "success")] {
        let probe = Probe::new();
        assert_eq!(probe.instrumentation().sync_scope(|| judged_where_there_is_an_answer(answer)), answer);
        assert_eq!(result(&probe), expected);
    }
}
