//! OTLP over gRPC, by tonic.

use opentelemetry_otlp::{WithExportConfig, WithTonicConfig};
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

use super::Route;
use crate::export::error::Error;

/// Call it, and `build`, inside the driver's runtime: the channel lives there.
pub(super) fn configure<B: WithExportConfig + WithTonicConfig>(builder: B, route: &Route) -> Result<B, Error> {
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
