//! What each level of judging does, of each kind of work.

use llmperf_core::part::{Guard, Verdict, Work};

use super::Failing;
use crate::{AgentOutcome, Run, Tool, ToolFailure, ToolOutcome};

pub(super) fn complete<W: Work>(_: &mut Guard<W>) -> Verdict {
    Verdict::Complete
}

pub(super) fn complete_value<W: Work, T>(guard: &mut Guard<W>, _: &T) -> Verdict {
    complete(guard)
}

pub(super) fn silent<W: Work, E>(_: &mut Guard<W>, error: &E) -> Verdict {
    Failing::silent(error).verdict()
}

pub(super) fn failed<W: Work>(_: &mut Guard<W>, failing: &Failing<'_>) -> Verdict {
    failing.verdict()
}

pub(super) fn output<W: Work>(guard: &mut Guard<W>) {
    guard.output();
}

pub(super) fn output_value<W: Work, T>(guard: &mut Guard<W>, _: &T) {
    guard.output();
}

pub(super) fn silent_item<W: Work, E>(guard: &mut Guard<W>, error: &E) {
    let verdict = silent(guard, error);
    guard.judge(verdict);
}

pub(super) fn failed_item<W: Work>(guard: &mut Guard<W>, failing: &Failing<'_>) {
    guard.judge(failing.verdict());
}

pub(super) fn run_told<T: AgentOutcome>(guard: &mut Guard<Run>, value: &T) -> Verdict {
    guard.judged_by(value)
}

pub(super) fn run_aware<E: AgentOutcome>(guard: &mut Guard<Run>, error: &E) -> Verdict {
    match error.agent_result() {
        None => silent(guard, error),
        Some(_) => guard.judged_by(error),
    }
}

pub(super) fn run_item<T: AgentOutcome>(guard: &mut Guard<Run>, item: &T) {
    match guard.judged_by(item) {
        Verdict::Complete => guard.output(),
        verdict => guard.judge(verdict),
    }
}

pub(super) fn run_aware_item<E: AgentOutcome>(guard: &mut Guard<Run>, error: &E) {
    // A result that is none of an error's is kept by the run: an error, or a panic, may still end it.
    let verdict = run_aware(guard, error);
    if verdict != Verdict::Complete {
        guard.judge(verdict);
    }
}

pub(super) fn tool_told<T: ToolOutcome>(_: &mut Guard<Tool>, value: &T) -> Verdict {
    value.tool_failure().map_or(Verdict::Complete, Verdict::from)
}

pub(super) fn tool_plain(guard: &mut Guard<Tool>) -> Verdict {
    guard.unjudged()
}

pub(super) fn tool_aware<E: ToolOutcome>(_: &mut Guard<Tool>, error: &E) -> Verdict {
    error.tool_failure().unwrap_or(ToolFailure::Other).into()
}

pub(super) fn tool_failed(_: &mut Guard<Tool>, failing: &Failing<'_>) -> Verdict {
    failing.of_tool()
}

pub(super) fn tool_item<T: ToolOutcome>(guard: &mut Guard<Tool>, item: &T) {
    match item.tool_failure() {
        None => guard.output(),
        Some(failure) => guard.judge(failure.into()),
    }
}

pub(super) fn tool_aware_item<E: ToolOutcome>(guard: &mut Guard<Tool>, error: &E) {
    let verdict = tool_aware(guard, error);
    guard.judge(verdict);
}

pub(super) fn tool_failed_item(guard: &mut Guard<Tool>, failing: &Failing<'_>) {
    guard.judge(failing.of_tool());
}
