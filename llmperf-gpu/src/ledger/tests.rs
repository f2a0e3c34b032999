//! Calls and energies against each other: who has how much, how sure it is, and that nothing is lost.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use proptest::prelude::*;

use super::*;

const GRACE: Duration = Duration::from_secs(5);

fn at(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn advance(from: u64, to: u64, joules: f64) -> Advance {
    Advance { from: at(from), to: at(to), joules, broken: false }
}

fn device(number: usize) -> DeviceId {
    DeviceId::from(format!("GPU-{number}"))
}

fn expected(count: usize) -> Vec<(DeviceId, Condition)> {
    (0..count).map(|number| (device(number), Condition::Ok)).collect()
}

fn ended(millis: u64, output_tokens: u64) -> Ended {
    Ended {
        at: at(millis),
        output_tokens: Some(output_tokens),
        provider: "vllm".into(),
        side: Side::Client,
        trace: None,
    }
}

fn ledger(models: impl IntoIterator<Item = LocalModel>) -> Ledger {
    Ledger::new(models.into_iter().collect(), GRACE)
}

/// Advances of a second each, at a constant power, from `from` to `to` seconds.
fn run(ledger: &mut Ledger, device: &DeviceId, from: u64, to: u64, watts: f64) {
    for second in from..to {
        ledger.attribute(device, &advance(second * 1_000, (second + 1) * 1_000, watts));
    }
}

fn only(mut settled: Vec<Settled>) -> Settled {
    assert_eq!(settled.len(), 1, "{settled:?}");
    settled.pop().unwrap()
}

#[test]
fn a_call_that_was_none_has_no_energy_and_leaves_it_to_the_others() {
    let mut ledger = ledger([LocalModel::new("llama")]);
    ledger.begin(1, 0, at(0), Box::new(|| 0));
    ledger.begin(2, 0, at(0), Box::new(|| 0));
    ledger.withdraw(2);
    run(&mut ledger, &device(0), 0, 2, 300.0);
    ledger.end(1, ended(2_000, 100));
    assert_eq!(only(ledger.settle(at(2_000), &expected(1))).joules, Some(600.0));
}

#[test]
fn a_call_is_settled_by_the_first_sample_behind_its_end() {
    let mut ledger = ledger([LocalModel::new("llama")]);
    run(&mut ledger, &device(0), 0, 2, 50.0);
    ledger.begin(1, 0, at(2_500), Box::new(|| 0));
    run(&mut ledger, &device(0), 2, 5, 300.0);
    ledger.end(1, ended(5_500, 100));
    assert!(ledger.settle(at(5_500), &expected(1)).is_empty());
    run(&mut ledger, &device(0), 5, 6, 300.0);
    let call = only(ledger.settle(at(6_000), &expected(1)));
    assert_eq!((call.quality, call.joules, call.samples), (Quality::Ok, Some(900.0), 3));
    assert_eq!((call.joules_per_token(), call.idle_joules, call.overlap), (Some(9.0), Some(150.0), Some(1.0)));
    assert!(ledger.settle(at(7_000), &expected(1)).is_empty(), "once");
}

#[test]
fn a_model_on_several_devices_has_the_energy_of_all_of_them() {
    let mut ledger = ledger([LocalModel::new("llama")]);
    ledger.begin(1, 0, at(0), Box::new(|| 0));
    ledger.end(1, ended(2_000, 0));
    run(&mut ledger, &device(0), 0, 3, 100.0);
    assert!(ledger.settle(at(3_000), &expected(2)).is_empty(), "the other device has not told yet");
    run(&mut ledger, &device(1), 0, 3, 200.0);
    let call = only(ledger.settle(at(3_000), &expected(2)));
    assert_eq!((call.devices, call.joules, call.joules_per_token()), (2, Some(600.0), None));
}

#[test]
fn a_model_on_one_device_leaves_the_others_alone() {
    let on = |model: &str, number| LocalModel::new(model).on([device(number)]);
    let mut ledger = ledger([on("llama", 0), on("qwen", 1)]);
    ledger.begin(1, 0, at(0), Box::new(|| 0));
    ledger.begin(2, 1, at(0), Box::new(|| 0));
    [1, 2].into_iter().for_each(|id| ledger.end(id, ended(2_000, 10)));
    run(&mut ledger, &device(0), 0, 2, 100.0);
    run(&mut ledger, &device(1), 0, 2, 300.0);
    let settled = ledger.settle(at(2_000), &expected(2));
    assert_eq!(settled.iter().map(|call| call.joules).collect::<Vec<_>>(), [Some(200.0), Some(600.0)]);
    assert!(settled.iter().all(|call| call.quality == Quality::Ok && call.overlap == Some(1.0)));
}

#[test]
fn each_method_divides_in_its_way() {
    let joules = |method| {
        let mut ledger = ledger([LocalModel::new("llama").method(method)]);
        let tokens = Arc::new(AtomicU64::new(0));
        for (id, pace) in [(1, 3), (2, 1)] {
            let tokens = Arc::clone(&tokens);
            ledger.begin(id, 0, at(0), Box::new(move || tokens.load(Ordering::Relaxed) * pace));
        }
        for second in 0..4 {
            tokens.fetch_add(10, Ordering::Relaxed);
            run(&mut ledger, &device(0), second, second + 1, 100.0);
        }
        [1, 2].into_iter().for_each(|id| ledger.end(id, ended(4_000, 1)));
        let settled = ledger.settle(at(4_000), &expected(1));
        settled.iter().map(|call| call.joules.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(joules(Method::EqualShare), [200.0, 200.0]);
    assert_eq!(joules(Method::TokenShare), [300.0, 100.0]);
    assert_eq!(joules(Method::Window), [400.0, 400.0]);
}

#[test]
fn what_is_uncertain_says_so() {
    let quality = |prepare: &dyn Fn(&mut Ledger)| {
        let mut ledger = ledger([LocalModel::new("llama")]);
        prepare(&mut ledger);
        only(ledger.settle(at(60_000), &expected(2))).quality
    };
    let call = |ledger: &mut Ledger, from, to| {
        ledger.begin(1, 0, at(from), Box::new(|| 0));
        ledger.end(1, ended(to, 1));
    };
    assert_eq!(quality(&|ledger| call(ledger, 0, 2_000)), Quality::Unsupported);
    assert_eq!(
        quality(&|ledger| {
            call(ledger, 0, 2_000);
            run(ledger, &device(0), 0, 3, 100.0);
        }),
        Quality::PartialGpus
    );
    let both = |ledger: &mut Ledger, from, to| (0..2).for_each(|d| run(ledger, &device(d), from, to, 100.0));
    assert_eq!(
        quality(&|ledger| {
            call(ledger, 0, 3_000);
            both(ledger, 1, 4);
        }),
        Quality::CounterReset,
        "the first second is missing"
    );
    assert_eq!(
        quality(&|ledger| {
            call(ledger, 100, 900);
            both(ledger, 0, 1);
        }),
        Quality::InterpolatedOnly
    );
    assert_eq!(
        quality(&|ledger| {
            call(ledger, 600, 1_400);
            both(ledger, 0, 2);
        }),
        Quality::ShortWindow
    );
    assert_eq!(
        quality(&|ledger| {
            call(ledger, 0, 2_000);
            both(ledger, 0, 2);
        }),
        Quality::Ok
    );
}

#[test]
fn a_device_that_is_lost_or_silent_is_not_waited_for_for_ever() {
    let mut ledger = ledger([LocalModel::new("llama")]);
    ledger.begin(1, 0, at(0), Box::new(|| 0));
    ledger.end(1, ended(1_000, 1));
    assert!(ledger.settle(at(5_999), &expected(1)).is_empty());
    let lost = [(device(0), Condition::Lost)];
    assert_eq!(only(ledger.settle(at(5_999), &lost)).quality, Quality::Unsupported);
    ledger.begin(2, 0, at(6_000), Box::new(|| 0));
    ledger.end(2, ended(7_000, 1));
    assert_eq!(only(ledger.settle(at(12_000), &expected(1))).quality, Quality::Unsupported);
}

#[test]
fn a_counter_that_moves_rarely_is_waited_for() {
    let mut ledger = ledger([LocalModel::new("llama")]);
    ledger.attribute(&device(0), &advance(0, 30_000, 3_000.0));
    ledger.begin(1, 0, at(31_000), Box::new(|| 0));
    ledger.end(1, ended(41_000, 1));
    assert!(ledger.settle(at(59_000), &expected(1)).is_empty());
    ledger.attribute(&device(0), &advance(30_000, 60_000, 6_000.0));
    let call = only(ledger.settle(at(60_000), &expected(1)));
    assert_eq!((call.joules, call.quality), (Some(2_000.0), Quality::InterpolatedOnly));
    ledger.begin(2, 0, at(61_000), Box::new(|| 0));
    ledger.end(2, ended(62_000, 1));
    assert_eq!(only(ledger.settle(at(127_000), &expected(1))).quality, Quality::Unsupported, "but not for ever");
}

#[test]
fn the_fleet_average_counts_idle_time_and_forgets() {
    let mut ledger = ledger([LocalModel::new("llama")]);
    ledger.begin(1, 0, at(5_000), Box::new(|| 0));
    ledger.end(1, ended(10_000, 50));
    run(&mut ledger, &device(0), 0, 10, 100.0);
    ledger.settle(at(10_000), &expected(1));
    assert_eq!(ledger.fleet()[0].joules_per_token, 20.0);
    ledger.settle(at(400_000), &expected(1));
    assert!(ledger.fleet().is_empty());
}

#[test]
fn calls_beyond_the_most_are_counted_and_nothing_grows() {
    let mut ledger = ledger([LocalModel::new("llama")]);
    (0..MOST_CALLS as u64 + 10).for_each(|id| ledger.begin(id, 0, at(0), Box::new(|| 0)));
    assert_eq!((ledger.untracked(), ledger.flights.len()), (10, MOST_CALLS));
    ledger.end(MOST_CALLS as u64 + 5, ended(1, 1));
    ledger.forget_all(3);
    assert_eq!((ledger.untracked(), ledger.flights.len()), (13 + MOST_CALLS as u64, 0));
}

proptest! {
    #[test]
    fn shares_of_settled_calls_add_up_to_the_measured_energy_of_the_busy_time(
        calls in prop::collection::vec((0_u64..20_000, 1_u64..8_000), 1..25),
        by_tokens in any::<bool>(),
        watts in prop::collection::vec(50.0_f64..700.0, 30),
    ) {
        let method = if by_tokens { Method::TokenShare } else { Method::EqualShare };
        let mut ledger = ledger([LocalModel::new("llama").method(method)]);
        let mut notices: Vec<(u64, bool, u64)> = Vec::new();
        for (id, (from, length)) in (0_u64..).zip(&calls) {
            notices.extend([(*from, true, id), (from + length, false, id)]);
        }
        notices.sort_unstable();
        let (mut shared, mut measured, mut notices) = (0.0, 0.0, notices.into_iter().peekable());
        for (second, watts) in (0_u64..).zip(&watts) {
            let to = (second + 1) * 1_000;
            // Whatever happened until the sample was taken is known when it is taken in.
            while let Some((when, begins, id)) = notices.next_if(|(when, ..)| *when <= to) {
                if begins {
                    ledger.begin(id, 0, at(when), Box::new(move || id * to));
                } else {
                    ledger.end(id, ended(when, 10));
                }
            }
            ledger.attribute(&device(0), &advance(second * 1_000, to, *watts));
            let busy = (to - 1_000..to).filter(|ms| calls.iter().any(|(from, length)| (*from..from + length).contains(ms)));
            measured += watts * busy.count() as f64 / 1e3;
            shared += ledger.settle(at(to), &expected(1)).iter().filter_map(|call| call.joules).sum::<f64>();
        }
        prop_assert!(ledger.flights.is_empty());
        prop_assert!((shared - measured).abs() < 1e-6 * measured.max(1.0), "{} J of {} J", shared, measured);
    }
}
