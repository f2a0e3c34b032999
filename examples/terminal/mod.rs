//! What the examples draw in a terminal: tables, bars, distributions, plots over time, waterfalls, a progress bar. All pure but the last.

/// As `println!`, but a reader that has seen enough (`| head`) is no reason to panic.
#[allow(unused_macros, reason = "each user of the shared parts needs some of them")]
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _enough = writeln!(std::io::stdout(), $($words)*);
    }};
}

mod bars;
mod distribution;
mod progress;
mod table;
mod timeline;
mod units;
mod waterfall;

pub(crate) use bars::bars;
pub(crate) use distribution::distribution;
pub(crate) use progress::Progress;
pub(crate) use say;
pub(crate) use table::Table;
pub(crate) use timeline::{Axis, lanes, timeline};
pub(crate) use units::{duration, seconds};
pub(crate) use waterfall::{Bar, waterfall};
