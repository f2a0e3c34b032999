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
///
/// One sweep over the starts and ends: thousands of calls that come and go in a stretch cost no more than sorting them.
pub(crate) fn divide(advance: &Advance, calls: &[Presence]) -> (Vec<Portion>, f64) {
    let mut portions = vec![Portion::default(); calls.len()];
    let seconds = advance.to.saturating_sub(advance.from).as_secs_f64();
    if seconds <= 0.0 {
        return (portions, 0.0);
    }
    let watts = advance.joules / seconds;
    let mut edges = Vec::with_capacity(calls.len() * 2);
    for (place, call) in calls.iter().enumerate() {
        let (from, to) = (call.from.max(advance.from), call.to.min(advance.to));
        if from < to {
            edges.extend([(from, place, true), (to, place, false)]);
        }
    }
    edges.sort_unstable_by_key(|(at, ..)| *at);

    let (mut crowd, mut curve, mut now) = (Crowd::default(), Curve::default(), advance.from);
    let mut at_start = vec![Curve::default(); calls.len()];
    for (at, place, starts) in edges {
        curve.go_on(at.saturating_sub(now).as_secs_f64(), &crowd);
        now = at;
        let (Some(call), Some(start), Some(portion)) =
            (calls.get(place), at_start.get_mut(place), portions.get_mut(place))
        else {
            continue;
        };
        crowd.change(call, rate(call, advance), starts);
        if starts {
            *start = curve;
        } else {
            *portion = curve.portion_since(start, watts, call, rate(call, advance));
        }
    }
    (portions, curve.busy.value())
}

/// Tokens per second while a call is in the stretch; absent while it waits.
fn rate(call: &Presence, advance: &Advance) -> Option<f64> {
    let seconds = call.seconds_within(advance);
    call.tokens.map(|tokens| if seconds > 0.0 { tokens.max(0.0) / seconds } else { 0.0 })
}

/// The calls in flight at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Crowd {
    calls: u32,
    /// Those that had their first token.
    streaming: u32,
    /// Those that make tokens in this stretch.
    making: u32,
    /// The sum of the rates of those that stream.
    rates: Sum,
    /// The sum of the weights of those that wait.
    waiting: Sum,
}

impl Crowd {
    fn change(&mut self, call: &Presence, rate: Option<f64>, starts: bool) {
        let (sign, count) = if starts { (1.0, 1) } else { (-1.0, -1) };
        self.calls = self.calls.saturating_add_signed(count);
        match rate {
            Some(rate) => {
                self.streaming = self.streaming.saturating_add_signed(count);
                self.rates.add(sign * rate);
                if rate > 0.0 {
                    self.making = self.making.saturating_add_signed(count);
                }
            }
            None => self.waiting.add(sign * call.prefill_weight.max(0.0)),
        }
    }
}

/// Integrals over time from the start of a stretch on. A call's portion is what they rise by while it is in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Curve {
    busy: Sum,
    even: Sum,
    crowd: Sum,
    /// Of one by the weight of all: times its rate, the token share of a call that streams.
    per_rate: Sum,
    /// Of the mean rate by the weight of all: times its prefill weight, that of a call that waits.
    per_wait: Sum,
    /// Of one by the number of calls, where nobody makes tokens.
    unweighted: Sum,
}

impl Curve {
    fn go_on(&mut self, time: f64, crowd: &Crowd) {
        if crowd.calls == 0 {
            return;
        }
        let count = f64::from(crowd.calls);
        self.busy.add(time);
        self.even.add(time / count);
        self.crowd.add(time * count);
        if crowd.making == 0 {
            self.unweighted.add(time / count);
            return;
        }
        let rates = crowd.rates.value();
        let mean = rates / f64::from(crowd.streaming);
        let weight = rates + mean * crowd.waiting.value();
        self.per_rate.add(time / weight);
        self.per_wait.add(time * mean / weight);
    }

    fn portion_since(&self, start: &Self, watts: f64, call: &Presence, rate: Option<f64>) -> Portion {
        let weighted = match rate {
            Some(rate) => rate * self.per_rate.since(start.per_rate),
            None => call.prefill_weight.max(0.0) * self.per_wait.since(start.per_wait),
        };
        let (seconds, even_seconds) = (self.busy.since(start.busy), self.even.since(start.even));
        Portion {
            equal: watts * even_seconds,
            by_tokens: watts * (weighted + self.unweighted.since(start.unweighted)),
            whole: watts * seconds,
            seconds,
            even_seconds,
            crowd_seconds: self.crowd.since(start.crowd),
        }
    }
}

/// A sum that keeps what rounding loses: what is taken away again leaves nothing behind, however large it was.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        let high = self.high + value;
        let part = high - self.high;
        self.low += (self.high - (high - part)) + (value - part);
        self.high = high;
    }

    fn value(self) -> f64 {
        self.high + self.low
    }

    fn since(self, start: Self) -> f64 {
        (self.high - start.high) + (self.low - start.low)
    }
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

    /// The same by a reference that divides each millisecond by itself.
    fn token_shares(advance: &Advance, calls: &[Presence]) -> Vec<f64> {
        let watts = advance.joules / (advance.to - advance.from).as_secs_f64();
        let mut shares = vec![0.0; calls.len()];
        for millisecond in advance.from.as_millis() as u64..advance.to.as_millis() as u64 {
            let now = at(millisecond);
            let in_flight = |call: &&Presence| call.from <= now && now < call.to;
            let rates: Vec<f64> = calls.iter().filter(in_flight).filter_map(|call| rate(call, advance)).collect();
            let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
            let weight = |call: &Presence| rate(call, advance).unwrap_or(mean * call.prefill_weight);
            let all: f64 = calls.iter().filter(in_flight).map(weight).sum();
            let count = calls.iter().filter(in_flight).count() as f64;
            for (share, call) in shares.iter_mut().zip(calls).filter(|(_, call)| in_flight(call)) {
                *share += watts * 1e-3 * if all > 0.0 { weight(call) / all } else { 1.0 / count };
            }
        }
        shares
    }

    #[test]
    fn a_burst_beside_a_slow_call_takes_nothing_from_it() {
        let mut burst = call(0, 1_000, Some(500.0));
        burst.to = Duration::from_nanos(1);
        let (portions, busy) = divide(&advance(0, 1_000, 300.0), &[burst, call(0, 1_000, Some(0.001))]);
        assert_near(portions[0].by_tokens + portions[1].by_tokens, 300.0);
        assert_near(portions[1].by_tokens, 300.0 - 300.0e-9);
        assert_near(busy, 1.0);
    }

    /// The time that any call covers, by a reference that looks at every millisecond.
    fn covered(from: u64, to: u64, calls: &[(u64, u64)]) -> f64 {
        let busy = (from..to).filter(|millisecond| calls.iter().any(|(a, b)| a <= millisecond && millisecond < b));
        busy.count() as f64 / 1e3
    }

    proptest! {
        #[test]
        fn a_sweep_divides_as_piece_by_piece(
            calls in prop::collection::vec((0_u64..400, 0_u64..250, prop::option::of(0.0_f64..500.0), 0.0_f64..4.0), 0..8),
        ) {
            let presences: Vec<Presence> = calls
                .iter()
                .map(|(from, length, tokens, prefill_weight)| Presence {
                    prefill_weight: *prefill_weight,
                    ..call(*from, from + length, *tokens)
                })
                .collect();
            let stretch = advance(50, 350, 210.0);
            let (portions, _) = divide(&stretch, &presences);
            for (portion, expected) in portions.iter().zip(token_shares(&stretch, &presences)) {
                prop_assert!((portion.by_tokens - expected).abs() < 1e-9, "{} J, {expected} J by the reference", portion.by_tokens);
            }
        }

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
