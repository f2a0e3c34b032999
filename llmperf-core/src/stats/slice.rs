//! The open slice of a series: dense histograms that a record costs a few nanoseconds each.

use hdrhistogram::{Histogram, serialization::V2Serializer};

use super::{
    Composition, Figure, Outcomes, SlowCall,
    closed::{Closed, Digest},
    packed::{DIGITS, Packed},
    slow::Slowest,
};

/// What a series recorded in one slice of time. A figure takes memory from its first value on.
#[derive(Debug, Default)]
pub(super) struct Slice {
    tallies: [Option<Box<Tally>>; Figure::ALL.len()],
    pub(super) outcomes: Outcomes,
    slowest: Slowest,
    composition: Option<Box<Composition>>,
}

impl Slice {
    /// Adds what is kept of each by itself: a call, or a run with the breakdown of its time.
    pub(super) fn slow(&mut self, call: SlowCall) {
        if let Some(breakdown) = &call.breakdown {
            self.composition.get_or_insert_default().add(call.duration, breakdown);
        }
        self.slowest.insert(call);
    }

    pub(super) fn record(&mut self, figure: Figure, values: &[u64]) {
        let Some(tally) = self.tallies.get_mut(figure as usize) else { return };
        if tally.is_none() && !values.is_empty() {
            *tally = Tally::new().map(Box::new);
        }
        if let Some(tally) = tally {
            values.iter().for_each(|value| tally.record(figure.kept(*value)));
        }
    }

    /// The slice as it is kept once it is over.
    pub(super) fn pack(&self) -> Closed {
        let mut serializer = V2Serializer::new();
        let tallies = Figure::ALL.into_iter().zip(&self.tallies);
        let figures = tallies.filter_map(|(figure, tally)| Some((figure, tally.as_ref()?.pack(&mut serializer)?)));
        Closed {
            figures: figures.collect(),
            outcomes: self.outcomes,
            slowest: self.slowest.clone(),
            composition: self.composition.clone(),
        }
    }

    /// Empties it for another slice of time; the histograms keep their memory.
    pub(super) fn clear(&mut self) {
        self.tallies.iter_mut().flatten().for_each(|tally| tally.clear());
        self.outcomes = Outcomes::default();
        self.slowest = Slowest::default();
        self.composition = None;
    }
}

/// The values of one figure.
#[derive(Debug)]
struct Tally {
    histogram: Histogram<u32>,
    sum: u64,
    min: u64,
    max: u64,
}

impl Tally {
    fn new() -> Option<Self> {
        Histogram::new(DIGITS).ok().map(|histogram| Self { histogram, sum: 0, min: u64::MAX, max: 0 })
    }

    fn record(&mut self, value: u64) {
        if self.histogram.record(value).is_ok() {
            self.sum = self.sum.saturating_add(value);
            self.min = self.min.min(value);
            self.max = self.max.max(value);
        }
    }

    fn pack(&self, serializer: &mut V2Serializer) -> Option<Digest> {
        let histogram = (!self.histogram.is_empty()).then(|| Packed::of(&self.histogram, serializer)).flatten()?;
        Some(Digest { histogram, sum: self.sum, min: self.min, max: self.max })
    }

    fn clear(&mut self) {
        self.histogram.reset();
        (self.sum, self.min, self.max) = (0, u64::MAX, 0);
    }
}
