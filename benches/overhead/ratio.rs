//! Races: contestants take turns in short batches, and ratios are taken within a round.
//!
//! A batch is shorter than a time slice, so most are not interrupted; a round is short against the changes of a busy
//! machine; of all rounds the median stands.

use std::time::{Duration, Instant};

use criterion::Criterion;

/// How long one batch takes, about.
const BATCH: Duration = Duration::from_micros(200);
/// How long one race takes, about.
const RACE: Duration = Duration::from_secs(4);
const FEWEST_ROUNDS: usize = 51;

/// Something that is done again and again: its name, and a way to do it so many times that gives the time it took.
pub(crate) struct Contestant<'a> {
    name: &'static str,
    run: Box<dyn FnMut(u64) -> Duration + 'a>,
}

impl<'a> Contestant<'a> {
    /// `run` does it so many times.
    pub(crate) fn new(name: &'static str, mut run: impl FnMut(u64) + 'a) -> Self {
        Self::timed(name, move |times| {
            let started = Instant::now();
            run(times);
            started.elapsed()
        })
    }

    /// `run` does it so many times, and takes the time itself.
    pub(crate) fn timed(name: &'static str, run: impl FnMut(u64) -> Duration + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }

    /// How many times fill a batch.
    fn batch(&mut self) -> u64 {
        let mut times = 1;
        while (self.run)(times) < BATCH {
            times *= 2;
        }
        times
    }

    /// Nanoseconds for one time.
    fn lap(&mut self, times: u64) -> f64 {
        (self.run)(times).as_nanos() as f64 / times as f64
    }
}

/// What a ratio should be.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    AtMost(f64),
    AtLeast(f64),
    /// It only informs.
    None,
}

impl Bar {
    fn verdict(self, ratio: f64) -> String {
        let (met, bar) = match self {
            Self::AtMost(most) => (ratio <= most, format!("<= {most:.2}")),
            Self::AtLeast(least) => (ratio >= least, format!(">= {least:.2}")),
            Self::None => return String::new(),
        };
        format!("{bar:>8}  {}", if met { "pass" } else { "MISS" })
    }
}

struct Ratio<const N: usize> {
    what: &'static str,
    bar: Bar,
    of: fn([f64; N]) -> f64,
}

/// Contestants, and the ratios between them that matter.
pub(crate) struct Race<'a, const N: usize> {
    title: &'static str,
    contestants: [Contestant<'a>; N],
    ratios: Vec<Ratio<N>>,
}

impl<'a, const N: usize> Race<'a, N> {
    pub(crate) fn new(title: &'static str, contestants: [Contestant<'a>; N]) -> Self {
        Self { title, contestants, ratios: Vec::new() }
    }

    /// Adds a ratio of the contestants' nanoseconds, given in their order.
    pub(crate) fn ratio(mut self, what: &'static str, bar: Bar, of: fn([f64; N]) -> f64) -> Self {
        self.ratios.push(Ratio { what, bar, of });
        self
    }

    /// Runs the race and prints its ratios, then lets criterion time each contestant alone. With `--test`, each
    /// contestant runs once; a filter picks races by their titles.
    pub(crate) fn run(mut self, criterion: &mut Criterion) {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let told = |flag: &str| arguments.iter().any(|argument| argument == flag);
        let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
        if told("--bench") && !told("--test") && filter.is_none_or(|filter| self.title.contains(filter.as_str())) {
            self.print();
        }
        for Contestant { name, run } in &mut self.contestants {
            criterion.bench_function(&format!("{}/{name}", self.title), |bencher| bencher.iter_custom(&mut *run));
        }
    }

    fn print(&mut self) {
        let laps = self.laps();
        println!("\n{} ({} rounds)", self.title, laps.len());
        for (index, contestant) in self.contestants.iter().enumerate() {
            let nanos = median(laps.iter().map(|lap| lap[index]));
            println!("  {:<58} {nanos:>10.1} ns", contestant.name);
        }
        for Ratio { what, bar, of } in &self.ratios {
            let ratio = median(laps.iter().map(|lap| of(*lap)));
            println!("  {what:<58} {ratio:>10.2} x   {}", bar.verdict(ratio));
        }
    }

    /// The nanoseconds of each contestant, round by round; each round begins with another one.
    fn laps(&mut self) -> Vec<[f64; N]> {
        let batches = self.contestants.each_mut().map(Contestant::batch);
        let started = Instant::now();
        let mut laps = Vec::new();
        while laps.len() < FEWEST_ROUNDS || started.elapsed() < RACE {
            let mut lap = [0.0; N];
            for turn in 0..N {
                let index = (laps.len() + turn) % N;
                lap[index] = self.contestants[index].lap(batches[index]);
            }
            laps.push(lap);
        }
        laps
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
