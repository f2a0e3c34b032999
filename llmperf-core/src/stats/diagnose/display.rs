//! A diagnosis for people: a table of shares, and a sentence for each finding.

use std::fmt;

use super::{
    report::{Change, Diagnosis, Growth, PartGrowth, Repetition, RootDiagnosis},
    rows::{Rows, cut, placed},
};
use crate::stats::{SeriesKind, Title, table};

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = table::title(self.window);
        if self.roots.is_empty() {
            return writeln!(f, "nothing to diagnose {window}");
        }
        writeln!(f, "where the time of the slowest goes {window} (from {} on)", quantile(self.quantile))?;
        self.roots.iter().try_for_each(|root| Root { root, of: self }.fmt(f))
    }
}

/// One root in the words of a diagnosis.
struct Root<'a> {
    root: &'a RootDiagnosis,
    of: &'a Diagnosis,
}

impl fmt::Display for Root<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = self.root;
        writeln!(f, "\n{}", root.title)?;
        let runs = count(root.runs, what(&root.title));
        let (mean, from) = (table::seconds(root.mean.as_secs_f64()), table::seconds(root.slow_from.as_secs_f64()));
        writeln!(f, "  {runs}, mean {mean}, {} {from}", quantile(self.of.quantile))?;
        let rows = Rows::of(&root.shares);
        self.shares(&rows, f)?;
        for sentence in self.sentences(&rows) {
            writeln!(f, "  - {sentence}")?;
        }
        for call in &root.slowest {
            write!(f, "  slow: {}", table::seconds(call.duration.as_secs_f64()))?;
            if let Some(trace_id) = call.trace_id {
                write!(f, ", trace {trace_id}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Root<'_> {
    fn shares(&self, rows: &Rows, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(other) = self.root.other else { return Ok(()) };
        let width = rows.width();
        writeln!(f, "  {:<width$} {:>7} {:>9} {:>7}", "", "share", "time", "count")?;
        for row in &rows.rows {
            let (name, time) = (cut(&row.name, width), table::seconds(row.time.as_secs_f64()));
            writeln!(f, "  {name:<width$} {:>7} {time:>9} {:>7}", percent(row.share), row.count)?;
        }
        if let Some((words, share)) = &rows.small {
            writeln!(f, "  {words:<width$} {:>7}", percent(*share))?;
        }
        writeln!(f, "  {:<width$} {:>7}", "other", percent(other))
    }

    fn sentences(&self, rows: &Rows) -> Vec<String> {
        let root = self.root;
        let mut sentences = Vec::new();
        if let Some(largest) = rows.rows.first().filter(|largest| largest.share > root.other.unwrap_or(0.0)) {
            let share = percent(largest.share);
            sentences.push(format!("{} takes most of the time of the slowest: {share}.", largest.name));
        }
        let all = (root.runs, root.slowest.len(), what(&root.title));
        sentences.extend(root.repetitions.iter().map(|repetition| repeated(repetition, all)));
        if let Some(share) = root.retrieval_share {
            sentences.push(format!(
                "retrieval takes {} of the time at P95, limit {}.",
                percent(share),
                percent(self.of.retrieval_limit)
            ));
        }
        if let Some(growth) = &root.growth {
            sentences.extend(grown(growth));
        }
        sentences
    }
}

fn repeated(repetition: &Repetition, (runs, slowest, what): (u64, usize, &str)) -> String {
    let Repetition { title, within, most, in_slowest, .. } = repetition;
    format!(
        "{} is repeated: up to {most} one behind the other in one {what}, in {} of {runs} and in {in_slowest} of the {slowest} slowest.",
        placed(title, within.as_ref()),
        repetition.runs,
    )
}

fn grown(growth: &Growth) -> Vec<String> {
    let mut sentences = vec![format!("it has grown: P95 {}, mean {}.", change(&growth.p95), change(&growth.mean))];
    sentences.extend(growth.parts.iter().map(grown_part));
    if growth.parts.is_empty() {
        sentences.push("no part of it stands out in that.".to_owned());
    }
    sentences.extend(growth.gone.iter().map(|title| format!("{title} is gone.")));
    sentences
}

fn grown_part(part: &PartGrowth) -> String {
    let name = part
        .title
        .as_ref()
        .map_or_else(|| "what no part covers".to_owned(), |title| placed(title, part.within.as_ref()));
    let (of, times) = if part.in_slowest_only { ("slowest runs", &part.slowest) } else { ("run", &part.mean) };
    let each = if part.in_slowest_only { "in the" } else { "a" };
    let mut sentence = match times.before.is_zero() {
        true => format!("{name} is new: {} {each} {of}", table::seconds(times.now.as_secs_f64())),
        false => format!("{name} has grown: {} {each} {of}", change(times)),
    };
    sentence += &format!(", {} of the growth", percent(part.share));
    if let Some((before, now)) = part.count.filter(|(before, now)| *before > 0.0 && *now >= 1.1 * before) {
        sentence += &format!("; {before:.1} of them became {now:.1}");
    }
    sentence + "."
}

fn what(title: &Title) -> &'static str {
    match title.kind {
        SeriesKind::Call | SeriesKind::ServerCall => "call",
        _ => "run",
    }
}

fn count(number: u64, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
}

fn change(change: &Change) -> String {
    format!("{} → {}", table::seconds(change.before.as_secs_f64()), table::seconds(change.now.as_secs_f64()))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn quantile(quantile: f64) -> String {
    let percent = (quantile * 1e6).round() / 1e4;
    format!("P{percent}")
}
