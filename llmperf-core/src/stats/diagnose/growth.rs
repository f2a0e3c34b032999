//! What has grown between two windows of one series, by more than chance explains.

use super::{
    FEWEST,
    report::{Change, Growth, PartGrowth},
    seconds,
};
use crate::stats::{Composition, Figure, PartTotals, SlowCall, Summary, Title, WindowSnapshot, composition::Spread};

/// What has grown is up by at least this.
const GROWN: f64 = 1.1;
/// A part that made the whole grow has at least this share in its growth.
const SHARE: f64 = 0.25;
/// How many standard errors a difference of means has to make.
const ERRORS: f64 = 3.0;
/// How many standard errors the rank of a quantile may be off, on each side.
const RANK_ERRORS: f64 = 2.0;
/// Quantiles closer together than this may be of one bucket.
const BUCKET: f64 = 1.01;
/// Fewer of the slowest than this tell nothing.
const FEWEST_SLOW: usize = 3;
/// In which share of the runs a part has to be for its absence to be told.
const COMMON: f64 = 0.1;

/// How a series has grown; absent if it has not.
pub(super) fn between(before: &WindowSnapshot, now: &WindowSnapshot) -> Option<Growth> {
    let duration = |window: &WindowSnapshot| window.figures.get(&Figure::Duration).cloned();
    let (was, is) = (duration(before)?, duration(now)?);
    let enough = was.count.min(is.count) >= FEWEST;
    if !enough || !(mean_has_grown(&was, &is) || p95_has_grown(&was, &is)) {
        return None;
    }
    let both = Both { before, now };
    Some(Growth {
        mean: change(was.mean, is.mean),
        p95: change(was.p95, is.p95),
        parts: both.grown(is.mean - was.mean),
        gone: both.gone(),
    })
}

fn mean_has_grown(was: &Summary, is: &Summary) -> bool {
    let variance = |summary: &Summary| summary.std_dev.powi(2) / summary.count as f64;
    is.mean >= was.mean * GROWN && is_significant(is.mean - was.mean, variance(was) + variance(is))
}

/// The quantile at the lower end of where P95 may be now is above the one at its upper end before.
fn p95_has_grown(was: &Summary, is: &Summary) -> bool {
    let off = |summary: &Summary| RANK_ERRORS * (0.95 * 0.05 / summary.count as f64).sqrt();
    let (most, least) = (was.quantile((0.95 + off(was)).min(1.0)), is.quantile((0.95 - off(is)).max(0.0)));
    is.p95 >= was.p95 * GROWN && most.zip(least).is_some_and(|(most, least)| least > most * BUCKET)
}

fn is_significant(difference: f64, variance: f64) -> bool {
    difference > 0.0 && difference >= ERRORS * variance.sqrt()
}

/// Two windows of one series.
struct Both<'a> {
    before: &'a WindowSnapshot,
    now: &'a WindowSnapshot,
}

impl Both<'_> {
    /// The parts that made the whole grow by so many seconds.
    fn grown(&self, by: f64) -> Vec<PartGrowth> {
        let Some((was, is)) = self.before.composition.as_deref().zip(self.now.composition.as_deref()) else {
            return Vec::new();
        };
        let candidates: Vec<Candidate> = candidates(was, is).map(|candidate| candidate.with_slowest(self)).collect();
        let grown = |share: &dyn Fn(&Candidate) -> Option<f64>, in_slowest_only| {
            let of = |candidate: &Candidate| Some(candidate.growth(share(candidate)?, in_slowest_only));
            let mut parts: Vec<PartGrowth> = candidates.iter().filter_map(of).collect();
            parts.sort_by(|one, two| two.share.total_cmp(&one.share));
            parts
        };
        let by_mean = grown(&|candidate| candidate.grown_with(by), false);
        if !by_mean.is_empty() {
            return by_mean;
        }
        let whole =
            |calls: &[SlowCall]| mean(&calls.iter().map(|call| call.duration.as_secs_f64()).collect::<Vec<_>>());
        let by = whole(&self.now.slowest) - whole(&self.before.slowest);
        grown(&|candidate| candidate.grown_with_slowest(by), true)
    }

    fn gone(&self) -> Vec<Title> {
        let Some((was, is)) = self.before.composition.as_deref().zip(self.now.composition.as_deref()) else {
            return Vec::new();
        };
        let common = |part: &&PartTotals| part.runs as f64 >= COMMON * was.runs as f64;
        let gone = was.parts.iter().filter(common).filter(|part| is.part(&part.title).is_none());
        gone.map(|part| part.title.clone()).collect()
    }
}

/// A part that may have grown, or what no part covers.
#[derive(Debug, Default)]
struct Candidate {
    title: Option<Title>,
    within: Option<Title>,
    /// Its own time in a run: means in seconds, and the variance of their difference.
    mean: (f64, f64),
    variance: f64,
    /// Its own time in each of the slowest, in seconds.
    slowest: (Vec<f64>, Vec<f64>),
    count: Option<(f64, f64)>,
}

fn candidates<'a>(was: &'a Composition, is: &'a Composition) -> impl Iterator<Item = Candidate> + 'a {
    let of = |before: Spread, now: Spread| Candidate {
        mean: (before.mean(was.runs), now.mean(is.runs)),
        variance: before.variance_of_mean(was.runs) + now.variance_of_mean(is.runs),
        ..Candidate::default()
    };
    let parts = is.parts.iter().map(move |part| {
        let before = was.part(&part.title);
        let per_run = |count: u64, runs: u64| count as f64 / runs.max(1) as f64;
        Candidate {
            title: Some(part.title.clone()),
            within: part.within.clone(),
            count: Some((per_run(before.map_or(0, |before| before.count), was.runs), per_run(part.count, is.runs))),
            ..of(before.map(PartTotals::spread).unwrap_or_default(), part.spread())
        }
    });
    parts.chain([of(was.other_spread(), is.other_spread())])
}

impl Candidate {
    fn with_slowest(mut self, both: &Both<'_>) -> Self {
        let of = |calls: &[SlowCall]| {
            let own = |call: &SlowCall| {
                let breakdown = call.breakdown.as_deref()?;
                let Some(title) = &self.title else { return Some(breakdown.other.as_secs_f64()) };
                Some(breakdown.part(title).map_or(0.0, |part| part.exclusive.as_secs_f64()))
            };
            calls.iter().filter_map(own).collect()
        };
        self.slowest = (of(&both.before.slowest), of(&both.now.slowest));
        self
    }

    /// Its share in the growth of the whole, if it has grown with it.
    fn grown_with(&self, whole: f64) -> Option<f64> {
        let (was, is) = self.mean;
        share(was, is, whole).filter(|_| is_significant(is - was, self.variance))
    }

    /// The same by the slowest alone: each took longer than any before.
    fn grown_with_slowest(&self, whole: f64) -> Option<f64> {
        let (was, is) = &self.slowest;
        let most = was.iter().copied().fold(f64::MIN, f64::max);
        let apart = was.len().min(is.len()) >= FEWEST_SLOW && is.iter().all(|time| *time > most);
        share(mean(was), mean(is), whole).filter(|_| apart)
    }

    fn growth(&self, share: f64, in_slowest_only: bool) -> PartGrowth {
        PartGrowth {
            title: self.title.clone(),
            within: self.within.clone(),
            mean: change(self.mean.0, self.mean.1),
            slowest: change(mean(&self.slowest.0), mean(&self.slowest.1)),
            share,
            count: self.count,
            in_slowest_only,
        }
    }
}

/// The share of a part in the growth of the whole, if both are large enough.
fn share(was: f64, is: f64, whole: f64) -> Option<f64> {
    let grown = is - was;
    (whole > 0.0 && grown > 0.0 && is >= was * GROWN && grown >= SHARE * whole).then(|| grown / whole)
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn change(before: f64, now: f64) -> Change {
    Change { before: seconds(before), now: seconds(now) }
}
