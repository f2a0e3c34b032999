//! Waiting for another process, with a limit: the one place of these tests that sleeps.

use std::thread;
use std::time::{Duration, Instant};

use super::Result;

/// What one look has found.
pub(super) enum Look<T> {
    /// It is there.
    Found(T),
    /// Not yet; the sentence says how things stand.
    NotYet(String),
}

/// Looks every 50 ms until something is found. Fails when a look fails, or after `limit` with what the last look saw.
pub(super) fn until<T>(limit: Duration, mut look: impl FnMut() -> Result<Look<T>>) -> Result<T> {
    let started = Instant::now();
    loop {
        match look()? {
            Look::Found(found) => return Ok(found),
            Look::NotYet(state) if started.elapsed() >= limit => {
                return Err(format!("still not after {limit:?}: {state}").into());
            }
            Look::NotYet(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}
