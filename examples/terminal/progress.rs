//! Progress: a bar that redraws itself in a terminal, one line per tenth anywhere else.

use std::io::{self, IsTerminal as _, Write};

const WIDTH: usize = 40;

/// How far the calls have come; writes to `W` whenever there is something to show.
#[derive(Debug)]
pub(crate) struct Progress<W> {
    out: W,
    live: bool,
    total: usize,
    done: usize,
    note: String,
}

impl Progress<io::Stdout> {
    /// On standard output, redrawn in place if that is a terminal.
    pub(crate) fn stdout(total: usize) -> Self {
        let out = io::stdout();
        let live = out.is_terminal();
        Self::new(out, live, total)
    }
}

impl<W: Write> Progress<W> {
    /// `live` redraws one line in place; else only tenths are written, each on a line of its own.
    pub(crate) fn new(out: W, live: bool, total: usize) -> Self {
        Self { out, live, total, done: 0, note: String::new() }
    }

    /// One more is done; `note` stands behind the bar.
    pub(crate) fn advance(&mut self, note: impl Into<String>) -> io::Result<()> {
        let tenths = self.tenths();
        self.done = (self.done + 1).min(self.total);
        self.note = note.into();
        if self.live {
            write!(self.out, "\r\x1b[2K{}", self.line())?;
            self.out.flush()
        } else if self.tenths() > tenths {
            writeln!(self.out, "{}", self.line())
        } else {
            Ok(())
        }
    }

    /// Leaves the bar as it is and goes to the next line.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if self.live {
            writeln!(self.out)?;
        }
        Ok(self.out)
    }

    fn line(&self) -> String {
        let total = self.total.max(1);
        let full = self.done * WIDTH / total;
        let (full, rest) = ("━".repeat(full), "╌".repeat(WIDTH - full));
        let line = format!("{full}{rest} {}/{}  {}", self.done, self.total, self.note);
        line.trim_end().to_owned()
    }

    fn tenths(&self) -> usize {
        self.done * 10 / self.total.max(1)
    }
}
