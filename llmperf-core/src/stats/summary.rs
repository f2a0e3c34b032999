//! The distribution of one figure over one window.

use std::time::Duration;

use serde::Serialize;

use super::{Figure, closed::Digest};

/// One figure over one window, in its unit ([`Figure::unit`]): seconds, tokens per second, joules.
///
/// Minimum, maximum and mean are exact to the microsecond; quantiles and the standard deviation come from the
/// histogram, with an error of at most 1 %.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// The figure that this is about.
    pub figure: Figure,
    /// Values recorded.
    pub count: u64,
    /// Values per second of the time that the window covers; absent if it covers none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the values about their mean.
    pub std_dev: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The median.
    pub p50: f64,
    /// 90 % of the values are at most this.
    pub p90: f64,
    /// 95 % of the values are at most this.
    pub p95: f64,
    /// 99 % of the values are at most this.
    pub p99: f64,
    /// 99.9 % of the values are at most this.
    pub p999: f64,
    #[serde(rename = "histogram")]
    digest: Digest,
}

impl Summary {
    pub(super) fn new(figure: Figure, digest: &Digest, covered: Duration) -> Option<Self> {
        let histogram = digest.histogram.histogram()?;
        let count = histogram.len();
        let quantile = |share| digest.quantile(&histogram, share) as f64 / figure.per_unit();
        Some(Self {
            figure,
            count,
            per_second: per_second(count, covered),
            mean: digest.sum as f64 / count as f64 / figure.per_unit(),
            std_dev: histogram.stdev() / figure.per_unit(),
            min: digest.min as f64 / figure.per_unit(),
            max: digest.max as f64 / figure.per_unit(),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            digest: digest.clone(),
        })
    }

    /// The value that a share of the values, from 0 to 1, is at most; absent for a share outside of that.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let histogram = (0.0..=1.0).contains(&share).then(|| self.digest.histogram.histogram()).flatten()?;
        Some(self.digest.quantile(&histogram, share) as f64 / self.figure.per_unit())
    }

    pub(super) fn digest(&self) -> &Digest {
        &self.digest
    }
}

/// A count by the time that it took; absent without time.
pub(super) fn per_second(count: u64, covered: Duration) -> Option<f64> {
    (!covered.is_zero()).then(|| count as f64 / covered.as_secs_f64())
}
