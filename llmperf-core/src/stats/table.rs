//! The table for people: one block per series, one row per figure.

use std::fmt;

use super::{Figure, SeriesSnapshot, Snapshot, Summary, Window, WindowSnapshot, title::heading};
use crate::Outcome;

/// One window of a [`Snapshot`], printed by `Display`.
///
/// Each value has the unit that suits its size. The shares of outcomes are the rates of
/// [`Outcomes`](super::Outcomes): cancelled calls do not count for errors and interruptions.
#[derive(Clone, Copy, Debug)]
#[must_use = "a table does nothing until it is printed"]
pub struct Table<'a> {
    snapshot: &'a Snapshot,
    window: Window,
}

impl<'a> Table<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, window: Window) -> Self {
        Self { snapshot, window }
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = title(self.window);
        let mut blocks = self.snapshot.series.iter().filter_map(|series| Some((series, series.window(self.window)?)));
        let Some((first, first_window)) = blocks.next() else { return writeln!(f, "nothing measured {window}") };
        writeln!(f, "measured {window} ({})", seconds(first_window.covered.as_secs_f64()))?;
        block(f, first, first_window)?;
        blocks.try_for_each(|(series, window)| block(f, series, window))
    }
}

fn block(f: &mut fmt::Formatter<'_>, series: &SeriesSnapshot, window: &WindowSnapshot) -> fmt::Result {
    writeln!(f, "\n{}", heading(series.kind, &series.name, &series.detail))?;
    writeln!(f, "  {}", outcomes(window))?;
    if !window.figures.is_empty() {
        row(f, "", &["count", "mean", "P50", "P95", "P99", "max"].map(str::to_owned))?;
    }
    for (figure, summary) in &window.figures {
        row(f, &figure.as_str().replace('_', " "), &cells(*figure, summary))?;
    }
    for call in &window.slowest {
        write!(f, "  slow: {}", seconds(call.duration.as_secs_f64()))?;
        if let Some(first_token) = call.time_to_first_token {
            write!(f, ", first token {}", seconds(first_token.as_secs_f64()))?;
        }
        if let Some(trace_id) = call.trace_id {
            write!(f, ", trace {trace_id}")?;
        }
        writeln!(f)?;
    }
    Ok(())
}

pub(super) fn title(window: Window) -> &'static str {
    match window {
        Window::OneMinute => "in the last minute",
        Window::FiveMinutes => "in the last five minutes",
        Window::OneHour => "in the last hour",
        Window::SinceStart => "since start",
    }
}

/// How many calls, how often, and how they ended: completeness always, the rest where there is any.
fn outcomes(window: &WindowSnapshot) -> String {
    let outcomes = &window.outcomes;
    let mut line = match outcomes.all() {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    if let Some(per_second) = window.per_second.filter(|_| outcomes.all() > 0) {
        line += &format!(", {}", often(per_second));
    }
    for outcome in Outcome::ALL {
        let count = outcomes.count(outcome);
        if count == 0 && outcome != Outcome::Complete {
            continue;
        }
        line += &format!(", {count} {outcome}");
        let rate = match outcome {
            Outcome::Complete => outcomes.completion_rate(),
            Outcome::Error => outcomes.error_rate(),
            Outcome::Interrupted => outcomes.interruption_rate(),
            Outcome::Cancelled => None,
        };
        if let Some(rate) = rate {
            line += &format!(" ({:.1} %)", rate * 100.0);
        }
    }
    line
}

fn row(f: &mut fmt::Formatter<'_>, label: &str, cells: &[String; 6]) -> fmt::Result {
    write!(f, "  {label:<21}")?;
    cells.iter().try_for_each(|cell| write!(f, " {cell:>9}"))?;
    writeln!(f)
}

fn cells(figure: Figure, summary: &Summary) -> [String; 6] {
    let value = |value| match figure {
        Figure::OutputTokenRate => format!("{}/s", significant(value)),
        Figure::Energy | Figure::TokenEnergy => joules(value),
        Figure::Cost => dollars(value),
        _ if figure.unit() == "s" => seconds(value),
        _ => significant(value),
    };
    let Summary { count, mean, p50, p95, p99, max, .. } = *summary;
    [count.to_string(), value(mean), value(p50), value(p95), value(p99), value(max)]
}

/// A time in the unit that suits it; each begins where the one before would round to a thousand.
pub(super) fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        ..0.000_999_5 => (seconds * 1e6, "µs"),
        ..0.999_5 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    format!("{} {unit}", significant(value))
}

/// An energy in the unit that suits it.
fn joules(joules: f64) -> String {
    let (value, unit) = match joules {
        ..0.999_5 => (joules * 1e3, "mJ"),
        ..999.5 => (joules, "J"),
        _ => (joules / 1e3, "kJ"),
    };
    format!("{} {unit}", significant(value))
}

/// An amount; a call costs a fraction of a cent, of which two digits are shown.
fn dollars(amount: f64) -> String {
    // Kept in millionths.
    let decimals = match amount {
        ..0.000_099_5 => 6,
        ..0.000_995 => 5,
        ..0.009_95 => 4,
        ..0.099_5 => 3,
        _ => 2,
    };
    format!("${amount:.decimals$}")
}

/// How often, by the shortest of second, minute and hour in which it happens once.
fn often(per_second: f64) -> String {
    let (times, unit) = match per_second {
        ..0.016_66 => (per_second * 3_600.0, "h"),
        ..0.999_5 => (per_second * 60.0, "min"),
        _ => (per_second, "s"),
    };
    format!("{}/{unit}", significant(times))
}

/// Three significant digits, or all before the point.
fn significant(value: f64) -> String {
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}
