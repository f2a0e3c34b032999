//! OTLP over HTTP, by hyper on the driver's thread.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{LogExporter, MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use tokio::runtime::Handle;

use super::route::Route;
use crate::export::driver::Driver;
use crate::export::error::Error;

/// More than any receiver has reason to say.
const ANSWER_LIMIT: usize = 4 * 1024 * 1024;

pub(super) fn spans(route: &Route, driver: &Driver) -> Result<SpanExporter, Error> {
    configure(SpanExporter::builder().with_http(), route, driver)?.build().map_err(|source| route.refused(source))
}

pub(super) fn metrics(route: &Route, driver: &Driver) -> Result<MetricExporter, Error> {
    configure(MetricExporter::builder().with_http(), route, driver)?.build().map_err(|source| route.refused(source))
}

pub(super) fn logs(route: &Route, driver: &Driver) -> Result<LogExporter, Error> {
    configure(LogExporter::builder().with_http(), route, driver)?.build().map_err(|source| route.refused(source))
}

fn configure<B: WithExportConfig + WithHttpConfig>(builder: B, route: &Route, driver: &Driver) -> Result<B, Error> {
    let builder =
        builder.with_protocol(Protocol::HttpBinary).with_endpoint(route.endpoint.as_str()).with_timeout(route.timeout);
    #[cfg(feature = "tls")]
    if route.endpoint.starts_with("https:") {
        return Ok(builder.with_http_client(Courier::new(tls(route)?, route, driver)?));
    }
    Ok(builder.with_http_client(Courier::new(HttpConnector::new(), route, driver)?))
}

/// The provider is named: which one rustls takes by itself depends on what other crates switched on.
#[cfg(feature = "tls")]
fn tls(route: &Route) -> Result<hyper_rustls::HttpsConnector<HttpConnector>, Error> {
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_provider_and_native_roots(rustls::crypto::ring::default_provider())
        .map_err(|source| super::route::bad_endpoint(&route.endpoint, source.into()))?;
    Ok(connector.https_only().enable_http1().build())
}

/// Carries a request on the driver's runtime, whoever waits for it: the SDK's threads have none.
struct Courier<C> {
    runtime: Handle,
    client: Client<C, Full<Bytes>>,
    headers: Vec<(HeaderName, HeaderValue)>,
    timeout: Duration,
}

impl<C: Connect + Clone> Courier<C> {
    fn new(connector: C, route: &Route, driver: &Driver) -> Result<Self, Error> {
        Ok(Self {
            runtime: driver.handle().clone(),
            client: Client::builder(TokioExecutor::new()).build(connector),
            headers: route.header_map()?,
            timeout: route.timeout,
        })
    }
}

impl<C> fmt::Debug for Courier<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Courier").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl<C: Connect + Clone + Send + Sync + 'static> HttpClient for Courier<C> {
    async fn send_bytes(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        // The exporter has put the headers of the process's environment there; ours replace them.
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let client = self.client.clone();
        let timeout = self.timeout;
        let exchange = async move {
            let (head, body) = client.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, ANSWER_LIMIT).collect().await?.to_bytes();
            Ok(Response::from_parts(head, body))
        };
        self.runtime.spawn(async move { tokio::time::timeout(timeout, exchange).await? }).await?
    }
}
