//! What measuring costs, as ratios: against the bare stream, a clock read, and what one would write by hand.
//!
//! Absolute times mean little on a shared machine, so the contestants of a [race](ratio::Race) take turns in short
//! batches and only what ran side by side is compared. Criterion shows the same contestants one by one.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops where its set-up fails")]

mod by_hand;
mod call;
mod poll;
mod ratio;
mod scaling;
mod setup;

use std::time::Duration;

use criterion::Criterion;

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .configure_from_args();
    poll::race(&mut criterion);
    call::race(&mut criterion);
    scaling::race(&mut criterion);
    // Last: from here on a subscriber has been seen, and callsites ask for one.
    poll::race_tracing(&mut criterion);
    criterion.final_summary();
}
