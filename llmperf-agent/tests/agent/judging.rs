//! What the attributes ask of a value, an error, an item: every type compiles, and the most that is known of it counts.

use std::{error::Error, fmt, io, rc::Rc};

use llmperf_agent::{
    __private::{Judged, JudgedError, JudgedItem, goal, judging::*, value},
    AgentOutcome, AgentResult, ToolFailure, ToolOutcome, Verdict, Work as _,
    opentelemetry::Value,
    run, step, tool, workflow,
};
use llmperf_core::testing::Probe;

/// A value that knows how it came out.
struct Knows(Option<ToolFailure>, Option<AgentResult>);

impl ToolOutcome for Knows {
    fn tool_failure(&self) -> Option<ToolFailure> {
        self.0.clone()
    }
}

impl AgentOutcome for Knows {
    fn agent_result(&self) -> Option<AgentResult> {
        self.1
    }
}

fn good() -> Knows {
    Knows(None, None)
}

fn bad() -> Knows {
    Knows(Some(ToolFailure::code("no_seats")), Some(AgentResult::GaveUp))
}

/// An error that knows its kind, and is an error besides.
#[derive(Debug)]
struct Aware;

impl fmt::Display for Aware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("aware")
    }
}

impl Error for Aware {}

impl ToolOutcome for Aware {
    fn tool_failure(&self) -> Option<ToolFailure> {
        Some(ToolFailure::Auth)
    }
}

impl AgentOutcome for Aware {
    fn agent_result(&self) -> Option<AgentResult> {
        Some(AgentResult::StepLimit)
    }
}

/// An error that borrows, with something behind it.
#[derive(Debug)]
struct Borrows<'a>(&'a str, io::Error);

impl fmt::Display for Borrows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Borrows<'_> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.1)
    }
}

/// Neither `Debug`, nor `Send`, nor an error.
struct Opaque(Rc<str>);

/// An error, and what holds one.
#[derive(Debug)]
struct Both(io::Error);

impl fmt::Display for Both {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("both")
    }
}

impl Error for Both {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl AsRef<dyn Error + Send + Sync> for Both {
    fn as_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &self.0
    }
}

fn timed_out() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

fn held() -> Box<dyn Error + Send + Sync> {
    Box::new(timed_out())
}

fn failed(error_type: &str) -> Verdict {
    Verdict::failed(error_type)
}

/// What the attribute writes.
macro_rules! judge {
    ($work:expr, $judged:ident, $method:ident, $value:expr) => {{
        let mut guard = Probe::new().instrumentation().sync_scope(|| $work.start());
        let value = $value;
        (&&&&&$judged(&value)).$method(&mut guard)
    }};
}

macro_rules! tool {
    ($value:expr) => {
        judge!(tool("t"), Judged, judge_tool, $value)
    };
}

macro_rules! agent {
    ($value:expr) => {
        judge!(run("a"), Judged, judge_agent, $value)
    };
}

#[test]
fn each_level_of_a_tool_s_value_is_reached() {
    let text = String::from("borrowed");
    assert_eq!(tool!(good()), Verdict::Complete);
    assert_eq!(tool!(bad()), failed("no_seats"));
    assert_eq!(tool!(Some(bad())), failed("no_seats"));
    assert_eq!(tool!(None::<Knows>), Verdict::Complete);
    assert_eq!(tool!(Ok::<Knows, Aware>(bad())), failed("no_seats"));
    assert_eq!(tool!(Err::<Knows, Aware>(Aware)), failed("auth"));
    assert_eq!(tool!(Ok::<Knows, io::Error>(bad())), failed("no_seats"));
    assert_eq!(tool!(Err::<Knows, io::Error>(timed_out())), failed("timeout"));
    assert_eq!(tool!(Ok::<Knows, Borrows<'_>>(bad())), failed("no_seats"));
    assert_eq!(tool!(Err::<Knows, Borrows<'_>>(Borrows(&text, timed_out()))), failed("timeout"));
    assert_eq!(tool!(Ok::<Knows, Box<dyn Error + Send + Sync>>(bad())), failed("no_seats"));
    assert_eq!(tool!(Err::<Knows, _>(held())), failed("timeout"));
    assert_eq!(tool!(Ok::<Knows, Opaque>(bad())), failed("no_seats"));
    assert_eq!(tool!(Err::<Knows, _>(Opaque("x".into()))), failed("other"));
    assert_eq!(tool!(Ok::<&str, Aware>("fine")), Verdict::Complete);
    assert_eq!(tool!(Err::<&str, _>(Aware)), failed("auth"));
    assert_eq!(tool!(Err::<&str, _>(timed_out())), failed("timeout"));
    assert_eq!(tool!("seven".parse::<u8>()), failed("format"));
    assert_eq!(tool!(Err::<&str, _>(held())), failed("timeout"));
    assert_eq!(tool!(Err::<&str, _>("in words")), failed("other"));
    assert_eq!(tool!(Ok::<Opaque, Opaque>(Opaque("x".into()))), Verdict::Complete);
    assert_eq!(tool!(Opaque("x".into())), Verdict::Complete);
    assert_eq!(tool!(text.as_str()), Verdict::Complete);
    assert_eq!(tool!(()), Verdict::Complete);
}

#[test]
fn each_level_of_an_agent_s_value_is_reached() {
    let text = String::from("borrowed");
    let told = |value: AgentResult| {
        let mut guard = Probe::new().instrumentation().sync_scope(|| run("a").start());
        (&&&&&Judged(&value)).judge_agent(&mut guard)
    };
    for result in [AgentResult::Success, AgentResult::Failure, AgentResult::GaveUp, AgentResult::StepLimit] {
        assert_eq!(told(result), Verdict::Complete, "{result}");
    }
    assert_eq!(told(AgentResult::Suspended), Verdict::Complete);
    assert_eq!(told(AgentResult::Error), failed("_OTHER"));
    assert_eq!(told(AgentResult::Cancelled), Verdict::Cancelled);
    assert_eq!(agent!(Err::<Knows, Aware>(Aware)), Verdict::Complete, "a limit is no error");
    assert_eq!(agent!(Err::<&str, Aware>(Aware)), Verdict::Complete);
    assert_eq!(agent!(Err::<Knows, io::Error>(timed_out())), failed("timed_out"));
    assert_eq!(agent!(Err::<&str, io::Error>(timed_out())), failed("timed_out"));
    assert_eq!(agent!(Err::<Knows, _>(Borrows(&text, timed_out()))), failed("timed_out"));
    assert_eq!(agent!(Err::<&str, _>(held())), failed("timed_out"));
    assert_eq!(agent!(Err::<Knows, _>(held())), failed("timed_out"));
    assert_eq!(agent!(Err::<Knows, _>(Opaque("x".into()))), failed("_OTHER"));
    assert_eq!(agent!("seven".parse::<u8>()), failed("core::num::error::ParseIntError"));
    assert_eq!(agent!(Err::<(), _>("in words")), failed("_OTHER"));
    assert_eq!(agent!(Opaque("x".into())), Verdict::Complete);
    assert_eq!(agent!(Some(3)), Verdict::Complete);
}

#[test]
fn steps_and_workflows_are_judged_by_their_errors_alone() {
    macro_rules! both {
        ($value:expr, $verdict:expr) => {
            assert_eq!(judge!(step("s"), Judged, judge_step, $value), $verdict);
            assert_eq!(judge!(workflow("w"), Judged, judge_workflow, $value), $verdict);
        };
    }
    both!(bad(), Verdict::Complete);
    both!(Err::<Knows, _>(timed_out()), failed("timed_out"));
    both!(Err::<Knows, _>(Aware), failed("agent::judging::Aware"));
    both!(Err::<Knows, _>(held()), failed("timed_out"));
    both!(Err::<Knows, _>(Opaque("x".into())), failed("_OTHER"));
    both!(Ok::<(), Opaque>(()), Verdict::Complete);
}

#[test]
fn each_level_of_an_error_in_the_place_of_a_stream_is_reached() {
    macro_rules! errors {
        ($work:expr, $method:ident: $aware:expr, $io:expr, $typed:expr, $unknown:expr) => {
            assert_eq!(judge!($work, JudgedError, $method, Aware), $aware);
            assert_eq!(judge!($work, JudgedError, $method, timed_out()), $io);
            assert_eq!(judge!($work, JudgedError, $method, "7x".parse::<u8>().unwrap_err()), $typed);
            assert_eq!(judge!($work, JudgedError, $method, held()), $io);
            assert_eq!(judge!($work, JudgedError, $method, Opaque("x".into())), $unknown);
        };
    }
    let (io, parse) = (failed("timed_out"), failed("core::num::error::ParseIntError"));
    errors!(tool("t"), judge_tool: failed("auth"), failed("timeout"), failed("format"), failed("other"));
    errors!(run("a"), judge_agent: Verdict::Complete, io, parse, failed("_OTHER"));
    let aware = failed("agent::judging::Aware");
    errors!(step("s"), judge_step: aware, io, parse, failed("_OTHER"));
    errors!(workflow("w"), judge_workflow: aware, io, parse, failed("_OTHER"));
}

#[test]
fn an_item_that_is_no_error_is_output_and_one_that_is_fails_the_work() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        macro_rules! item {
            ($work:expr, $method:ident, $item:expr) => {{
                let mut guard = $work.start();
                let item = $item;
                (&&&&&JudgedItem(&item)).$method(&mut guard);
                guard.complete();
            }};
        }
        item!(run("output"), judge_agent, "word");
        item!(run("fails"), judge_agent, Err::<&str, _>(Opaque("x".into())));
        item!(run("limit"), judge_agent, Err::<&str, _>(Aware));
        item!(run("told"), judge_agent, Ok::<_, Aware>(bad()));
        item!(run("told"), judge_agent, bad());
        item!(run("broke"), judge_agent, Knows(None, Some(AgentResult::Error)));
        item!(tool("fails"), judge_tool, bad());
        item!(step("s"), judge_step, Err::<(), _>(held()));
        item!(workflow("w"), judge_workflow, Err::<(), _>(held()));
        item!(workflow("v"), judge_workflow, 3);
    });
    let spans = "invoke_agent output\ninvoke_agent fails !\ninvoke_agent limit\ninvoke_agent told\ninvoke_agent told\n\
                 invoke_agent broke !\nexecute_tool fails !\nstep s !\ninvoke_workflow w !\ninvoke_workflow v\n";
    let mut lines: Vec<_> = probe.tree().lines().map(str::to_owned).collect();
    let mut expected: Vec<_> = spans.lines().map(str::to_owned).collect();
    lines.sort();
    expected.sort();
    assert_eq!(lines, expected);
    let of = |agent: &str| {
        let runs = probe.points("llmperf.agent.runs");
        let run = runs.iter().find(|point| point.attribute("gen_ai.agent.name") == agent).cloned();
        run.map(|point| point.attribute("llmperf.agent.result").to_owned())
    };
    assert_eq!(of("limit").as_deref(), Some("step_limit"));
    assert_eq!(of("told").as_deref(), Some("gave_up"));
    let first: Vec<_> = probe.points("llmperf.agent.time_to_first_output");
    assert_eq!(first.len(), 2, "errors are no output: {first:?}");
}

#[test]
fn an_item_that_says_how_the_run_came_out_does_not_hide_a_panic_after_it() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("a").start();
        (&&&&&JudgedItem(&Err::<&str, _>(Aware))).judge_agent(&mut guard);
        let panics = std::panic::AssertUnwindSafe(|| guard.in_scope(crate::scripted_panic::<()>));
        assert!(std::panic::catch_unwind(panics).is_err());
        guard.complete();
    });
    assert_eq!(probe.points("llmperf.agent.runs")[0].attribute("llmperf.agent.result"), "error");
}

#[test]
fn a_goal_is_stronger_than_what_the_value_says() {
    let probe = Probe::new();
    probe.instrumentation().sync_scope(|| {
        let mut guard = run("a").start();
        let answer = bad();
        goal(&mut guard, &answer, |answer| answer.0.is_some());
        let verdict = (&&&&&Judged(&answer)).judge_agent(&mut guard);
        guard.end(verdict);
    });
    assert_eq!(probe.points("llmperf.agent.runs")[0].attribute("llmperf.agent.result"), "success");
}

#[test]
fn attribute_values_are_read_by_reference() {
    let name = String::from("acme");
    assert_eq!(value(&name), Value::from("acme"));
    assert_eq!(value(&&name), Value::from("acme"));
    assert_eq!(value("acme"), Value::from("acme"));
    assert_eq!(value(&std::borrow::Cow::from("acme")), Value::from("acme"));
    assert_eq!(value(&true), Value::from(true));
    assert_eq!(value(&7_u8), Value::from(7_i64));
    assert_eq!(value(&-7_i32), Value::from(-7_i64));
    assert_eq!(value(&7_usize), Value::from(7_i64));
    assert_eq!(value(&1.5_f32), Value::from(1.5));
    assert_eq!(value(&u64::MAX), Value::from(u64::MAX.to_string()), "never clamped");
}

/// Code that knows nothing of a type compiles as well.
#[test]
fn a_value_of_any_type_at_all_is_judged() {
    fn of<T, E>(result: Result<T, E>) -> Verdict {
        tool!(result)
    }
    fn of_opaque() -> impl Sized {
        bad()
    }
    assert_eq!(of(Ok::<_, Aware>(bad())), Verdict::Complete, "what is not known is complete");
    assert_eq!(of(Err::<(), _>(Aware)), failed("other"));
    assert_eq!(tool!(of_opaque()), Verdict::Complete);
    let local = 5;
    assert_eq!(tool!(&local), Verdict::Complete);
    assert_eq!(tool!(&mut 5), Verdict::Complete);
    assert_eq!(tool!([1, 2, 3]), Verdict::Complete);
    assert_eq!(tool!(Err::<Knows, _>(Both(timed_out()))), failed("timeout"));
    assert_eq!(tool!(Err::<(), _>(Both(timed_out()))), failed("timeout"));
    assert_eq!(judge!(tool("t"), JudgedError, judge_tool, Both(timed_out())), failed("timeout"));
    assert!(Opaque("x".into()).0.starts_with('x'));
}
