//! What the tests of all clients share: the local server, short plans, a clock that moves one step per read.

#[path = "../../../examples/server/mod.rs"]
pub(crate) mod server;

use std::time::Duration;

use futures::{Stream, StreamExt as _};
use llmperf_core::{Outcome, Timing, Usage, testing::Probe};

use server::{Burst, Consumer, Ending, Finish, Kind, Piece, Plan, SWIFT, Server, THINKER, TOOLSMITH};

/// How far the clock moves after each item.
pub(crate) const STEP: Duration = Duration::from_millis(10);

/// A role frame, then four tokens of text.
pub(crate) fn swift(ending: Ending) -> Plan {
    plan(SWIFT, ending, &[(Kind::Text, 1), (Kind::Text, 2), (Kind::Text, 1)])
}

/// A role frame, then two tokens of reasoning and two of text.
pub(crate) fn thinker(ending: Ending) -> Plan {
    plan(THINKER, ending, &[(Kind::Reasoning, 1), (Kind::Reasoning, 1), (Kind::Text, 2)])
}

/// A role frame, then a tool call.
pub(crate) fn toolsmith(ending: Ending) -> Plan {
    plan(TOOLSMITH, ending, &[(Kind::Tool, 1), (Kind::Tool, 2), (Kind::Tool, 1)])
}

pub(crate) fn complete() -> Ending {
    Ending::Complete(Finish::Stop)
}

fn plan(model: &'static str, ending: Ending, outputs: &[(Kind, u32)]) -> Plan {
    // Apart, so that each leaves as a write of its own.
    let burst = |piece| Burst { after: Duration::from_millis(2), pieces: vec![piece] };
    let outputs = outputs.iter().map(|&(kind, tokens)| burst(Piece::Output { kind, tokens }));
    Plan {
        model,
        prompt_tokens: 40,
        cached_tokens: 16,
        queue: Duration::ZERO,
        bursts: std::iter::once(burst(Piece::Role)).chain(outputs).collect(),
        tail: Duration::from_millis(2),
        ending,
        consumer: Consumer::Prompt,
    }
}

/// A server that answers every request by this plan.
pub(crate) fn serve(plan: &Plan) -> Server {
    let plan = plan.clone();
    Server::start(move |_| plan.clone()).expect("a port, a thread and a runtime")
}

/// Reads to the end, or to the first error, or until `most` items have come; the clock moves one [`STEP`] after each.
pub(crate) async fn read<T, E>(
    probe: &Probe,
    stream: &mut (impl Stream<Item = Result<T, E>> + Unpin),
    most: usize,
) -> Vec<T> {
    let mut items = Vec::new();
    while items.len() < most
        && let Some(Ok(item)) = stream.next().await
    {
        items.push(item);
        probe.clock().advance(STEP);
    }
    items
}

/// What can be spawned on a runtime with several threads.
pub(crate) fn sendable<T: Send>(value: T) -> T {
    value
}

/// What the plan's usage is where cached tokens are told.
pub(crate) fn usage(plan: &Plan) -> Usage {
    Usage::of(plan.prompt_tokens.into(), plan.output_tokens().into()).cache_read(u64::from(plan.cached_tokens))
}

/// Outcome and `error.type`.
pub(crate) fn ending(timing: &Timing) -> (Option<Outcome>, Option<&str>) {
    (timing.outcome, timing.error_type.as_deref())
}

/// The finish reasons of a call.
pub(crate) fn reasons(timing: &Timing) -> Vec<&str> {
    timing.finish_reasons.iter().map(|finish| finish.reason.as_ref()).collect()
}

/// An attribute of the only span, as text; empty if it has none.
pub(crate) fn attribute(probe: &Probe, key: &str) -> String {
    let span = probe.span();
    span.attributes.iter().find(|pair| pair.key.as_str() == key).map(|pair| pair.value.to_string()).unwrap_or_default()
}
