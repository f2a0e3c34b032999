//! A local LLM server: real HTTP on loopback, planned answers, and a ledger of what left when.
//!
//! It answers at the paths of each [`Dialect`], streamed or whole. A request names its [`Plan`] by the header
//! [`PLAN_HEADER`]; those that name none get the plans in order. The header [`CODING_HEADER`] has the response compressed.
//! Models, embeddings and rankings are tiny and always the same.
//!
//! The server lives on a thread and a runtime of its own, so that it does not disturb the side that measures. Crates
//! include it by its path; it needs llmperf-core and no other part.

mod answer;
mod coding;
mod dialects;
mod dice;
mod fixed;
mod ledger;
mod plan;
mod refusal;
mod reply;
mod response;
mod route;
mod script;
mod sheet;
mod socket;
mod words;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

pub(crate) use llmperf_core::Outcome;

pub(crate) use coding::Coding;
pub(crate) use dialects::Dialect;
pub(crate) use ledger::{Ledger, Record, Write};
pub(crate) use plan::{Burst, Consumer, Ending, Finish, Kind, MODELS, Piece, Plan, SWIFT, THINKER, TOOLSMITH};
pub(crate) use script::{Asked, Close, Content, Script, Step};

use answer::Desk;
use socket::{Outbox, Socket};

/// Names the plan that a request is answered by.
pub(crate) const PLAN_HEADER: &str = "x-plan";
/// Names the [`Coding`]s of the response, in the order in which they are used.
pub(crate) const CODING_HEADER: &str = "x-coding";

/// A running server. Dropping it stops it at once.
#[derive(Debug)]
#[must_use = "the server stops when it is dropped"]
pub(crate) struct Server {
    address: SocketAddr,
    ledger: Ledger,
    stop: Option<oneshot::Sender<Duration>>,
    thread: Option<JoinHandle<bool>>,
}

impl Server {
    /// Listens on a free loopback port and answers request number `i` by `plans(i)`.
    ///
    /// Fails if there is no port, thread or runtime to be had.
    pub(crate) fn start(plans: impl Fn(u64) -> Plan + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let ledger = Ledger::default();
        let desk = Arc::new(Desk::new(plans, ledger.clone()));
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new().name("local-server".into()).spawn(move || {
            let listener = {
                let _inside = runtime.enter();
                tokio::net::TcpListener::from_std(listener)
            };
            listener.is_ok_and(|listener| runtime.block_on(serve(&listener, &desk, stopped)))
        })?;
        Ok(Self { address, ledger, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What OpenAI clients call the base URL.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it did and when; grows while it runs and stays after it has stopped.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Accepts no more and waits up to `limit` for the responses under way. `true` if all of them ended.
    pub(crate) fn stop(mut self, limit: Duration) -> bool {
        self.end(limit)
    }

    fn end(&mut self, limit: Duration) -> bool {
        if let Some(stop) = self.stop.take() {
            // A thread that is gone already needs no signal.
            let _gone = stop.send(limit);
        }
        self.thread.take().is_some_and(|thread| thread.join().unwrap_or(false))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Accepts until told to stop; says whether all connections ended within the limit that came with the word.
async fn serve(listener: &tokio::net::TcpListener, desk: &Arc<Desk>, mut stopped: oneshot::Receiver<Duration>) -> bool {
    let connections = GracefulShutdown::new();
    let limit = loop {
        tokio::select! {
            limit = &mut stopped => break limit.unwrap_or_default(),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => connect(stream, desk, &connections),
                // Out of descriptors, say: breathe, then go on.
                Err(_) => sleep(Duration::from_millis(10)).await,
            },
        }
    };
    timeout(limit, connections.shutdown()).await.is_ok()
}

fn connect(stream: tokio::net::TcpStream, desk: &Arc<Desk>, connections: &GracefulShutdown) {
    // Without it Nagle's algorithm would hold small frames back. A stream that refuses is dead already.
    let _dead = stream.set_nodelay(true);
    let outbox = Outbox::default();
    let socket = Socket::new(stream, outbox.clone());
    let desk = Arc::clone(desk);
    let service = service_fn(move |request| Arc::clone(&desk).answer(request, outbox.clone()));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        // Cut streams and clients that went away end here as errors; the ledger knows both.
        let _ended = connection.await;
    });
}
