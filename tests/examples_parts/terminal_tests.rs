//! The renderers draw what they are given, to the character.

use std::time::Duration;

use crate::terminal::{Axis, Bar, Progress, Table, bars, distribution, duration, lanes, seconds, timeline, waterfall};

#[test]
fn times_have_three_figures_and_a_unit() {
    assert_eq!(duration(Duration::ZERO), "0 µs");
    assert_eq!(duration(Duration::from_nanos(850)), "0.85 µs");
    assert_eq!(duration(Duration::from_micros(999)), "999 µs");
    assert_eq!(duration(Duration::from_nanos(999_600)), "1.00 ms");
    assert_eq!(duration(Duration::from_micros(16_449)), "16.4 ms");
    assert_eq!(duration(Duration::from_millis(184)), "184 ms");
    assert_eq!(duration(Duration::from_micros(999_600)), "1.00 s");
    assert_eq!(duration(Duration::from_secs(75)), "75.0 s");
    assert_eq!(seconds(-0.001_25), "-1.25 ms");
}

#[test]
fn table_columns_align() {
    let table = Table::new(["mark", "P50", "worst"]).row(["TTFT", "184 ms", "1.25 s"]).row(["gap µ", "9 ms"]);
    let expected = "\
mark      P50   worst
─────────────────────
TTFT   184 ms  1.25 s
gap µ    9 ms
";
    assert_eq!(table.to_string(), expected);
}

#[test]
fn bars_are_as_long_as_their_counts() {
    let drawn = bars(&[("complete", 80), ("error", 15), ("cancelled", 0), ("interrupted", 1)], 16);
    let expected = "\
complete     80   83.3 %  ████████████████
error        15   15.6 %  ███
cancelled     0    0.0 %
interrupted   1    1.0 %  ▏
";
    assert_eq!(drawn, expected);
}

#[test]
fn bars_of_nothing_stay_empty() {
    assert_eq!(bars(&[("none", 0)], 8), "none  0    0.0 %\n");
    assert_eq!(bars::<&str>(&[], 8), "");
}

#[test]
fn distribution_has_a_logarithmic_axis_and_marked_quantiles() {
    // 1 ms … 10 s is four decades: ten columns each.
    let mut times = vec![0.01; 50];
    times.extend([0.1; 25]);
    times.extend([1.0; 21]);
    times.extend([3.0; 3]);
    times.extend([0.001, 10.0]);
    let drawn = distribution("TTFT", &times, 40, 2);
    let expected = "\
TTFT (101, logarithmic axis): P50 10.0 ms · P95 1.00 s · P99 3.00 s
          █
▁         █         █        ▆    ▁    ▁
──────────┴──────────────────┴────┴─────
          P50                P95  P99
1.00 ms                           10.0 s
";
    assert_eq!(drawn, expected);
}

#[test]
fn distribution_copes_with_one_value_none_and_nonsense() {
    assert_eq!(distribution("gaps", &[], 20, 3), "gaps: no values\n");
    assert_eq!(distribution("gaps", &[f64::NAN, -1.0, 0.0], 20, 3), "gaps: no values\n");
    let one = distribution("gaps", &[0.5], 20, 1);
    let expected = "\
gaps (1, logarithmic axis): P50 500 ms · P95 500 ms · P99 500 ms
          █
──────────┴─────────
          P50
          P95
          P99
500 ms        500 ms
";
    assert_eq!(one, expected);
}

#[test]
fn progress_writes_tenths_where_it_cannot_redraw() {
    let mut progress = Progress::new(Vec::new(), false, 20);
    for call in 1..=20 {
        progress.advance(format!("call {call}")).unwrap();
    }
    let written = String::from_utf8(progress.finish().unwrap()).unwrap();
    let lines: Vec<_> = written.lines().collect();
    assert_eq!(lines.len(), 10);
    assert_eq!(lines[0], format!("{}{} 2/20  call 2", "━".repeat(4), "╌".repeat(36)));
    assert_eq!(lines[9], format!("{} 20/20  call 20", "━".repeat(40)));
}

#[test]
fn progress_redraws_in_a_terminal_and_ends_its_line() {
    let mut progress = Progress::new(Vec::new(), true, 2);
    progress.advance("").unwrap();
    progress.advance("done").unwrap();
    let written = String::from_utf8(progress.finish().unwrap()).unwrap();
    let half = format!("\r\x1b[2K{}{} 1/2", "━".repeat(20), "╌".repeat(20));
    let whole = format!("\r\x1b[2K{} 2/2  done\n", "━".repeat(40));
    assert_eq!(written, half + &whole);
}

#[test]
fn a_timeline_holds_its_last_value_and_takes_the_mean_of_a_column() {
    let axis = Axis { from: 0.0, to: 8.0, width: 8 };
    let points = [(0.0, 100.0), (2.0, 50.0), (2.5, 100.0), (5.0, 0.0), (7.0, 200.0)];
    let drawn = timeline("power", " W", &points, axis, 2, 200.0);
    let expected = "\
power (up to 200 W)
       █
██▆▆▆  █
";
    assert_eq!(drawn, expected);
}

#[test]
fn spans_that_overlap_have_lanes_of_their_own() {
    let axis = Axis { from: 10.0, to: 20.0, width: 10 };
    let drawn = lanes("calls", &[(12.0, 16.0), (10.0, 13.0), (17.0, 19.5)], axis);
    let expected = "\
calls
╺━━━   ╺━━
  ╺━━━━
";
    assert_eq!(drawn, expected);
}

#[test]
fn a_waterfall_shows_what_lies_where_and_how_long_it_was() {
    let bar = |name: &str, from, to| Bar { name: name.into(), from, to };
    let bars = [bar("all", 1.0, 3.0), bar("  first", 1.0, 2.0), bar("  second", 2.0, 2.0), bar("  last", 3.0, 3.0)];
    let expected = "\
all         2.00 s  ████████
  first     1.00 s  ████
  second      0 µs      █
  last        0 µs         █
";
    assert_eq!(waterfall(&bars, 8), expected);
    assert_eq!(waterfall(&[], 8), "");
}
