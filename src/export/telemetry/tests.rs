//! Draining waits for live calls, and for no longer than it may.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::Telemetry;
use crate::export::builder::{Destination, Export};

fn with_calls(live_calls: fn() -> usize) -> Telemetry {
    let mut export = Export::to(Destination::Stdout).traces(false).metrics(false);
    export.live_calls = live_calls;
    export.build().unwrap()
}

#[test]
fn drain_waits_until_the_last_call_has_ended() {
    static LOOKS_LEFT: AtomicUsize = AtomicUsize::new(3);
    let telemetry = with_calls(|| {
        LOOKS_LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).unwrap_or(0)
    });
    assert_eq!(telemetry.drain(Duration::from_secs(600)), 0);
    assert_eq!(LOOKS_LEFT.load(Ordering::Relaxed), 0);
}

#[test]
fn drain_says_how_many_calls_still_live() {
    let telemetry = with_calls(|| 2);
    assert_eq!(telemetry.drain(Duration::from_millis(12)), 2);
    assert_eq!(telemetry.drain(Duration::ZERO), 2);
}

#[test]
fn drain_counts_the_calls_of_the_global_instrumentation() {
    let telemetry = Export::to(Destination::Stdout).traces(false).metrics(false).build().unwrap();
    assert_eq!(telemetry.drain(Duration::ZERO), 0);
    let call = llmperf_core::chat("local", "swift-1").start();
    assert_eq!(telemetry.drain(Duration::ZERO), 1);
    drop(call);
    assert_eq!(telemetry.drain(Duration::ZERO), 0);
}

#[test]
fn the_guard_and_its_error_go_anywhere() {
    fn anywhere<T: Send + Sync + 'static>() {}
    anywhere::<Telemetry>();
    anywhere::<crate::export::Error>();
}
