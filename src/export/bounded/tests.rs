//! Whatever the jobs do, the wait ends and says how it went.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::mpsc;
use std::time::Duration;

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};

use super::{Job, run_all};

/// Longer than any test may take: reached only by a bug.
const NEVER: Duration = Duration::from_secs(600);

fn job(signal: &'static str, run: impl FnOnce() -> OTelSdkResult + Send + 'static) -> Job {
    Job { signal, run: Box::new(run) }
}

#[test]
fn jobs_run_side_by_side() {
    // Each waits for the other: one after the other they would never end.
    let (to_second, first) = mpsc::channel();
    let (to_first, second) = mpsc::channel();
    let meet = |to: mpsc::Sender<()>, from: mpsc::Receiver<()>| {
        move || {
            to.send(()).unwrap();
            from.recv().unwrap();
            Ok(())
        }
    };
    run_all(vec![job("spans", meet(to_second, second)), job("logs", meet(to_first, first))], NEVER).unwrap();
}

#[test]
fn a_job_that_hangs_is_left_behind() {
    let (_hold, held) = mpsc::channel::<()>();
    let hang = move || {
        let _released = held.recv();
        Ok(())
    };
    let error = run_all(vec![job("spans", || Ok(())), job("metrics", hang)], Duration::from_millis(20)).unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

#[test]
fn a_failure_names_its_signal_and_others_still_run() {
    let (ran, runs) = mpsc::channel();
    let fail = || Err(OTelSdkError::InternalFailure("refused".to_owned()));
    let succeed = move || {
        ran.send(()).unwrap();
        Ok(())
    };
    let error = run_all(vec![job("spans", fail), job("metrics", succeed)], NEVER).unwrap_err();
    assert!(error.is_lost(), "{error:?}");
    assert!(error.to_string().contains("spans") && error.to_string().contains("refused"), "{error}");
    assert!(runs.try_recv().is_ok());
}

#[test]
fn a_job_that_panics_is_a_failure() {
    let error = run_all(vec![job("logs", || panic!("on purpose"))], NEVER).unwrap_err();
    assert!(error.is_lost() && error.to_string().contains("logs"), "{error:?}");
}

#[test]
fn a_provider_that_was_shut_down_before_is_fine() {
    run_all(vec![job("spans", || Err(OTelSdkError::AlreadyShutdown))], NEVER).unwrap();
    run_all(Vec::new(), Duration::ZERO).unwrap();
}

#[test]
fn the_providers_own_timeout_counts_as_ours() {
    let error = run_all(vec![job("metrics", || Err(OTelSdkError::Timeout(NEVER)))], NEVER).unwrap_err();
    assert!(error.is_timeout(), "{error:?}");
}

#[test]
fn what_fails_when_time_is_up_has_timed_out() {
    let fail = || Err(OTelSdkError::InternalFailure("Shutdown errors: [Timeout(5s)]".to_owned()));
    let took = Duration::from_secs(5);
    assert!(super::judge("spans", fail(), took, took).unwrap_err().is_timeout());
    assert!(super::judge("spans", fail(), 2 * took, took).unwrap_err().is_lost());
}
