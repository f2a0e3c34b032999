//! What the local statistics say of runs: where the time of the slowest goes, and which tool is called again and again.

use std::time::Duration;

use llmperf_agent::{Work as _, run, step, tool};
use llmperf_core::{
    Output, chat,
    part::Title,
    stats::{Diagnosis, SeriesKind},
    testing::Probe,
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn model(probe: &Probe, millis: u64) {
    let mut call = chat("openai", "gpt-4o").start();
    probe.clock().advance(ms(millis));
    call.on_chunk(Output::text("answer"));
    drop(call.finish());
}

fn used(probe: &Probe, name: &'static str, millis: u64) {
    tool(name).in_scope(|| probe.clock().advance(ms(millis)), |guard, ()| guard.complete());
}

/// Two hundred runs; in the slow ones a tool takes its time, so many times in a row.
fn desks(probe: &Probe, times: u64) -> Diagnosis {
    for number in 0..200 {
        let (times, each) = if number % 70 == 50 { (times, 3_000 / times) } else { (1, 100) };
        let work = || {
            model(probe, 1_000);
            step("search")
                .in_scope(|| (0..times).for_each(|_| used(probe, "search", each)), |guard, ()| guard.complete());
            probe.clock().advance(ms(1_000));
        };
        probe.instrumentation().sync_scope(|| run("desk").in_scope(work, |guard, ()| guard.complete()));
    }
    probe.instrumentation().snapshot().diagnose()
}

fn repeated(diagnosis: &Diagnosis) -> Vec<(String, u64)> {
    let repetitions = diagnosis.roots.iter().flat_map(|root| &root.repetitions);
    repetitions.map(|repetition| (repetition.title.name.to_string(), repetition.most)).collect()
}

#[test]
fn the_tool_that_the_slowest_runs_wait_for_is_named_with_its_share() {
    let probe = Probe::new();
    let diagnosis = desks(&probe, 1);
    let root = diagnosis.root(&Title::new(SeriesKind::Agent, "desk", "")).unwrap();
    let shares: Vec<_> =
        root.shares.iter().map(|share| (share.title.name.as_str(), (share.share * 100.0).round())).collect();
    assert_eq!(shares[..2], [("search", 60.0), ("openai", 20.0)]);
    assert!((root.other.unwrap() - 0.2).abs() < 1e-9);
    assert_eq!(repeated(&diagnosis), [], "once is no repetition");
}

#[test]
fn a_tool_that_is_called_one_by_one_is_named() {
    let probe = Probe::new();
    assert_eq!(repeated(&desks(&probe, 10)), [("search".to_owned(), 10)]);
}
