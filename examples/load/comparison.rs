//! What was measured beside what was injected, call by call.

use std::time::Duration;

use llmperf::{Outcome, Timing};

use crate::server::{Consumer, Ledger, Plan, Record};

/// One call: what was planned, what the server did, what llmperf measured.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) plan: Plan,
    pub(crate) injected: Record,
    pub(crate) measured: Timing,
}

/// One mark of all calls that have it on both sides.
#[derive(Debug)]
pub(crate) struct Comparison {
    pub(crate) mark: &'static str,
    /// Injected and measured, in seconds.
    times: Vec<(f64, f64)>,
}

/// Gives a mark as it was injected and as it was measured, if a call has both.
type Both = fn(&Pair) -> Option<(Duration, Duration)>;

const MARKS: [(&str, Both); 8] = [
    ("head", |pair| pair.injected.time_to_head().zip(pair.measured.time_to_head)),
    ("first chunk", |pair| pair.injected.time_to_first_chunk().zip(pair.measured.time_to_first_chunk)),
    ("TTFT", |pair| pair.injected.time_to_first_token().zip(pair.measured.time_to_first_token)),
    ("first answer", |pair| pair.injected.time_to_first_answer().zip(pair.measured.time_to_first_answer)),
    // Of an answer that broke off, the longest gap is the silence at its end, which no write of the server ends.
    ("longest gap", |pair| pair.injected.gaps().max().zip(pair.measured.longest_gap).filter(|_| pair.is_complete())),
    ("TPOT", |pair| pair.injected.time_per_output_token().zip(pair.measured.time_per_output_token)),
    ("generation", |pair| {
        pair.injected.generation_time().zip(pair.measured.generation_time).filter(|_| pair.is_complete())
    }),
    ("E2E", |pair| Some((pair.injected.duration()?, pair.measured.duration))),
];

impl Pair {
    /// Finds what the server did for plan number `index`; `None` if it never saw that request.
    pub(crate) fn of(plan: Plan, index: u64, ledger: &Ledger, measured: Timing) -> Option<Self> {
        Some(Self { plan, injected: ledger.of(index)?, measured })
    }

    fn is_complete(&self) -> bool {
        self.plan.outcome() == Outcome::Complete
    }
}

impl Comparison {
    /// All marks of the calls whose client read at once: a slow one adds waits of its own, which nobody injected.
    pub(crate) fn of(pairs: &[Pair]) -> Vec<Self> {
        let prompt: Vec<_> = pairs.iter().filter(|pair| pair.plan.consumer == Consumer::Prompt).collect();
        let seconds = |(injected, measured): (Duration, Duration)| (injected.as_secs_f64(), measured.as_secs_f64());
        let times = |both: Both| prompt.iter().filter_map(|pair| both(pair)).map(seconds).collect();
        MARKS.into_iter().map(|(mark, both)| Self { mark, times: times(both) }).collect()
    }

    /// How many calls have the mark.
    pub(crate) fn calls(&self) -> usize {
        self.times.len()
    }

    /// The median of what was injected, in seconds.
    pub(crate) fn injected(&self) -> Option<f64> {
        median(self.times.iter().map(|(injected, _)| *injected))
    }

    /// The median of what was measured, in seconds.
    pub(crate) fn measured(&self) -> Option<f64> {
        median(self.times.iter().map(|(_, measured)| *measured))
    }

    /// The median of measured less injected, in seconds.
    pub(crate) fn difference(&self) -> Option<f64> {
        median(self.differences())
    }

    /// The difference that is farthest from zero, in seconds.
    pub(crate) fn worst(&self) -> Option<f64> {
        self.differences().max_by(|one, other| one.abs().total_cmp(&other.abs()))
    }

    fn differences(&self) -> impl Iterator<Item = f64> + '_ {
        self.times.iter().map(|(injected, measured)| measured - injected)
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}
