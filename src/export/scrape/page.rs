//! The page at `/metrics`, as Prometheus takes it: it refuses all of it for one label whose name it does not allow.
//!
//! Our own names are right. Those of the application's own instruments and of its resource may be anything.

use prometheus::proto::{LabelPair, MetricType};
use prometheus::{Registry, Result, TextEncoder};

pub(super) fn of(registry: &Registry) -> Result<String> {
    let mut families = registry.gather();
    for family in &mut families {
        let is_histogram = family.get_field_type() == MetricType::HISTOGRAM;
        for metric in family.mut_metric() {
            let mut labels = metric.take_label();
            labels.iter_mut().for_each(|label| rename(label, is_histogram));
            metric.set_label(each_name_once(labels));
        }
    }
    TextEncoder::new().encode_to_string(&families)
}

/// Gives a label an allowed name, as Prometheus does with what it receives over OTLP.
fn rename(label: &mut LabelPair, is_histogram: bool) {
    let name = label.name();
    let renamed = if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        format!("key_{name}")
    } else if name.starts_with("__") {
        format!("key{name}")
    } else if name == "le" && is_histogram {
        "exported_le".to_owned()
    } else if name.contains(':') {
        name.to_owned()
    } else {
        return;
    };
    label.set_name(renamed.replace(':', "_"));
}

fn each_name_once(labels: Vec<LabelPair>) -> Vec<LabelPair> {
    let mut kept: Vec<LabelPair> = Vec::with_capacity(labels.len());
    for label in labels {
        if !kept.iter().any(|other| other.name() == label.name()) {
            kept.push(label);
        }
    }
    kept
}
