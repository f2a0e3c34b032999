//! Runs the SDK's blocking calls on threads of their own and waits for them no longer than allowed.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};

use super::error::{Error, Kind};

/// One blocking call into a provider.
pub(super) struct Job {
    pub(super) signal: &'static str,
    pub(super) run: Box<dyn FnOnce() -> OTelSdkResult + Send>,
}

/// Runs all jobs side by side, so that one hanging receiver cannot eat the time of the others.
///
/// Returns the first failure, at the latest after `limit`. A job that is not done by then goes on in its thread; nobody
/// waits for it, and it does not keep the process alive.
pub(super) fn run_all(jobs: Vec<Job>, limit: Duration) -> Result<(), Error> {
    let start = Instant::now();
    let (done, results) = mpsc::channel();
    let mut waiting = Vec::with_capacity(jobs.len());
    let mut outcome = Ok(());

    for Job { signal, run } in jobs {
        let done = done.clone();
        let spawned = thread::Builder::new().name("llmperf-flush".to_owned()).spawn(move || {
            // The receiver is gone when time was up.
            let _late = done.send((signal, run()));
        });
        match spawned {
            Ok(_) => waiting.push(signal),
            Err(source) => outcome = outcome.and(Err(start_failed(source))),
        }
    }
    drop(done);

    while !waiting.is_empty() {
        match results.recv_timeout(limit.saturating_sub(start.elapsed())) {
            Ok((signal, result)) => {
                waiting.retain(|name| *name != signal);
                outcome = outcome.and(judge(signal, result, limit, start.elapsed()));
            }
            Err(RecvTimeoutError::Timeout) => return Err(Kind::Timeout { limit }.into()),
            Err(RecvTimeoutError::Disconnected) => {
                let signal = waiting.swap_remove(0);
                outcome = outcome.and(Err(lost(signal, "the exporter panicked".to_owned())));
            }
        }
    }
    outcome
}

/// A provider that the application has shut down itself is no failure of ours. The SDK words its own timeouts in
/// several ways: what fails when time is up, failed because it was.
fn judge(signal: &'static str, result: OTelSdkResult, limit: Duration, took: Duration) -> Result<(), Error> {
    match result {
        Ok(()) | Err(OTelSdkError::AlreadyShutdown) => Ok(()),
        Err(OTelSdkError::Timeout(_)) => Err(Kind::Timeout { limit }.into()),
        Err(OTelSdkError::InternalFailure(_)) if took >= limit => Err(Kind::Timeout { limit }.into()),
        Err(OTelSdkError::InternalFailure(reason)) => Err(lost(signal, reason)),
    }
}

pub(super) fn lost(signal: &'static str, reason: String) -> Error {
    Kind::Lost { signal, reason }.into()
}

fn start_failed(source: std::io::Error) -> Error {
    Kind::Start { what: "the thread that flushes telemetry", source: source.into() }.into()
}

#[cfg(test)]
mod tests;
