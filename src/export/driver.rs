//! The thread that carries the I/O of the exporters and of `/metrics`.

use std::io;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use opentelemetry::Context;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::error::{Error, Kind};

/// A small runtime on a thread of its own, so that export neither needs nor disturbs the application's runtime: it
/// works from a plain `main`, and a flush that blocks a current-thread runtime still finds its I/O driven.
///
/// Dropping it ends the thread at once: requests under way fail, ports are free again.
#[derive(Debug)]
pub(super) struct Driver {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    /// In a lock only to be shared between threads, as the guard around it may be.
    ended: Mutex<mpsc::Receiver<()>>,
}

/// Enough for a name look-up beside a scrape that waits for a slow callback.
const BLOCKING_THREADS: usize = 4;
/// The thread never blocks, so it ends in microseconds; nobody waits longer for a machine that stalls.
const END_LIMIT: Duration = Duration::from_millis(250);

impl Driver {
    pub(super) fn start() -> Result<Self, Error> {
        Self::try_start().map_err(|source| {
            let source = source.into();
            Kind::Start { what: "the export thread", source }.into()
        })
    }

    fn try_start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("llmperf-export-blocking")
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let (end, ended) = mpsc::channel();
        thread::Builder::new().name("llmperf-export".to_owned()).spawn(move || {
            // Nothing that happens here may be exported in turn.
            let _suppressed = Context::enter_telemetry_suppressed_scope();
            // Ends when the sender is dropped, which is an error to the receiver and all it waits for.
            let _dropped = runtime.block_on(stopped);
            runtime.shutdown_background();
            drop(end);
        })?;
        Ok(Self { handle, stop: Some(stop), ended: Mutex::new(ended) })
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Ok(ended) = self.ended.get_mut() {
            // Always an error: nothing is ever sent, the other end goes away.
            let _ended = ended.recv_timeout(END_LIMIT);
        }
    }
}
