//! A server on loopback that answers as it is told and keeps what it was asked, and clients of it.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use llmperf_core::testing::Probe;
use llmperf_http::{Measure, MeasuredClient, RequestBody};
use opentelemetry_sdk::trace::SpanData;
use tokio::net::TcpListener;
use tower::Layer as _;

use crate::bodies::Steps;

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A server that lives as long as the runtime of its test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Answers each request as `answer` says.
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Response<Steps> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, answer) = (Arc::default(), Arc::new(answer));
        let keeps: Arc<Mutex<Vec<Asked>>> = Arc::clone(&asked);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (keeps, answer) = (keeps.clone(), answer.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let (keeps, answer) = (keeps.clone(), answer.clone());
                    async move {
                        let (parts, body) = request.into_parts();
                        let Ok(body) = body.collect().await else { return Ok(Response::default()) };
                        let (method, uri, headers) = (parts.method, parts.uri, parts.headers);
                        let asked = Asked { method, uri, headers, body: body.to_bytes() };
                        let response = answer(&asked);
                        keeps.lock().unwrap().push(asked);
                        Ok::<_, Infallible>(response)
                    }
                });
                tokio::spawn(async move {
                    // A body that fails on purpose breaks its connection.
                    let _ =
                        auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

pub(crate) type TowerClient = MeasuredClient<Client<HttpConnector, RequestBody<Full<Bytes>>>>;

/// A tower client whose calls are measured.
pub(crate) fn tower(measure: Measure) -> TowerClient {
    measure.layer(Client::builder(TokioExecutor::new()).build_http())
}

/// A reqwest client on loopback that leaves codings alone. One build of the workspace has one set of features: others ask for
/// TLS, whose provider must be there, and for codings.
pub(crate) fn plain_reqwest() -> reqwest::Client {
    let _already_set = rustls::crypto::ring::default_provider().install_default();
    let plain = reqwest::Client::builder().tls_certs_only([]).no_proxy();
    plain.no_gzip().no_brotli().no_zstd().no_deflate().build().unwrap()
}

/// A reqwest client whose calls are measured.
pub(crate) fn reqwest(measure: Measure) -> reqwest_middleware::ClientWithMiddleware {
    let client = plain_reqwest();
    reqwest_middleware::ClientBuilder::new(client).with(measure).build()
}

/// A measure whose telemetry the probe keeps.
pub(crate) fn measure(probe: &Probe) -> Measure {
    Measure::new().instrumentation(probe.instrumentation())
}

/// A request to post.
pub(crate) fn post(url: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::post(url).header("content-type", "application/json").body(Full::new(body.into())).unwrap()
}

/// A response of this type and body.
pub(crate) fn answer(content_type: &str, body: Steps) -> Response<Steps> {
    Response::builder().header("content-type", content_type).body(body).unwrap()
}

/// A request for a streamed chat.
pub(crate) const CHAT: &str =
    r#"{"model":"gpt-4o-mini","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"my secret"}]}"#;

/// A streamed answer to it.
pub(crate) const STREAM: [&str; 3] = [
    "data: {\"id\":\"c1\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n",
    "data: [DONE]\n\n",
];

pub(crate) fn attribute(span: &SpanData, key: &str) -> Option<String> {
    let mut found = span.attributes.iter().filter(|attribute| attribute.key.as_str() == key);
    let value = found.next().map(|attribute| attribute.value.to_string());
    assert!(found.next().is_none(), "{key} stands twice");
    value
}
