//! Plans are a pure function of seed and index, and cover what happens in the field.

use std::collections::BTreeMap;
use std::time::Duration;

use llmperf::Outcome;

use crate::server::{Asked, Close, Consumer, Dialect, Ending, Kind, Piece, Plan, Script, THINKER, TOOLSMITH};

fn asked(index: u64) -> Asked {
    Asked { dialect: Dialect::OpenAiChat, index, model: "any".into(), include_usage: true }
}

#[test]
fn the_same_seed_gives_the_same_plans_in_any_order() {
    let forwards: Vec<_> = (0..500).map(|index| Plan::nth(42, index)).collect();
    let backwards: Vec<_> = (0..500).rev().map(|index| Plan::nth(42, index)).collect();
    assert!(forwards.iter().eq(backwards.iter().rev()));
    for (index, plan) in (0..).zip(&forwards) {
        let script = |plan| Script::new(plan, asked(index));
        assert!(script(plan.clone()).eq(script(Plan::nth(42, index))));
    }
}

#[test]
fn seeds_and_indices_give_different_plans() {
    let first: Vec<_> = (0..100).map(|index| Plan::nth(1, index)).collect();
    let second: Vec<_> = (0..100).map(|index| Plan::nth(2, index)).collect();
    assert!(first.iter().zip(&second).all(|(one, other)| one != other));
    assert!(first.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn a_few_hundred_plans_hold_every_fate() {
    let plans: Vec<_> = (0..300).map(|index| Plan::nth(1, index)).collect();
    let count = |holds: fn(&Plan) -> bool| plans.iter().filter(|plan| holds(plan)).count();
    let mut outcomes = BTreeMap::<Outcome, usize>::new();
    for plan in &plans {
        *outcomes.entry(plan.outcome()).or_default() += 1;
    }
    assert_eq!(outcomes.len(), 4, "{outcomes:?}");
    assert!(outcomes[&Outcome::Complete] > 210, "{outcomes:?}");
    assert!(count(|plan| matches!(plan.ending, Ending::Refused(429))) > 0);
    assert!(count(|plan| matches!(plan.ending, Ending::Refused(500 | 503))) > 0);
    assert!(count(|plan| plan.ending == Ending::ErrorFrame) > 0);
    assert!(count(|plan| plan.ending == Ending::Cut) > 0);
    assert!(count(|plan| matches!(plan.ending, Ending::Unmarked(_))) > 0);
    assert!(count(|plan| matches!(plan.consumer, Consumer::Leaves { .. })) > 0);
    assert!(count(|plan| matches!(plan.consumer, Consumer::Slow { .. })) > 0);
    assert!(count(|plan| plan.pieces().any(|piece| piece == Piece::Comment)) > 0);
    assert!(count(|plan| plan.bursts.iter().any(|burst| burst.pieces.len() > 1)) > 0);
    assert!(count(|plan| plan.pieces().any(|piece| piece.tokens() > 1)) > 0);
    assert!(count(|plan| plan.cached_tokens > 0) > 0);
}

#[test]
fn each_kind_of_model_answers_in_its_own_way() {
    for plan in (0..300).map(|index| Plan::nth(3, index)) {
        let kinds: Vec<_> = plan.pieces().filter_map(Piece::kind).collect();
        let has = |kind| kinds.contains(&kind);
        assert_eq!(has(Kind::Reasoning), plan.model == THINKER && !kinds.is_empty());
        assert_eq!(has(Kind::Tool), plan.model == TOOLSMITH && !kinds.is_empty());
        assert!(kinds.iter().skip_while(|kind| **kind == Kind::Reasoning).all(|kind| *kind != Kind::Reasoning));
    }
}

#[test]
fn what_cannot_happen_is_not_planned() {
    for plan in (0..2_000).map(|index| Plan::nth(9, index)) {
        assert!(plan.cached_tokens <= plan.prompt_tokens);
        assert_eq!(plan.output_tokens() == 0, matches!(plan.ending, Ending::Refused(_)));
        if let Consumer::Leaves { events } = plan.consumer {
            let sent = plan.pieces().filter(|piece| *piece != Piece::Comment).count();
            assert!((1..=sent).contains(&events), "a client would wait for event {events} of {sent} for ever");
        }
        let waits =
            Script::new(plan.clone(), asked(0)).close() == Close::Never && !matches!(plan.ending, Ending::Refused(_));
        assert!(!waits || plan.outcome() == Outcome::Cancelled, "nobody would end this stream");
    }
}

#[test]
fn times_are_realistic() {
    let plans: Vec<_> = (0..1_000).map(|index| Plan::nth(5, index)).collect();
    let mut first_tokens: Vec<Duration> = plans.iter().filter_map(planned_first_token).collect();
    first_tokens.sort();
    let median = first_tokens[first_tokens.len() / 2];
    let high = first_tokens[first_tokens.len() * 99 / 100];
    assert!((150..300).contains(&median.as_millis()), "{median:?}");
    assert!(high > 2 * median && high < Duration::from_secs(2), "{high:?}");
}

fn planned_first_token(plan: &Plan) -> Option<Duration> {
    let first = plan.bursts.iter().position(|burst| burst.tokens() > 0)?;
    Some(plan.queue + plan.bursts[..=first].iter().map(|burst| burst.after).sum::<Duration>())
}
