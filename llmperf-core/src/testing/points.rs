//! Metric points, flattened for assertions.

use std::collections::BTreeMap;

use opentelemetry::KeyValue;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, Metric, MetricData};

/// One series of a metric, as it was last exported.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Point {
    /// Its attributes, values as text.
    pub attributes: BTreeMap<String, String>,
    /// Number of records of a histogram; 1 for others.
    pub count: u64,
    /// Sum of a histogram, value of a counter or gauge.
    pub sum: f64,
    /// Boundaries of a histogram.
    pub bounds: Vec<f64>,
    /// Records per bucket of a histogram.
    pub buckets: Vec<u64>,
}

impl Point {
    /// The value of an attribute; empty if it has none.
    #[must_use]
    pub fn attribute(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }
}

pub(crate) fn of(metric: &Metric) -> Vec<Point> {
    match metric.data() {
        AggregatedMetrics::F64(data) => points(data, |value| value),
        AggregatedMetrics::U64(data) => points(data, |value| value as f64),
        AggregatedMetrics::I64(data) => points(data, |value| value as f64),
    }
}

fn points<T: Copy>(data: &MetricData<T>, value: impl Fn(T) -> f64) -> Vec<Point> {
    let scalar = |attributes: BTreeMap<String, String>, sum: f64| Point {
        attributes,
        count: 1,
        sum,
        bounds: Vec::new(),
        buckets: Vec::new(),
    };
    match data {
        MetricData::Gauge(gauge) => {
            gauge.data_points().map(|point| scalar(text(point.attributes()), value(point.value()))).collect()
        }
        MetricData::Sum(sum) => {
            sum.data_points().map(|point| scalar(text(point.attributes()), value(point.value()))).collect()
        }
        MetricData::Histogram(histogram) => histogram
            .data_points()
            .map(|point| Point {
                attributes: text(point.attributes()),
                count: point.count(),
                sum: value(point.sum()),
                bounds: point.bounds().collect(),
                buckets: point.bucket_counts().collect(),
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn text<'a>(attributes: impl Iterator<Item = &'a KeyValue>) -> BTreeMap<String, String> {
    attributes.map(|attribute| (attribute.key.to_string(), attribute.value.to_string())).collect()
}
