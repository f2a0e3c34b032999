//! Where the time of the slowest goes, and what has grown since an earlier snapshot.

mod display;
mod growth;
mod report;
mod rows;

use std::time::Duration;

use super::{
    Figure, PartTotals, RunPart, SeriesKind, SeriesSnapshot, SlowCall, Snapshot, Title, Window, WindowSnapshot,
};

pub use report::{Change, Diagnosis, Growth, PartGrowth, PartShare, Repetition, RootDiagnosis};

/// Fewer runs than this tell nothing of a quantile, nor of growth.
const FEWEST: u64 = 10;

/// How a snapshot is diagnosed.
///
/// ```
/// use llmperf_core::stats::{Diagnose, Window, snapshot};
///
/// let diagnosis = Diagnose::new().window(Window::FiveMinutes).repetitions(5).of(&snapshot());
/// println!("{diagnosis}");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it does nothing until a snapshot is given"]
pub struct Diagnose {
    window: Window,
    quantile: f64,
    retrieval_share: f64,
    repetitions: u64,
}

impl Diagnose {
    /// The last hour, the slowest at or above P99, retrieval share up to 0.5 at P95, three of a kind one behind the other.
    pub fn new() -> Self {
        Self { window: Window::OneHour, quantile: 0.99, retrieval_share: 0.5, repetitions: 3 }
    }

    /// The window that is looked at.
    pub fn window(self, window: Window) -> Self {
        Self { window, ..self }
    }

    /// From which quantile on, from 0 to 1, a run is one of the slowest. Of those the five slowest are known.
    pub fn quantile(self, quantile: f64) -> Self {
        Self { quantile: if quantile.is_finite() { quantile.clamp(0.0, 1.0) } else { 0.99 }, ..self }
    }

    /// Which share of a pipeline's time retrieval may take at P95, from 0 to 1. Fewer than ten runs tell nothing of it.
    pub fn retrieval_share(self, limit: f64) -> Self {
        Self { retrieval_share: limit, ..self }
    }

    /// How often the same stage or tool has to come one behind the other in one run to be named, from 2 to 10.
    pub fn repetitions(self, at_least: u64) -> Self {
        Self { repetitions: at_least.clamp(2, 10), ..self }
    }

    /// Where the time of the slowest goes: of each pipeline, agent and workflow, and of calls that are in none of them.
    /// Where time stands still, as on a clock moved by hand that nobody moves, runs have no parts.
    #[must_use]
    pub fn of(&self, snapshot: &Snapshot) -> Diagnosis {
        let roots = self.roots(snapshot).map(|(series, window)| self.root(series, window)).collect();
        Diagnosis { window: self.window, quantile: self.quantile, retrieval_limit: self.retrieval_share, roots }
    }

    /// The same, and what has grown since an earlier snapshot, in the same window. The two should lie further apart than
    /// the window is long: what is in both hides growth.
    ///
    /// The whole has *grown* if its mean or its P95 is up by 10 % or more, and by more than chance explains: the mean by three
    /// standard errors, P95 by what its rank may be off on both sides. A part has grown with it if its own time
    /// per run is up by 10 % or more, by three standard errors, and makes a quarter or more of what the whole grew by. Where
    /// the mean of all runs tells of no part, those of the slowest runs are compared: a part has grown if it
    /// took longer in each of them than in any before. Fewer than ten runs on either side tell of no growth.
    #[must_use]
    pub fn against(&self, snapshot: &Snapshot, earlier: &Snapshot) -> Diagnosis {
        let mut diagnosis = self.of(snapshot);
        for root in &mut diagnosis.roots {
            let window = |snapshot: &Snapshot| {
                let Title { kind, name, detail } = &root.title;
                snapshot.get(*kind, name.as_str(), detail.as_str())?.window(self.window).cloned()
            };
            root.growth =
                window(earlier).zip(window(snapshot)).and_then(|(before, now)| growth::between(&before, &now));
        }
        diagnosis
    }

    /// What is diagnosed by itself, the most encompassing kinds first.
    fn roots<'a>(&self, snapshot: &'a Snapshot) -> impl Iterator<Item = (&'a SeriesSnapshot, &'a WindowSnapshot)> {
        let window = self.window;
        let all = move || snapshot.series.iter().filter_map(move |series| Some((series, series.window(window)?)));
        let encloses = move |window: &WindowSnapshot, title: &Title| {
            window.composition.as_ref().is_some_and(|composition| composition.part(title).is_some())
        };
        let of = move |kinds: &'static [SeriesKind]| all().filter(|(series, _)| kinds.contains(&series.kind));
        let runs = of(&[SeriesKind::Pipeline, SeriesKind::Agent, SeriesKind::Workflow]);
        let calls = of(&[SeriesKind::Call, SeriesKind::ServerCall]);
        let alone = calls.filter(move |(series, _)| !all().any(|(_, window)| encloses(window, &title_of(series))));
        runs.chain(alone).filter(|(_, window)| window.outcomes.all() > 0)
    }

    fn root(&self, series: &SeriesSnapshot, window: &WindowSnapshot) -> RootDiagnosis {
        let duration = window.figures.get(&Figure::Duration);
        let slow_from = duration.and_then(|duration| duration.quantile(self.quantile)).unwrap_or(0.0);
        // The histogram's quantile may be off by 1 %.
        let is_slow = |call: &&SlowCall| call.duration.as_secs_f64() >= slow_from * 0.99;
        let slowest: Vec<SlowCall> = window.slowest.iter().filter(is_slow).cloned().collect();
        let (shares, other) = shares(&slowest);
        let share = window.figures.get(&Figure::RetrievalShare).filter(|share| share.count >= FEWEST);
        RootDiagnosis {
            title: title_of(series),
            runs: window.outcomes.all(),
            mean: seconds(duration.map_or(0.0, |duration| duration.mean)),
            slow_from: seconds(slow_from),
            repetitions: self.repeated(window, &slowest),
            slowest,
            shares,
            other,
            retrieval_share: share.map(|share| share.p95).filter(|share| *share > self.retrieval_share),
            growth: None,
        }
    }

    /// What is repeated that need not be: stages and tools, and other services asked outside of tools. Steps, and the calls
    /// of a model in them, are repeated by nature.
    fn repeated(&self, window: &WindowSnapshot, slowest: &[SlowCall]) -> Vec<Repetition> {
        let Some(composition) = &window.composition else { return Vec::new() };
        let in_tool = |within: Option<&Title>| within.is_some_and(|within| within.kind == SeriesKind::Tool);
        let parts = composition.parts.iter().filter(|part| match part.title.kind {
            SeriesKind::Stage | SeriesKind::Tool => true,
            SeriesKind::Operation => !in_tool(part.within.as_ref()),
            _ => false,
        });
        let in_slowest = |title: &Title| {
            let breakdowns = slowest.iter().filter_map(|call| call.breakdown.as_ref()?.part(title));
            breakdowns.filter(|part| part.sequential >= self.repetitions).count() as u64
        };
        let repetition = |part: &PartTotals| Repetition {
            title: part.title.clone(),
            within: part.within.clone(),
            most: part.most_sequential,
            runs: part.runs_with_sequential(self.repetitions),
            in_slowest: in_slowest(&part.title),
        };
        let mut repeated: Vec<Repetition> = parts.map(repetition).filter(|repeated| repeated.runs > 0).collect();
        repeated.sort_by_key(|repeated| std::cmp::Reverse((repeated.in_slowest, repeated.runs, repeated.most)));
        repeated
    }
}

impl Default for Diagnose {
    fn default() -> Self {
        Self::new()
    }
}

impl Snapshot {
    /// Where the time of the slowest of the last hour goes, what is repeated in one run, and whether retrieval takes more
    /// than its share. [`Diagnose`] asks otherwise. Where time stands still, as on a clock moved by hand that nobody moves,
    /// runs have no parts.
    #[must_use]
    pub fn diagnose(&self) -> Diagnosis {
        Diagnose::new().of(self)
    }

    /// The same of another window.
    #[must_use]
    pub fn diagnose_in(&self, window: Window) -> Diagnosis {
        Diagnose::new().window(window).of(self)
    }

    /// The same of the last hour, and what has grown since an earlier snapshot, taken more than an hour before:
    /// [`Diagnose::against`].
    #[must_use]
    pub fn diagnose_against(&self, earlier: &Self) -> Diagnosis {
        Diagnose::new().against(self, earlier)
    }
}

/// How the time of these runs divides, and the share of it that no part covers.
fn shares(slowest: &[SlowCall]) -> (Vec<PartShare>, Option<f64>) {
    let told: Vec<_> = slowest.iter().filter_map(|call| Some((call.duration, call.breakdown.as_ref()?))).collect();
    // What was read of another process may be of any length.
    let sum = |times: &mut dyn Iterator<Item = Duration>| times.fold(Duration::ZERO, Duration::saturating_add);
    let whole = sum(&mut told.iter().map(|(duration, _)| *duration));
    if whole.is_zero() {
        return (Vec::new(), None);
    }
    let mut sums: Vec<RunPart> = Vec::new();
    for part in told.iter().flat_map(|(_, breakdown)| &breakdown.parts) {
        match sums.iter_mut().find(|sum| sum.title == part.title) {
            Some(sum) => {
                sum.exclusive = sum.exclusive.saturating_add(part.exclusive);
                sum.covered = sum.covered.saturating_add(part.covered);
                sum.count = sum.count.saturating_add(part.count);
                sum.within = sum.within.take().filter(|within| Some(within) == part.within.as_ref());
            }
            None => sums.push(part.clone()),
        }
    }
    let of_whole = |time: Duration| time.as_nanos() as f64 / whole.as_nanos() as f64;
    let share = |sum: RunPart| PartShare {
        share: of_whole(sum.exclusive),
        covered: of_whole(sum.covered),
        time: seconds(sum.exclusive.as_secs_f64() / told.len() as f64),
        title: sum.title,
        within: sum.within,
        count: sum.count,
    };
    let mut shares: Vec<PartShare> = sums.into_iter().map(share).collect();
    shares.sort_by(|one, two| two.share.total_cmp(&one.share).then_with(|| one.title.cmp(&two.title)));
    let other = sum(&mut told.iter().map(|(_, breakdown)| breakdown.other));
    (shares, Some(of_whole(other)))
}

fn title_of(series: &SeriesSnapshot) -> Title {
    Title::new(series.kind, series.name.clone(), series.detail.clone())
}

/// Seconds as a duration; none of what is no time.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
