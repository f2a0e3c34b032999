//! Aligned columns: the first to the left, the others to the right.

use std::fmt;

/// A table with a head; `Display` draws it.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const COLUMNS: usize>(head: [&str; COLUMNS]) -> Self {
        Self { rows: vec![head.map(String::from).to_vec()] }
    }

    /// Adds a row; cells beyond the head's get a column of their own, missing ones stay empty.
    #[must_use]
    pub(crate) fn row<I>(mut self, cells: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for row in &self.rows {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        widths
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
            if number == 0 {
                let rules: Vec<_> = widths.iter().map(|&width| "─".repeat(width)).collect();
                writeln!(f, "{}", rules.join("──"))?;
            }
        }
        Ok(())
    }
}
