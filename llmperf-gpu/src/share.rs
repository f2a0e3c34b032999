//! Who used the energy of a stretch of time: the conserving estimators, as pure arithmetic.
//!
//! The power of a stretch is taken as constant. Where the set of calls in flight changes, the stretch is cut; each
//! piece is divided among the calls that are in flight in it, evenly or by the tokens that they made. Whatever the
//! calls, the shares add up to the energy of the time in which any call was in flight.

use std::time::Duration;

use crate::energy::Advance;

/// How the energy of the GPUs is divided among the calls that run on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Evenly among the calls in flight at each moment. Conserves: the shares of all calls add up to the energy of the
    /// time in which any was in flight.
    #[default]
    EqualShare,
    /// By the tokens that each made at that moment; a call that waits for its first token counts as one that makes the
    /// mean of those that stream (times the prefill weight of its model). Conserves,
    /// and is fairer where long and short answers mix. Where nobody makes tokens it is the equal share.
    TokenShare,
    /// All energy between start and end of the call. Right if calls never overlap; counts twice where they do.
    Window,
}

impl Method {
    /// Its name, as it stands in `llmperf.gpu.method`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EqualShare => "equal_share",
            Self::TokenShare => "token_share",
            Self::Window => "window",
        }
    }
}

/// One call, as far as it lies in a stretch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presence {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    /// Tokens that it made in the stretch; absent while it waits for its first one.
    pub(crate) tokens: Option<f64>,
    /// What it weighs while it waits, as a multiple of the mean of those that stream.
    pub(crate) prefill_weight: f64,
}

impl Presence {
    fn seconds_within(&self, advance: &Advance) -> f64 {
        self.to.min(advance.to).saturating_sub(self.from.max(advance.from)).as_secs_f64()
    }

    fn covers(&self, from: Duration, to: Duration) -> bool {
        self.from <= from && self.to >= to
    }
}

/// What of a stretch is one call's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Portion {
    /// Its equal share in joules.
    pub(crate) equal: f64,
    /// Its token share in joules.
    pub(crate) by_tokens: f64,
    /// All energy while it was in flight, in joules.
    pub(crate) whole: f64,
    /// How long it was in flight, in seconds.
    pub(crate) seconds: f64,
    /// The sum over that time of one by the number of calls in flight, in seconds: its share of the idle power's time.
    pub(crate) even_seconds: f64,
    /// The sum over that time of the number of calls in flight, in seconds.
    pub(crate) crowd_seconds: f64,
}

/// Divides a stretch among calls; the portions are in their order. Tells the seconds in which any call was in flight.
pub(crate) fn divide(advance: &Advance, calls: &[Presence]) -> (Vec<Portion>, f64) {
    let mut portions = vec![Portion::default(); calls.len()];
    let seconds = advance.to.saturating_sub(advance.from).as_secs_f64();
    if seconds <= 0.0 {
        return (portions, 0.0);
    }
    let watts = advance.joules / seconds;
    let rates: Vec<Option<f64>> = calls.iter().map(|call| rate(call, advance)).collect();
    let mut cuts: Vec<Duration> = calls.iter().flat_map(|call| [call.from, call.to]).collect();
    cuts.extend([advance.from, advance.to]);
    cuts.retain(|cut| (advance.from..=advance.to).contains(cut));
    cuts.sort_unstable();
    cuts.dedup();

    let mut busy = 0.0;
    for piece in cuts.windows(2) {
        let [from, to] = *piece else { continue };
        let in_flight: Vec<usize> = (0..calls.len()).filter(|call| covers(calls, *call, from, to)).collect();
        if in_flight.is_empty() {
            continue;
        }
        let time = (to - from).as_secs_f64();
        busy += time;
        let count = in_flight.len() as f64;
        let weights = weights(&in_flight, calls, &rates);
        let sum: f64 = weights.iter().sum();
        for (call, weight) in in_flight.iter().zip(&weights) {
            let Some(portion) = portions.get_mut(*call) else { continue };
            portion.equal += watts * time / count;
            portion.by_tokens += watts * time * if sum > 0.0 { weight / sum } else { 1.0 / count };
            portion.whole += watts * time;
            portion.seconds += time;
            portion.even_seconds += time / count;
            portion.crowd_seconds += time * count;
        }
    }
    (portions, busy)
}

fn covers(calls: &[Presence], call: usize, from: Duration, to: Duration) -> bool {
    calls.get(call).is_some_and(|call| call.covers(from, to))
}

/// Tokens per second while a call is in the stretch; absent while it waits.
fn rate(call: &Presence, advance: &Advance) -> Option<f64> {
    let seconds = call.seconds_within(advance);
    call.tokens.map(|tokens| if seconds > 0.0 { tokens.max(0.0) / seconds } else { 0.0 })
}

fn weights(in_flight: &[usize], calls: &[Presence], rates: &[Option<f64>]) -> Vec<f64> {
    let rate = |call: &usize| rates.get(*call).copied().flatten();
    let streaming: Vec<f64> = in_flight.iter().filter_map(rate).collect();
    let mean = if streaming.is_empty() { 0.0 } else { streaming.iter().sum::<f64>() / streaming.len() as f64 };
    let prefill = |call: &usize| calls.get(*call).map_or(0.0, |call| call.prefill_weight.max(0.0));
    in_flight.iter().map(|call| rate(call).unwrap_or_else(|| mean * prefill(call))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn advance(from: u64, to: u64, joules: f64) -> Advance {
        Advance { from: at(from), to: at(to), joules, broken: false }
    }

    fn call(from: u64, to: u64, tokens: Option<f64>) -> Presence {
        Presence { from: at(from), to: at(to), tokens, prefill_weight: 1.0 }
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{value} is not {expected}");
    }

    #[test]
    fn a_call_alone_has_all_of_its_time_by_every_estimator() {
        let (portions, busy) = divide(&advance(0, 1_000, 300.0), &[call(250, 750, Some(10.0))]);
        let portion = portions[0];
        assert_near(portion.equal, 150.0);
        assert_near(portion.by_tokens, 150.0);
        assert_near(portion.whole, 150.0);
        assert_near(busy, 0.5);
    }

    #[test]
    fn two_calls_share_evenly_where_they_overlap() {
        let (portions, busy) = divide(&advance(0, 1_000, 100.0), &[call(0, 600, None), call(400, 1_000, None)]);
        assert_near(portions[0].equal, 50.0);
        assert_near(portions[1].equal, 50.0);
        assert_near(portions[0].whole + portions[1].whole, 120.0);
        assert_near(busy, 1.0);
        assert_near(portions[0].crowd_seconds / portions[0].seconds, 0.8 / 0.6);
    }

    #[test]
    fn tokens_weigh_and_a_waiting_call_weighs_as_the_mean() {
        let calls = [call(0, 1_000, Some(30.0)), call(0, 1_000, Some(10.0)), call(0, 1_000, None)];
        let (portions, _) = divide(&advance(0, 1_000, 120.0), &calls);
        assert_near(portions[0].by_tokens, 60.0);
        assert_near(portions[1].by_tokens, 20.0);
        assert_near(portions[2].by_tokens, 40.0);
        let light = [calls[0], calls[1], Presence { prefill_weight: 0.0, ..calls[2] }];
        assert_near(divide(&advance(0, 1_000, 120.0), &light).0[2].by_tokens, 0.0);
    }

    #[test]
    fn where_nobody_makes_tokens_the_shares_are_equal() {
        let (portions, _) = divide(&advance(0, 1_000, 90.0), &[call(0, 1_000, None), call(0, 1_000, Some(0.0))]);
        assert_near(portions[0].by_tokens, 45.0);
        assert_near(portions[1].by_tokens, 45.0);
    }

    #[test]
    fn a_stretch_without_time_is_nobodys() {
        let (portions, busy) = divide(&advance(5, 5, 1.0), &[call(0, 10, None)]);
        assert_eq!((portions[0], busy), (Portion::default(), 0.0));
    }

    /// The time that any call covers, by a reference that looks at every millisecond.
    fn covered(from: u64, to: u64, calls: &[(u64, u64)]) -> f64 {
        let busy = (from..to).filter(|millisecond| calls.iter().any(|(a, b)| a <= millisecond && millisecond < b));
        busy.count() as f64 / 1e3
    }

    proptest! {
        #[test]
        fn the_shares_add_up_to_the_energy_of_the_busy_time(
            calls in prop::collection::vec((0_u64..4_000, 0_u64..2_500, prop::option::of(0.0_f64..500.0)), 0..12),
            stretches in prop::collection::vec((1_u64..900, 0.0_f64..2_000.0), 1..10),
            weight in 0.0_f64..4.0,
        ) {
            let ends: Vec<(u64, u64)> = calls.iter().map(|(from, length, _)| (*from, from + length)).collect();
            let presences: Vec<Presence> = calls
                .iter()
                .map(|(from, length, tokens)| Presence { prefill_weight: weight, ..call(*from, from + length, *tokens) })
                .collect();
            let (mut equal, mut by_tokens, mut measured, mut start) = (0.0, 0.0, 0.0, 0);
            for (length, joules) in stretches {
                let (portions, busy) = divide(&advance(start, start + length, joules), &presences);
                let reference = covered(start, start + length, &ends);
                prop_assert!((busy - reference).abs() < 1e-9, "busy {busy} s, {reference} s by the reference");
                measured += joules * reference / (length as f64 / 1e3);
                equal += portions.iter().map(|portion| portion.equal).sum::<f64>();
                by_tokens += portions.iter().map(|portion| portion.by_tokens).sum::<f64>();
                start += length;
            }
            prop_assert!((equal - measured).abs() < 1e-6, "equal shares {equal} J of {measured} J");
            prop_assert!((by_tokens - measured).abs() < 1e-6, "token shares {by_tokens} J of {measured} J");
        }
    }
}
