//! The rows of the table of a diagnosis: what people need of the parts. The data have all of them.

use std::time::Duration;

use super::report::PartShare;
use crate::stats::{SeriesKind, Title};

/// A smaller share than this has no row of its own.
const SMALLEST: f64 = 0.005;
/// A stage whose own share is at most this of that of its only call of a model is one row with it.
const FOLDED: f64 = 0.1;
/// Longer names are cut.
const WIDEST: usize = 60;

/// One row.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) share: f64,
    pub(super) time: Duration,
    pub(super) count: u64,
}

/// The rows of one root, the largest share first.
pub(super) struct Rows {
    pub(super) rows: Vec<Row>,
    /// How many parts have no row for being small, as words, and their share together.
    pub(super) small: Option<(String, f64)>,
}

impl Rows {
    pub(super) fn of(shares: &[PartShare]) -> Self {
        let stages: Vec<Option<&PartShare>> = shares.iter().map(|part| stage_of(part, shares)).collect();
        let is_folded = |part: &PartShare| stages.iter().flatten().any(|stage| std::ptr::eq(*stage, part));
        let listed = shares.iter().zip(&stages).filter(|(part, _)| !is_folded(part));
        let row = |(part, stage): (&PartShare, &Option<&PartShare>)| Row {
            name: placed(&part.title, part.within.as_ref()),
            share: part.share + stage.map_or(0.0, |stage| stage.share),
            time: part.time.saturating_add(stage.map_or(Duration::ZERO, |stage| stage.time)),
            count: part.count,
        };
        let (mut rows, small): (Vec<Row>, Vec<Row>) = listed.map(row).partition(|row| row.share >= SMALLEST);
        rows.sort_by(|one, two| two.share.total_cmp(&one.share));
        let words = match small.len() {
            1 => "1 part under 0.5 %".to_owned(),
            number => format!("{number} parts under 0.5 %"),
        };
        let share = small.iter().map(|row| row.share).sum();
        Self { rows, small: (!small.is_empty()).then_some((words, share)) }
    }

    /// The width of the first column.
    pub(super) fn width(&self) -> usize {
        let names = self.rows.iter().map(|row| &row.name).chain(self.small.iter().map(|(words, _)| words));
        names.map(|name| name.chars().count()).fold("other".len(), usize::max).min(WIDEST)
    }
}

/// The stage that is one row with this call of a model.
fn stage_of<'a>(call: &PartShare, shares: &'a [PartShare]) -> Option<&'a PartShare> {
    let within = call.within.as_ref().filter(|_| call.title.kind == SeriesKind::Call)?;
    let in_it = |part: &&PartShare| part.title.kind == SeriesKind::Call && part.within.as_ref() == Some(within);
    let is_only = shares.iter().filter(in_it).count() == 1;
    let is_stage = |part: &&PartShare| part.title == *within && part.title.kind == SeriesKind::Stage;
    shares.iter().find(is_stage).filter(|stage| is_only && stage.share <= FOLDED * call.share)
}

/// A part, behind the one that it is in.
pub(super) fn placed(title: &Title, within: Option<&Title>) -> String {
    within.map_or_else(|| title.to_string(), |within| format!("{within} › {title}"))
}

/// A name that fits into so many characters.
pub(super) fn cut(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    name.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: SeriesKind, name: &str, within: Option<&Title>, share: f64) -> PartShare {
        let (title, within) = (Title::new(kind, name.to_owned(), ""), within.cloned());
        PartShare { title, within, share, covered: share, time: Duration::from_secs_f64(share), count: 1 }
    }

    fn rows(shares: &[PartShare]) -> Vec<(String, f64)> {
        let rounded = |row: Row| (row.name, (row.share * 1e4).round() / 1e4);
        Rows::of(shares).rows.into_iter().map(rounded).collect()
    }

    #[test]
    fn a_stage_that_is_nothing_but_its_call_is_one_row_with_it() {
        let stage = |share| part(SeriesKind::Stage, "generate", None, share);
        let call = |name| part(SeriesKind::Call, name, Some(&stage(0.0).title), 0.4);
        let both = "stage generate › openai".to_owned();
        assert_eq!(rows(&[call("openai"), stage(0.03)]), [(both.clone(), 0.43)]);
        let apart = [(both.clone(), 0.4), ("stage generate".to_owned(), 0.2)];
        assert_eq!(rows(&[call("openai"), stage(0.2)]), apart, "its own time is to be seen");
        assert_eq!(rows(&[call("openai"), call("other"), stage(0.03)]).len(), 3, "of two calls it is neither's");
    }

    #[test]
    fn small_parts_are_one_line() {
        let shares = [0.9, 0.005, 0.004, 0.003].map(|share| part(SeriesKind::Tool, "search", None, share));
        let rows = Rows::of(&shares);
        let (words, share) = rows.small.unwrap();
        assert_eq!((rows.rows.len(), words.as_str()), (2, "2 parts under 0.5 %"));
        assert!((share - 0.007).abs() < 1e-9);
        assert_eq!(Rows::of(&shares[3..]).small.unwrap().0, "1 part under 0.5 %");
        assert_eq!(Rows::of(&[]).small, None);
    }

    #[test]
    fn the_first_column_is_as_wide_as_its_longest_name_up_to_a_limit() {
        let width = |name: &str| Rows::of(&[part(SeriesKind::Tool, name, None, 0.9)]).width();
        assert_eq!((width("ü"), width("searching"), width(&"x".repeat(90))), (6, 14, 60));
        assert_eq!(cut(&"ü".repeat(61), 60), format!("{}…", "ü".repeat(59)));
        assert_eq!(cut(&"ü".repeat(60), 60), "ü".repeat(60));
    }
}
