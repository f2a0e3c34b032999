//! Seeded chance: the few distributions that a plan is drawn from.

use std::ops::RangeInclusive;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Spreads neighbouring indices over the whole range of seeds (2⁶⁴ / golden ratio).
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// A random generator that belongs to one plan of one seed.
#[derive(Debug)]
pub(super) struct Dice(StdRng);

impl Dice {
    pub(super) fn new(seed: u64, index: u64) -> Self {
        Self(StdRng::seed_from_u64(seed ^ index.wrapping_mul(SPREAD)))
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.0.random_bool(probability)
    }

    pub(super) fn between<T>(&mut self, range: RangeInclusive<T>) -> T
    where
        T: rand::distr::uniform::SampleUniform + PartialOrd,
    {
        self.0.random_range(range)
    }

    /// A log-normal factor with median 1: what service times look like, short with a long tail.
    pub(super) fn factor(&mut self, spread: f64) -> f64 {
        // Box-Muller; `1 - u` keeps the logarithm away from zero.
        let radius = (-2.0 * (1.0 - self.0.random::<f64>()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.0.random::<f64>();
        (spread * radius * angle.cos()).exp()
    }

    /// A log-normal duration around `median`.
    pub(super) fn time(&mut self, median: Duration, spread: f64) -> Duration {
        median.mul_f64(self.factor(spread))
    }

    /// Weighted choice: each option with its share, the last takes what is left.
    pub(super) fn choose<T: Copy>(&mut self, options: &[(f64, T)], otherwise: T) -> T {
        let mut left: f64 = self.0.random();
        for &(share, option) in options {
            if left < share {
                return option;
            }
            left -= share;
        }
        otherwise
    }
}
