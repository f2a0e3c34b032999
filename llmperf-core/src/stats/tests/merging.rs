//! Snapshots of several processes, and on their way between them.

use proptest::prelude::*;

use super::{super::*, MILLISECOND, SECOND, call};

/// Instants within two hours, values from 2 µs to a minute, and which of two processes recorded each.
fn calls() -> impl Strategy<Value = Vec<(u64, u64, bool)>> {
    let call = (0..7_200 * SECOND, 2_000..60 * SECOND, any::<bool>());
    prop::collection::vec(call, 0..60).prop_map(|mut calls| {
        calls.sort_unstable();
        calls
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn two_snapshots_merged_are_that_of_one_process(calls in calls()) {
        let processes = [Registry::new(0), Registry::new(0), Registry::new(0)];
        for (now, nanos, second) in calls {
            call(&processes[usize::from(second)], now, nanos);
            call(&processes[2], now, nanos);
        }
        let [mut merged, other, both] = processes.map(|registry| registry.snapshot(7_200 * SECOND));
        merged.merge(&other);
        prop_assert_eq!(&merged, &both);
        let through_json: Snapshot = serde_json::from_str(&serde_json::to_string(&other).unwrap()).unwrap();
        prop_assert_eq!(through_json, other);
    }
}

#[test]
fn merging_keeps_each_side_s_own_series() {
    let (ours, theirs) = (Registry::new(0), Registry::new(10 * SECOND));
    for (registry, model) in [(&ours, "b"), (&theirs, "a"), (&theirs, "b"), (&theirs, "c")] {
        let series = registry.series(SeriesKind::Call, "openai", model);
        series.record(20 * SECOND, [(Figure::Duration, SECOND)], crate::Outcome::Complete, true, None);
    }
    let mut merged = theirs.snapshot(30 * SECOND);
    merged.merge(&ours.snapshot(30 * SECOND));
    let details: Vec<&str> = merged.series.iter().map(|series| series.detail.as_str()).collect();
    assert_eq!(details, ["a", "b", "c"]);
    let shared = merged.call("openai", "b").unwrap().window(Window::SinceStart).unwrap();
    assert_eq!((shared.outcomes.complete, shared.covered.as_secs()), (2, 30), "covers what the longer one covers");
    assert_eq!(shared.per_second, Some(2.0 / 30.0));
}

#[test]
fn json_reads_like_the_figures_and_comes_back_whole() {
    let registry = Registry::new(0);
    (1..=100).for_each(|tick| call(&registry, tick * SECOND, tick * MILLISECOND));
    let snapshot = registry.snapshot(101 * SECOND);
    let json = serde_json::to_value(&snapshot).unwrap();
    let window = &json["series"][0]["windows"]["since_start"];
    assert_eq!(json["series"][0]["kind"], "call");
    assert_eq!(window["covered_seconds"], 101.0);
    assert_eq!(window["outcomes"]["complete"], 100);
    assert_eq!(window["figures"]["duration"]["max"], 0.1);
    assert_eq!(window["slowest"][0]["trace_id"], "00000000000000000000000005f5e100");
    assert_eq!(serde_json::from_value::<Snapshot>(json).unwrap(), snapshot);
}

#[test]
fn other_implementations_of_hdr_read_the_histograms() {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let registry = Registry::new(0);
    (1..=1_000).for_each(|tick| call(&registry, 0, tick * MILLISECOND));
    let json = serde_json::to_value(registry.snapshot(SECOND)).unwrap();
    let text = &json["series"][0]["windows"]["one_minute"]["figures"]["duration"]["histogram"]["v2"];
    let bytes = STANDARD.decode(text.as_str().unwrap()).unwrap();
    let histogram: hdrhistogram::Histogram<u64> =
        hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    assert_eq!(histogram.len(), 1_000);
    assert!(histogram.equivalent(histogram.value_at_quantile(0.5), 500_000));
}
