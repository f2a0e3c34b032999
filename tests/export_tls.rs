//! An `https://` endpoint is spoken to in TLS, over both protocols.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io::Read as _;
use std::net::TcpListener;

use llmperf::export;
use opentelemetry::trace::{Tracer as _, TracerProvider as _};

#[test]
fn https_endpoints_get_a_client_hello() {
    for export in [export::otlp_grpc(), export::otlp_http()] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let endpoint = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let telemetry = export.endpoint(endpoint).metrics(false).build().unwrap();
        drop(telemetry.tracer_provider().unwrap().tracer("test").start("call"));
        // Flushes, and gives up on a peer that does not answer; the greeting waits in the listener's backlog.
        drop(telemetry);
        listener.set_nonblocking(true).unwrap();
        let mut first = [0; 2];
        listener.accept().unwrap().0.read_exact(&mut first).unwrap();
        assert_eq!(first, [0x16, 0x03], "a TLS handshake record");
    }
}
