//! Statistics against a brute-force reference, and their bars.

#![allow(clippy::unwrap_used, reason = "tests")]

mod breakdown;
mod composition;
mod memory;
mod merging;
mod packing;
mod printing;
mod sharing;
mod windows;

use super::{Figure, Registry, SeriesKind, SlowCall, Summary};
use crate::Outcome;

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// Records a streamed call that took `nanos`, complete, with a trace id made of them.
fn call(registry: &Registry, now: u64, nanos: u64) {
    let mut trace_id = [0; 16];
    trace_id[8..].copy_from_slice(&nanos.to_be_bytes());
    let slow = SlowCall::new(nanos, Some(nanos / 2), trace_id);
    let figures = [(Figure::Duration, nanos), (Figure::TimeToFirstToken, nanos / 2)];
    registry.series(SeriesKind::Call, "openai", "gpt").record(now, figures, Outcome::Complete, true, Some(slow));
}

/// Asserts that a summary is that of these values, which are as kept: ascending microseconds.
fn assert_is_of(summary: &Summary, micros: &[u64]) {
    let micros: Vec<f64> = micros.iter().map(|value| *value as f64).collect();
    let count = micros.len() as f64;
    let mean = micros.iter().sum::<f64>() / count;
    let std_dev = (micros.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    assert_eq!(summary.count, micros.len() as u64);
    assert_near(summary.mean * 1e6, mean, 1e-9 * mean);
    assert_near(summary.std_dev * 1e6, std_dev, 0.01 * micros.last().unwrap());
    assert_near(summary.min * 1e6, micros[0], 1e-6);
    assert_near(summary.max * 1e6, *micros.last().unwrap(), 1e-6);
    for (share, value) in
        [(0.5, summary.p50), (0.9, summary.p90), (0.95, summary.p95), (0.99, summary.p99), (0.999, summary.p999)]
    {
        let rank = (share * count).ceil() as usize;
        assert_near(value * 1e6, micros[rank - 1], 0.01 * micros[rank - 1]);
        assert_eq!(summary.quantile(share), Some(value));
    }
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not within {tolerance} of {expected}");
}
