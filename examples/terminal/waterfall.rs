//! Spans of time below each other, on one axis.

use super::units::seconds;

/// One line of a waterfall.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    /// With its indent.
    pub(crate) name: String,
    /// Seconds on the axis.
    pub(crate) from: f64,
    pub(crate) to: f64,
}

/// Each bar with its name and its length; the axis, from the first beginning to the last end, is `width` characters wide.
pub(crate) fn waterfall(bars: &[Bar], width: usize) -> String {
    let from = bars.iter().map(|bar| bar.from).fold(f64::INFINITY, f64::min);
    let to = bars.iter().map(|bar| bar.to).fold(f64::NEG_INFINITY, f64::max);
    let name_width = bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let cell = |time: f64| ((time - from) / (to - from).max(f64::MIN_POSITIVE) * width as f64) as usize;
    let line = |bar: &Bar| {
        let begins = cell(bar.from).min(width.saturating_sub(1));
        // The shortest is still seen.
        let long = cell(bar.to).saturating_sub(begins).max(1);
        let drawn = format!("{}{}", " ".repeat(begins), "█".repeat(long));
        format!("{:<name_width$}  {:>8}  {drawn}\n", bar.name, seconds(bar.to - bar.from))
    };
    bars.iter().map(line).collect()
}
