//! What is kept of a stretch of time that is over: packed histograms, outcomes, the slowest calls.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::{Composition, Figure, Outcomes, packed::Packed, slow::Slowest};

/// A slice, or several, of one series.
#[derive(Clone, Debug, Default)]
pub(super) struct Closed {
    /// The figures that have values.
    pub(super) figures: BTreeMap<Figure, Digest>,
    pub(super) outcomes: Outcomes,
    pub(super) slowest: Slowest,
    /// Of runs; absent where there are none.
    pub(super) composition: Option<Box<Composition>>,
}

impl Closed {
    pub(super) fn merge(&mut self, other: &Self) {
        for (figure, digest) in &other.figures {
            self.figures.entry(*figure).and_modify(|ours| ours.merge(digest)).or_insert_with(|| digest.clone());
        }
        self.outcomes.merge(&other.outcomes);
        self.slowest.extend(other.slowest.iter().cloned());
        if let Some(theirs) = &other.composition {
            self.composition.get_or_insert_default().merge(theirs);
        }
    }
}

/// The values of one figure: their histogram, and what a histogram keeps only roughly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Digest {
    /// In HDR's V2 form, base64, when it is serialised.
    #[serde(rename = "v2")]
    pub(super) histogram: Packed,
    pub(super) sum: u64,
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Digest {
    pub(super) fn merge(&mut self, other: &Self) {
        self.histogram = self.histogram.merged(&other.histogram);
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// A quantile of `histogram`, which is this one unpacked. A bucket's upper edge may lie beyond the largest value.
    pub(super) fn quantile(&self, histogram: &Histogram<u64>, share: f64) -> u64 {
        histogram.value_at_quantile(share).min(self.max).max(self.min)
    }
}
