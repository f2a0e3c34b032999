//! Where the telemetry of an example goes: nowhere but into its own tables, unless its options say so.

use std::net::SocketAddr;

use llmperf::export::{self, Telemetry};

use crate::terminal::say;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What the options say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sending {
    /// Where OTLP over gRPC goes.
    pub(crate) otlp: Option<String>,
    /// Whether `/metrics` is served, until Ctrl-C.
    pub(crate) prometheus: bool,
}

impl Sending {
    /// The lines of a help text about it.
    pub(crate) const USAGE: &str = concat!(
        "  --otlp <endpoint>  send traces and metrics there by OTLP over gRPC, as in http://localhost:4317\n",
        "  --prometheus       serve /metrics, until Ctrl-C\n",
    );

    /// Installs what was asked for; `None` if nothing was.
    pub(crate) fn install(&self, service: &str) -> Result<Option<Telemetry>, export::Error> {
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let export = match (&self.otlp, self.prometheus) {
            (None, false) => return Ok(None),
            (None, true) => export::prometheus(address),
            (Some(endpoint), false) => export::otlp_grpc().endpoint(endpoint),
            (Some(endpoint), true) => export::otlp_grpc().endpoint(endpoint).prometheus(address),
        };
        export.service(service).install().map(Some)
    }

    /// Says where to look, waits there if metrics are served, and sends what is still queued.
    pub(crate) async fn finish(&self, telemetry: Option<Telemetry>) -> Result<(), Error> {
        let Some(telemetry) = telemetry else { return Ok(()) };
        if let Some(endpoint) = &self.otlp {
            say!("Sent to {endpoint}.");
        }
        if let Some(address) = telemetry.metrics_address() {
            say!("http://{address}/metrics, until Ctrl-C");
            tokio::signal::ctrl_c().await?;
        }
        Ok(telemetry.shutdown()?)
    }
}
