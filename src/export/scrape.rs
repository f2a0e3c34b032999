//! Serves `/metrics` to Prometheus, from the export thread.

mod page;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use opentelemetry_prometheus::PrometheusExporter;
use prometheus::Registry;
use tokio::sync::Semaphore;

use super::driver::Driver;
use super::error::{Error, Kind};

/// Connections at a time; more wait to be accepted. One that has not asked yet costs next to nothing.
const CONNECTIONS: usize = 256;
/// Answers under way at a time: each holds a page.
const ANSWERS: usize = 16;
/// How long a client may take to ask.
const ASKING: Duration = Duration::from_secs(5);
/// How long it may take in all.
const PATIENCE: Duration = Duration::from_secs(30);
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// A reader that collects when it is asked, and the registry to ask.
///
/// Scope labels stay on, as the OTel specification has it: without them two libraries that use one metric name would
/// produce the same series twice.
pub(super) fn reader() -> Result<(PrometheusExporter, Registry), Error> {
    let registry = Registry::new();
    let exporter = opentelemetry_prometheus::exporter().with_registry(registry.clone()).build();
    let reader = exporter.map_err(|source| Kind::Start { what: "the Prometheus exporter", source: source.into() })?;
    Ok((reader, registry))
}

/// Binds `address` and serves what `registry` gathers until the driver ends. Returns the bound address, which tells
/// the port where 0 was asked for.
pub(super) fn serve(address: SocketAddr, registry: Registry, driver: &Driver) -> Result<SocketAddr, Error> {
    let unavailable = |source| Error::from(Kind::Address { address, source });
    let listener = TcpListener::bind(address).map_err(unavailable)?;
    let bound = listener.local_addr().map_err(unavailable)?;
    listener.set_nonblocking(true).map_err(unavailable)?;
    let listener = {
        let _runtime = driver.handle().enter();
        tokio::net::TcpListener::from_std(listener).map_err(unavailable)?
    };
    driver.handle().spawn(accept(listener, Scraper::new(registry)));
    Ok(bound)
}

async fn accept(listener: tokio::net::TcpListener, scraper: Scraper) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: accepting again at once would spin.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let scraper = scraper.clone();
        tokio::spawn(async move {
            // Held until the connection ends: by then the answer has gone.
            let seat = Arc::new(OnceLock::new());
            let answer = service_fn(move |request| {
                let (scraper, seat) = (scraper.clone(), Arc::clone(&seat));
                async move {
                    if let Ok(free) = Arc::clone(&scraper.seats).acquire_owned().await {
                        seat.get_or_init(|| free);
                    }
                    Ok::<_, Infallible>(scraper.answer(&request).await)
                }
            });
            // One scrape a connection: a client that keeps it open would keep others out.
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(ASKING)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), answer);
            // A client that went away is no news.
            let _gone = tokio::time::timeout(PATIENCE, connection).await;
            drop(permit);
        });
    }
}

#[derive(Clone)]
struct Scraper {
    registry: Registry,
    seats: Arc<Semaphore>,
    /// Gathering runs the application's callbacks; one that hangs must not hold more than one thread.
    turn: Arc<Semaphore>,
}

impl Scraper {
    fn new(registry: Registry) -> Self {
        Self { registry, seats: Arc::new(Semaphore::new(ANSWERS)), turn: Arc::new(Semaphore::new(1)) }
    }

    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.uri().path() != "/metrics" {
            return plain(StatusCode::NOT_FOUND, "Metrics are served at /metrics.\n");
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "Use GET or HEAD.\n");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match self.gather().await {
            Some(text) => plain(StatusCode::OK, text),
            None => plain(StatusCode::INTERNAL_SERVER_ERROR, "The metrics could not be gathered.\n"),
        }
    }

    async fn gather(&self) -> Option<String> {
        let turn = Arc::clone(&self.turn).acquire_owned().await.ok()?;
        let registry = self.registry.clone();
        let gathered = tokio::task::spawn_blocking(move || {
            let page = page::of(&registry);
            drop(turn);
            page
        });
        gathered.await.ok()?.ok()
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, TEXT);
    response
}
