//! Collectors on loopback, as good and as bad as they come; each on a thread of its own.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// Runs an accept loop until dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl Server {
    fn start<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let accept = async {
                    while let Ok((stream, _)) = listener.accept().await {
                        tokio::spawn(serve(stream));
                    }
                };
                tokio::select! {
                    () = accept => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, _stop: stop }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Accepts and never says a word.
pub(crate) fn hanging() -> Server {
    Server::start(|mut stream| async move {
        let mut sink = [0; 4096];
        while stream.read(&mut sink).await.is_ok_and(|read| read > 0) {}
    })
}

/// Answers over HTTP/1, a byte at a time, and never comes to the end.
pub(crate) fn slow() -> Server {
    Server::start(|mut stream| async move {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
        for byte in head.iter().chain(std::iter::repeat(&b'.')) {
            if stream.write_all(std::slice::from_ref(byte)).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
}

/// A port where nobody listens.
pub(crate) fn refusing() -> String {
    let address = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
    format!("http://{address}")
}

/// Takes OTLP over HTTP and over gRPC, and remembers it.
pub(crate) struct Collector {
    server: Server,
    received: Arc<Mutex<Received>>,
}

#[derive(Default)]
struct Received {
    requests: Vec<(String, HeaderMap)>,
    traces: Vec<ExportTraceServiceRequest>,
    metrics: Vec<ExportMetricsServiceRequest>,
    logs: Vec<ExportLogsServiceRequest>,
}

/// A span or log record, as much of it as tests look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) trace_id: Vec<u8>,
    pub(crate) span_id: Vec<u8>,
    pub(crate) parent_id: Vec<u8>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let received = Arc::new(Mutex::new(Received::default()));
        let taking = Arc::clone(&received);
        let server = Server::start(move |stream| {
            let taking = Arc::clone(&taking);
            let service = service_fn(move |request| take(request, Arc::clone(&taking)));
            async move {
                let builder = auto::Builder::new(TokioExecutor::new());
                let _gone = builder.serve_connection(TokioIo::new(stream), service).await;
            }
        });
        Self { server, received }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    pub(crate) fn requests(&self) -> Vec<(String, HeaderMap)> {
        self.received.lock().unwrap().requests.clone()
    }

    pub(crate) fn spans(&self) -> Vec<Seen> {
        let received = self.received.lock().unwrap();
        let resources = received.traces.iter().flat_map(|request| &request.resource_spans);
        let spans = resources.flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans);
        let seen = spans.map(|span| Seen {
            name: span.name.clone(),
            trace_id: span.trace_id.clone(),
            span_id: span.span_id.clone(),
            parent_id: span.parent_span_id.clone(),
        });
        seen.collect()
    }

    pub(crate) fn span_resource(&self) -> Vec<(String, String)> {
        let received = self.received.lock().unwrap();
        let resource = received.traces.first().and_then(|request| request.resource_spans.first());
        attributes(resource.and_then(|resource| resource.resource.clone()).unwrap_or_default())
    }

    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let received = self.received.lock().unwrap();
        let resources = received.metrics.iter().flat_map(|request| &request.resource_metrics);
        resources.flat_map(|resource| &resource.scope_metrics).flat_map(|scope| scope.metrics.clone()).collect()
    }

    /// The log records; their name is the body.
    pub(crate) fn logs(&self) -> Vec<Seen> {
        let received = self.received.lock().unwrap();
        let resources = received.logs.iter().flat_map(|request| &request.resource_logs);
        let records = resources.flat_map(|resource| &resource.scope_logs).flat_map(|scope| &scope.log_records);
        let seen = records.map(|record| Seen {
            name: record.body.clone().map(|body| text(body.value)).unwrap_or_default(),
            trace_id: record.trace_id.clone(),
            span_id: record.span_id.clone(),
            parent_id: Vec::new(),
        });
        seen.collect()
    }
}

fn attributes(resource: Resource) -> Vec<(String, String)> {
    let pairs = resource.attributes.into_iter();
    pairs.map(|pair| (pair.key, pair.value.map(|value| text(value.value)).unwrap_or_default())).collect()
}

fn text(value: Option<opentelemetry_proto::tonic::common::v1::any_value::Value>) -> String {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    match value {
        Some(Value::StringValue(text)) => text,
        other => format!("{other:?}"),
    }
}

async fn take(
    request: Request<Incoming>,
    received: Arc<Mutex<Received>>,
) -> Result<Response<BoxBody<Bytes, std::convert::Infallible>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let mut body = body.collect().await?.to_bytes();
    let grpc = head.headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"));
    if grpc {
        // One message in one frame: a flag, a length, the message.
        body.advance(5);
    }
    let path = head.uri.path().to_owned();
    let mut received = received.lock().unwrap();
    match path.as_str() {
        "/v1/traces" | "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => {
            received.traces.push(ExportTraceServiceRequest::decode(body).unwrap());
        }
        "/v1/metrics" | "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" => {
            received.metrics.push(ExportMetricsServiceRequest::decode(body).unwrap());
        }
        "/v1/logs" | "/opentelemetry.proto.collector.logs.v1.LogsService/Export" => {
            received.logs.push(ExportLogsServiceRequest::decode(body).unwrap());
        }
        other => panic!("nothing is served at {other}"),
    }
    received.requests.push((path, head.headers));
    Ok(if grpc { grpc_answer() } else { Response::new(Full::default().boxed()) })
}

/// An empty message and the status `OK`.
fn grpc_answer() -> Response<BoxBody<Bytes, std::convert::Infallible>> {
    let trailers = async {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        Some(Ok(trailers))
    };
    let body = Full::new(Bytes::from_static(&[0; 5])).with_trailers(trailers).boxed();
    let mut response = Response::new(body);
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    response
}
