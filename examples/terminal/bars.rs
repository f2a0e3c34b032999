//! Counts as horizontal bars.

/// The eighths of a character cell, from nothing to full.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// One line per count with its share of the sum; the largest bar is `width` characters long.
pub(crate) fn bars<L: AsRef<str>>(counts: &[(L, usize)], width: usize) -> String {
    let sum: usize = counts.iter().map(|(_, count)| count).sum();
    let largest = counts.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let label_width = counts.iter().map(|(label, _)| label.as_ref().chars().count()).max().unwrap_or(0);
    let count_width = largest.to_string().len();
    counts
        .iter()
        .map(|(label, count)| {
            let (label, count) = (label.as_ref(), *count);
            let share = 100.0 * ratio(count, sum.max(1));
            let bar = bar(count, largest, width);
            format!("{label:<label_width$}  {count:>count_width$}  {share:>5.1} %  {bar}").trim_end().to_owned() + "\n"
        })
        .collect()
}

/// A bar of `width` characters for `largest`; what is not nothing shows at least a hair line.
fn bar(count: usize, largest: usize, width: usize) -> String {
    let eighths = (count * width * 8 / largest).max(usize::from(count > 0));
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
