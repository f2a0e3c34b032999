//! A distribution on a logarithmic time axis, with its P50, P95 and P99 marked.

use super::units::seconds;

const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const MARKED: [(&str, f64); 3] = [("P50", 0.50), ("P95", 0.95), ("P99", 0.99)];

/// Draws `times` (seconds) as a histogram of `width` by `height` characters over an axis from the least to the
/// greatest, and says in one line how many there are and where the quantiles lie. Without times it says so.
pub(crate) fn distribution(title: &str, times: &[f64], width: usize, height: usize) -> String {
    let mut sorted: Vec<f64> = times.iter().copied().filter(|time| *time > 0.0 && time.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (Some(&least), Some(&greatest)) = (sorted.first(), sorted.last()) else {
        return format!("{title}: no values\n");
    };
    let axis = Axis { least, greatest, width };
    let quantiles = MARKED.map(|(name, share)| (name, quantile(&sorted, share)));

    let mut lines = vec![heading(title, sorted.len(), &quantiles)];
    lines.extend(columns(&axis, &sorted, height));
    lines.push(rule(&axis, &quantiles));
    lines.extend(labels(&axis, &quantiles));
    lines.into_iter().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The smallest value that at least `share` of all values do not exceed.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let count = sorted.len();
    let rank = (0..count).find(|&below| count_ratio(below + 1, count) >= share);
    sorted[rank.unwrap_or(count - 1)]
}

/// Where a value lies: the logarithm cut into `width` equal columns.
struct Axis {
    least: f64,
    greatest: f64,
    width: usize,
}

impl Axis {
    fn column(&self, value: f64) -> usize {
        let span = (self.greatest / self.least).ln();
        if span <= 0.0 {
            return self.width / 2;
        }
        let place = (value / self.least).ln() / span;
        ((place * self.width as f64) as usize).min(self.width - 1)
    }
}

fn heading(title: &str, count: usize, quantiles: &[(&str, f64)]) -> String {
    let quantiles: Vec<_> = quantiles.iter().map(|(name, value)| format!("{name} {}", seconds(*value))).collect();
    format!("{title} ({count}, logarithmic axis): {}", quantiles.join(" · "))
}

/// The columns of the histogram, top line first; the fullest reaches the top.
fn columns(axis: &Axis, values: &[f64], height: usize) -> Vec<String> {
    let mut counts = vec![0_usize; axis.width];
    for &value in values {
        counts[axis.column(value)] += 1;
    }
    let fullest = counts.iter().copied().max().unwrap_or(0).max(1);
    let eighths = |count: usize| (count * height * 8 / fullest).max(usize::from(count > 0));
    let cell = |count: usize, line: usize| LEVELS[eighths(count).saturating_sub(line * 8).min(8)];
    (0..height).rev().map(|line| counts.iter().map(|&count| cell(count, line)).collect()).collect()
}

/// The axis, with a tick under each quantile.
fn rule(axis: &Axis, quantiles: &[(&str, f64)]) -> String {
    let ticks: Vec<_> = quantiles.iter().map(|(_, value)| axis.column(*value)).collect();
    (0..axis.width).map(|column| if ticks.contains(&column) { '┴' } else { '─' }).collect()
}

/// Both ends of the axis on one line; the names of the quantiles under their ticks, as many lines as they need.
fn labels(axis: &Axis, quantiles: &[(&str, f64)]) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (name, value) in quantiles {
        let start = axis.column(*value);
        let free = |line: &String| line.is_empty() || line.chars().count() < start;
        let place = lines.iter().position(free).unwrap_or_else(|| {
            lines.push(String::new());
            lines.len() - 1
        });
        let padding = start - lines[place].chars().count();
        lines[place] += &format!("{}{name}", " ".repeat(padding));
    }
    let (least, greatest) = (seconds(axis.least), seconds(axis.greatest));
    let room = axis.width.saturating_sub(least.chars().count());
    lines.push(format!("{least}{greatest:>room$}"));
    lines
}

fn count_ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
