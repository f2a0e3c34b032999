//! What the examples draw in a terminal: tables, bars, distributions, a progress bar. All pure but the last.

mod bars;
mod distribution;
mod progress;
mod table;
mod units;

pub(crate) use bars::bars;
pub(crate) use distribution::distribution;
pub(crate) use progress::Progress;
pub(crate) use table::Table;
pub(crate) use units::{duration, seconds};
