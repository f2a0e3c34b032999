//! The size that a value has once it is written.

use std::fmt::{self, Display, Write as _};

/// How many bytes `value` is when it is written; nothing is allocated for it.
pub(crate) fn size(value: &impl Display) -> usize {
    let mut counting = Counting(0);
    // Counting does not fail; what cannot be written has the size that it came to.
    let _ = write!(counting, "{value}");
    counting.0
}

struct Counting(usize);

impl fmt::Write for Counting {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.saturating_add(text.len());
        Ok(())
    }
}
