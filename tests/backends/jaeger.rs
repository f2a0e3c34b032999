//! A Jaeger that takes OTLP and keeps traces in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::otlp::{Span, TracesData};
use super::poll::{self, Look};
use super::server::{Folder, Server, on_free_ports};
use super::{Client, Result};

const ARRIVAL_LIMIT: Duration = Duration::from_secs(30);
const MAX_TRACES: usize = 100_000;

/// A running Jaeger, gone when dropped.
#[derive(Debug)]
pub(crate) struct Jaeger {
    /// Base URL for OTLP over gRPC.
    pub(crate) otlp_grpc: String,
    /// Base URL for OTLP over HTTP, without `/v1/traces`.
    pub(crate) otlp_http: String,
    /// Base URL of the query API.
    pub(crate) query: String,
    client: Client,
    _server: Server,
}

impl Jaeger {
    /// Starts a Jaeger with an empty store and waits until it takes and gives traces.
    pub(crate) fn start() -> Result<Self> {
        on_free_ports(|[grpc, http, query]| {
            let folder = Folder::new("jaeger")?;
            let config = folder.write("config.yaml", &config(grpc, http, query).to_string())?;
            let client = Client::new();
            let [otlp_grpc, otlp_http, query] = [grpc, http, query].map(|port| format!("http://127.0.0.1:{port}"));

            // The receivers start last, gRPC before HTTP, the query API beside them.
            let (receiver, services) = (format!("{otlp_http}/v1/traces"), format!("{query}/api/services"));
            let is_ready = || {
                matches!(client.post(&receiver, &json!({})), Ok((200, _)))
                    && matches!(client.get(&services, &[]), Ok((200, _)))
            };
            let server = Server::start("jaeger", ["--config".as_ref(), config.as_os_str()], folder, is_ready)?;
            Ok(Self { otlp_grpc, otlp_http, query, client, _server: server })
        })
    }

    /// All traces that touch `service`, exactly as they were sent.
    pub(crate) fn traces(&self, service: &str) -> Result<Vec<Trace>> {
        let any_time =
            [("query.start_time_min", "1970-01-01T00:00:00Z"), ("query.start_time_max", "2200-01-01T00:00:00Z")];
        let limit = MAX_TRACES.to_string();
        let mut query =
            vec![("query.service_name", service), ("query.num_traces", &limit), ("query.raw_traces", "true")];
        query.extend(any_time);
        let (status, body) = self.client.get(&format!("{}/api/v3/traces", self.query), &query)?;
        match status {
            200 => Ok(Trace::group(serde_json::from_str::<Answer>(&body)?.result.into_spans())),
            404 => Ok(Vec::new()),
            _ => Err(format!("Jaeger answered {status}: {body}").into()),
        }
    }

    /// The traces of `service` as soon as `arrived` holds for them; fails if it does not within 30 s.
    pub(crate) fn wait_for(&self, service: &str, arrived: impl Fn(&[Trace]) -> bool) -> Result<Vec<Trace>> {
        poll::until(ARRIVAL_LIMIT, || {
            let traces = self.traces(service)?;
            if arrived(&traces) {
                return Ok(Look::Found(traces));
            }
            let spans: usize = traces.iter().map(|trace| trace.spans.len()).sum();
            Ok(Look::NotYet(format!("Jaeger holds {spans} spans in {} traces of {service}", traces.len())))
        })
    }
}

/// A trace with its spans in the order of their start.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) id: String,
    pub(crate) spans: Vec<Span>,
}

impl Trace {
    /// The spans whose parent is not in the trace. A whole trace has one.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| span.parent_id.as_deref().is_none_or(|parent| self.span(parent).is_none()))
    }

    /// The direct children of a span.
    pub(crate) fn children<'a>(&'a self, parent: &'a Span) -> impl Iterator<Item = &'a Span> {
        self.spans.iter().filter(|span| span.parent_id.as_deref() == Some(&parent.span_id))
    }

    /// The span of this id.
    pub(crate) fn span(&self, id: &str) -> Option<&Span> {
        self.spans.iter().find(|span| span.span_id == id)
    }

    fn group(spans: Vec<Span>) -> Vec<Self> {
        let mut traces = BTreeMap::<String, Vec<Span>>::new();
        for span in spans {
            traces.entry(span.trace_id.clone()).or_default().push(span);
        }
        traces
            .into_iter()
            .map(|(id, mut spans)| {
                spans.sort_by_key(|span| span.start);
                Self { id, spans }
            })
            .collect()
    }
}

/// What `/api/v3/traces` answers.
#[derive(Deserialize)]
struct Answer {
    result: TracesData,
}

/// JSON is YAML. Jaeger's own default would listen on all interfaces.
fn config(grpc: u16, http: u16, query: u16) -> Value {
    let on = |port: u16| json!({ "endpoint": format!("127.0.0.1:{port}") });
    json!({
        "service": {
            "extensions": ["jaeger_storage", "jaeger_query"],
            "pipelines": { "traces": { "receivers": ["otlp"], "exporters": ["jaeger_storage_exporter"] } },
            "telemetry": { "metrics": { "level": "none" }, "logs": { "level": "warn" } },
        },
        "extensions": {
            "jaeger_storage": { "backends": { "memory": { "memory": { "max_traces": MAX_TRACES } } } },
            // Nobody asks by gRPC, but it has no switch: any port will do. Its own traces would go to the default port of
            // OTLP, where a collector of the developer may listen.
            "jaeger_query": { "storage": { "traces": "memory" }, "http": on(query), "grpc": on(0), "enable_tracing": false },
        },
        "receivers": { "otlp": { "protocols": { "grpc": on(grpc), "http": on(http) } } },
        "exporters": { "jaeger_storage_exporter": { "trace_storage": "memory" } },
    })
}
