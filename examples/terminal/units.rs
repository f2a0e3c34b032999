//! Times for people: three figures and a unit.

use std::time::Duration;

/// `850 µs`, `16.4 ms`, `1.25 s`.
pub(crate) fn duration(time: Duration) -> String {
    seconds(time.as_secs_f64())
}

/// As [`duration`], for seconds that may be negative.
pub(crate) fn seconds(time: f64) -> String {
    let size = time.abs();
    let (value, unit) = if size >= 0.999_5 {
        (time, "s")
    } else if size >= 0.000_999_5 {
        (time * 1e3, "ms")
    } else {
        (time * 1e6, "µs")
    };
    let decimals = match value.abs() {
        0.05..9.995 => 2,
        9.995..99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}
