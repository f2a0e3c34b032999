//! A Prometheus that scrapes and takes OTLP.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::poll::{self, Look};
use super::server::{Folder, Server, on_free_ports};
use super::{Client, Result};

const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// A running Prometheus, gone when dropped.
#[derive(Debug)]
pub(crate) struct Prometheus {
    /// Base URL of the API.
    pub(crate) url: String,
    /// Base URL for OTLP over HTTP, without `/v1/metrics`.
    pub(crate) otlp_http: String,
    client: Client,
    _server: Server,
}

impl Prometheus {
    /// Starts a Prometheus with an empty store that asks each of `targets` for `/metrics` every second.
    pub(crate) fn start(targets: &[SocketAddr]) -> Result<Self> {
        on_free_ports(|[port]| Self::start_on(port, targets))
    }

    /// As [`start`](Self::start), with one target that must know, before it can be asked, where it may push to: `make`
    /// is given [`otlp_http`](Self::otlp_http).
    pub(crate) fn start_with<T>(make: impl Fn(&str) -> Result<(SocketAddr, T)>) -> Result<(Self, T)> {
        on_free_ports(|[port]| {
            let (target, made) = make(&otlp_http(port))?;
            Ok((Self::start_on(port, &[target])?, made))
        })
    }

    fn start_on(port: u16, targets: &[SocketAddr]) -> Result<Self> {
        let folder = Folder::new("prometheus")?;
        let config = folder.write("config.yaml", &config(targets).to_string())?;
        let client = Client::new();
        let url = format!("http://127.0.0.1:{port}");

        let flag = |name: &str, value: OsString| {
            let mut flag = OsString::from(name);
            flag.push(value);
            flag
        };
        let arguments = [
            flag("--config.file=", config.into()),
            flag("--storage.tsdb.path=", folder.path("data").into()),
            flag("--web.listen-address=", format!("127.0.0.1:{port}").into()),
            "--web.enable-otlp-receiver".into(),
            "--log.level=warn".into(),
            // By default it looks at its targets 5 s after the start.
            "--scrape.discovery-reload-interval=100ms".into(),
        ];
        let readiness = format!("{url}/-/ready");
        let is_ready = || matches!(client.get(&readiness, &[]), Ok((200, _)));
        let server = Server::start("prometheus", arguments, folder, is_ready)?;
        Ok(Self { otlp_http: otlp_http(port), url, client, _server: server })
    }

    /// What an instant query gives now. Fails on bad PromQL, and on an answer that holds no plain numbers.
    pub(crate) fn query(&self, promql: &str) -> Result<Vec<Sample>> {
        let (status, body) = self.client.get(&format!("{}/api/v1/query", self.url), &[("query", promql)])?;
        if status != 200 {
            return Err(format!("Prometheus answered {status} to {promql}: {body}").into());
        }
        let series = match serde_json::from_str::<Answer>(&body)?.data {
            Data::Vector(series) => series,
            Data::Scalar(value) => vec![Series { metric: BTreeMap::new(), value }],
        };
        series.into_iter().map(Sample::try_from).collect()
    }

    /// The answer to a query as soon as `holds` for it; fails if it does not within 30 s.
    pub(crate) fn wait_until(&self, promql: &str, holds: impl Fn(&[Sample]) -> bool) -> Result<Vec<Sample>> {
        poll::until(ANSWER_LIMIT, || {
            let samples = self.query(promql)?;
            Ok(if holds(&samples) { Look::Found(samples) } else { Look::NotYet(format!("{promql} gives {samples:?}")) })
        })
    }
}

/// One series of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

impl TryFrom<Series> for Sample {
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn try_from(Series { metric, value: (_, value) }: Series) -> Result<Self> {
        Ok(Self { labels: metric, value: value.parse()? })
    }
}

#[derive(Deserialize)]
struct Answer {
    data: Data,
}

#[derive(Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
enum Data {
    Vector(Vec<Series>),
    Scalar((f64, String)),
}

/// The time and the value, a number as text.
#[derive(Deserialize)]
struct Series {
    metric: BTreeMap<String, String>,
    value: (f64, String),
}

fn otlp_http(port: u16) -> String {
    format!("http://127.0.0.1:{port}/api/v1/otlp")
}

/// JSON is YAML.
fn config(targets: &[SocketAddr]) -> Value {
    json!({
        "global": { "scrape_interval": "1s", "scrape_timeout": "1s" },
        "otlp": { "promote_resource_attributes": ["service.name", "service.version"] },
        "scrape_configs": [{ "job_name": "scrape", "static_configs": [{ "targets": targets }] }],
    })
}
