//! What Prometheus holds of the two ways in: the scrape of `/metrics`, and OTLP.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use llmperf::export::{self, Telemetry};

use crate::backends::{Prometheus, Sample};

/// The service whose metrics these are, which is what Prometheus names the job of OTLP after.
pub(crate) const SERVICE: &str = "live";
/// The jobs: how Prometheus was told to name the scrape, and OTLP.
pub(crate) const JOBS: [&str; 2] = [SCRAPE, SERVICE];
const SCRAPE: &str = "scrape";

/// The labels in which the two ways differ: a scrape says the library; OTLP the service, as Prometheus was told to.
fn sender(job: &str) -> &'static [&'static str] {
    match job {
        SCRAPE => &["job", "instance", "otel_scope_name", "otel_scope_version", "otel_scope_schema_url"],
        _ => &["job", "instance", "service_name"],
    }
}

/// A series without its sender: its name and labels.
type Series = BTreeMap<String, String>;

/// A Prometheus, and a set-up whose metrics it both scrapes and is sent.
pub(crate) fn both_ways() -> (Prometheus, Telemetry) {
    let started = Prometheus::start_with(|otlp| {
        let telemetry = export::otlp_http()
            .endpoint(otlp)
            .service(SERVICE)
            .traces(false)
            .metric_interval(Duration::from_secs(1))
            .prometheus(([127, 0, 0, 1], 0))
            .build()?;
        Ok((telemetry.metrics_address().expect("/metrics is served"), telemetry))
    });
    started.unwrap()
}

/// Brings both ways up to date: pushes, and waits for a scrape that began after everything was recorded.
pub(crate) fn bring_up_to_date(prometheus: &Prometheus, telemetry: &Telemetry) {
    let recorded = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
    telemetry.force_flush().unwrap();
    let scraped_since = |samples: &[Sample]| samples.iter().any(|scrape| scrape.value > recorded);
    prometheus.wait_until(&format!("timestamp(up{{job=\"{SCRAPE}\"}})"), scraped_since).unwrap();
}

/// Every series of ours that came one way, with its value now.
pub(crate) fn all(prometheus: &Prometheus, job: &str) -> BTreeMap<Series, f64> {
    let samples = prometheus.query(&format!("{{job=\"{job}\",__name__=~\"(llmperf|gen_ai)_.+\"}}")).unwrap();
    let count = samples.len();
    let series: BTreeMap<_, _> =
        samples.into_iter().map(|Sample { labels, value }| (without_sender(labels, job), value)).collect();
    assert_eq!(series.len(), count, "each series stands once");
    series
}

fn without_sender(mut labels: Series, job: &str) -> Series {
    for name in sender(job) {
        assert!(labels.remove(*name).is_some(), "{job} does not say {name}: {labels:?}");
    }
    if let Some(bound) = labels.get_mut("le") {
        *bound = bound.parse::<f64>().unwrap().to_string();
    }
    labels
}

/// The names among these series.
pub(crate) fn names(series: &BTreeMap<Series, f64>) -> BTreeSet<String> {
    series.keys().map(|labels| labels["__name__"].clone()).collect()
}

/// The values of a query by one label.
pub(crate) fn by_label(prometheus: &Prometheus, label: &str, promql: &str) -> BTreeMap<String, f64> {
    let samples = prometheus.query(promql).unwrap();
    samples.into_iter().map(|sample| (sample.labels[label].clone(), sample.value)).collect()
}
