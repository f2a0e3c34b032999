//! OTLP over gRPC, by tonic.

use opentelemetry_otlp::{LogExporter, MetricExporter, SpanExporter, WithExportConfig, WithTonicConfig};
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

use super::route::Route;
use crate::export::driver::Driver;
use crate::export::error::Error;

// The channel lives in the runtime that is entered where it is built.

pub(super) fn spans(route: &Route, driver: &Driver) -> Result<SpanExporter, Error> {
    let _runtime = driver.handle().enter();
    configure(SpanExporter::builder().with_tonic(), route)?.build().map_err(|source| route.refused(source))
}

pub(super) fn metrics(route: &Route, driver: &Driver) -> Result<MetricExporter, Error> {
    let _runtime = driver.handle().enter();
    configure(MetricExporter::builder().with_tonic(), route)?.build().map_err(|source| route.refused(source))
}

pub(super) fn logs(route: &Route, driver: &Driver) -> Result<LogExporter, Error> {
    let _runtime = driver.handle().enter();
    configure(LogExporter::builder().with_tonic(), route)?.build().map_err(|source| route.refused(source))
}

fn configure<B: WithExportConfig + WithTonicConfig>(builder: B, route: &Route) -> Result<B, Error> {
    let metadata = MetadataMap::from_headers(route.header_map()?.into_iter().collect());
    // The exporter appends the headers of the process's environment first; ours replace them.
    let set_headers = move |mut request: Request<()>| -> Result<Request<()>, Status> {
        let mut headers = std::mem::take(request.metadata_mut()).into_headers();
        for (name, value) in metadata.as_ref() {
            headers.insert(name, value.clone());
        }
        *request.metadata_mut() = MetadataMap::from_headers(headers);
        Ok(request)
    };
    let builder = builder
        .with_protocol(opentelemetry_otlp::Protocol::Grpc)
        .with_endpoint(route.endpoint.as_str())
        .with_timeout(route.timeout)
        .with_interceptor(set_headers);
    Ok(with_tls(builder, route))
}

/// Left alone, the exporter would trust no certificate at all.
#[cfg(feature = "tls")]
fn with_tls<B: WithTonicConfig>(builder: B, route: &Route) -> B {
    use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;

    if route.endpoint.starts_with("https:") {
        return builder.with_tls_config(ClientTlsConfig::new().with_enabled_roots());
    }
    builder
}

#[cfg(not(feature = "tls"))]
fn with_tls<B: WithTonicConfig>(builder: B, _: &Route) -> B {
    builder
}
