//! Values over time as a small plot, and spans of time as lanes below it, on the same axis.

const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A stretch of time in seconds, drawn so many characters wide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) width: usize,
}

impl Axis {
    fn column(&self, at: f64) -> usize {
        let place = (at - self.from) / (self.to - self.from).max(f64::MIN_POSITIVE);
        ((place.max(0.0) * self.width as f64) as usize).min(self.width.saturating_sub(1))
    }
}

/// Draws `points` (seconds, value) as columns of up to `height` characters for `most`; the mean where several share a column,
/// and the value before where none does. `unit` stands behind the title with `most`.
pub(crate) fn timeline(title: &str, unit: &str, points: &[(f64, f64)], axis: Axis, height: usize, most: f64) -> String {
    let mut columns: Vec<Option<f64>> = vec![None; axis.width];
    for column in 0..axis.width {
        let within: Vec<f64> =
            points.iter().filter(|(at, _)| axis.column(*at) == column).map(|(_, value)| *value).collect();
        columns[column] = match within.len() {
            0 => column.checked_sub(1).and_then(|before| columns[before]),
            count => Some(within.iter().sum::<f64>() / count as f64),
        };
    }
    let mut drawn = format!("{title} (up to {most:.0}{unit})\n");
    for row in (0..height).rev() {
        let cell = |value: &Option<f64>| {
            let eighths = value.map_or(0.0, |value| value / most * height as f64 * 8.0) - row as f64 * 8.0;
            LEVELS[(eighths.round().clamp(0.0, 8.0)) as usize]
        };
        let line: String = columns.iter().map(cell).collect();
        drawn += line.trim_end();
        drawn += "\n";
    }
    drawn
}

/// Draws spans (from, to, in seconds) as bars, each in the first lane that is free.
pub(crate) fn lanes(title: &str, spans: &[(f64, f64)], axis: Axis) -> String {
    let mut sorted = spans.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lanes: Vec<Vec<char>> = Vec::new();
    for (from, to) in sorted {
        let (first, last) = (axis.column(from), axis.column(to));
        let free = lanes.iter().position(|lane| lane[first..=last].iter().all(|cell| *cell == ' '));
        let place = free.unwrap_or_else(|| {
            lanes.push(vec![' '; axis.width]);
            lanes.len() - 1
        });
        let lane = &mut lanes[place];
        lane[first..=last].fill('━');
        lane[first] = '╺';
    }
    let lines = lanes.iter().map(|lane| lane.iter().collect::<String>().trim_end().to_owned() + "\n");
    format!("{title}\n{}", lines.collect::<String>())
}
