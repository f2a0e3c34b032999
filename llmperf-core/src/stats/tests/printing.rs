//! The table that people see.

use super::{super::*, MILLISECOND, SECOND};
use crate::Outcome;

fn measured() -> Snapshot {
    let registry = Registry::new(0);
    let calls = registry.series(SeriesKind::Call, "openai", "gpt-4o-mini");
    for number in 1..=200 {
        let outcome = match number {
            50 => Outcome::Error,
            100 => Outcome::Interrupted,
            150 => Outcome::Cancelled,
            _ => Outcome::Complete,
        };
        let (duration, first_token) = (number * 20 * MILLISECOND, number * 2 * MILLISECOND);
        let figures = [
            (Figure::Duration, duration),
            (Figure::TimeToFirstToken, first_token),
            (Figure::OutputTokenRate, 40_000 + number * 100),
        ];
        let trace_id = if number == 199 { [0; 16] } else { [number as u8; 16] };
        let slow = SlowCall::new(duration, (number != 198).then_some(first_token), trace_id);
        calls.record(number * SECOND, figures, outcome, true, Some(slow));
        calls.record_many(number * SECOND, Figure::ChunkGap, &[number * 300_000, 950_000]);
    }
    let tool = registry.series(SeriesKind::Tool, "weather", "");
    tool.record(30 * SECOND, [(Figure::Duration, 9_996 * MILLISECOND)], Outcome::Complete, false, None);
    registry.snapshot(205 * SECOND)
}

#[test]
fn a_snapshot_prints_everything_since_start() {
    let expected = "\
measured since start (205 s)

openai / gpt-4o-mini
  200 calls, 58.5/min, 197 complete (98.5 %), 1 error (0.5 %), 1 interrupted (0.5 %), 1 cancelled
                            count      mean       P50       P95       P99       max
  duration                    200    2.01 s    2.01 s    3.80 s    3.96 s    4.00 s
  time to first token         200    201 ms    201 ms    381 ms    397 ms    400 ms
  chunk gap                   400   15.5 ms    951 µs   54.0 ms   58.9 ms   60.0 ms
  output token rate           200    50.0/s    50.2/s    59.1/s    59.9/s    60.0/s
  slow: 4.00 s, first token 400 ms, trace c8c8c8c8c8c8c8c8c8c8c8c8c8c8c8c8
  slow: 3.98 s, first token 398 ms
  slow: 3.96 s, trace c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6
  slow: 3.94 s, first token 394 ms, trace c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5
  slow: 3.92 s, first token 392 ms, trace c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4

tool weather
  1 call, 17.6/h, 1 complete (100.0 %)
                            count      mean       P50       P95       P99       max
  duration                      1    10.0 s    10.0 s    10.0 s    10.0 s    10.0 s
";
    assert_eq!(measured().to_string(), expected);
}

#[test]
fn an_amount_has_two_digits_however_small_it_is() {
    for (micros, expected) in
        [(31, "$0.000031"), (420, "$0.00042"), (4_200, "$0.0042"), (42_000, "$0.042"), (1_230_000, "$1.23")]
    {
        let registry = Registry::new(0);
        let calls = registry.series(SeriesKind::Call, "openai", "gpt-4o-mini");
        calls.record(SECOND, [(Figure::Cost, micros)], Outcome::Complete, false, None);
        let table = registry.snapshot(2 * SECOND).to_string();
        assert!(table.contains(&format!(" {expected} ")), "{expected} is not in\n{table}");
    }
}

#[test]
fn a_table_prints_the_window_that_was_asked_for() {
    let expected = "\
measured in the last minute (55.0 s)

openai / gpt-4o-mini
  51 calls, 55.6/min, 50 complete (98.0 %), 1 cancelled
                            count      mean       P50       P95       P99       max
  duration                     51    3.50 s    3.51 s    3.96 s    4.00 s    4.00 s
  time to first token          51    350 ms    350 ms    397 ms    400 ms    400 ms
  chunk gap                   102   26.7 ms    951 µs   58.6 ms   59.9 ms   60.0 ms
  output token rate            51    57.5/s    57.6/s    59.9/s    60.0/s    60.0/s
  slow: 4.00 s, first token 400 ms, trace c8c8c8c8c8c8c8c8c8c8c8c8c8c8c8c8
  slow: 3.98 s, first token 398 ms
  slow: 3.96 s, trace c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6
  slow: 3.94 s, first token 394 ms, trace c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5
  slow: 3.92 s, first token 392 ms, trace c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4c4
";
    assert_eq!(measured().table(Window::OneMinute).to_string(), expected);
}

#[test]
fn nothing_measured_says_so() {
    assert_eq!(Snapshot::default().to_string(), "nothing measured since start\n");
    assert_eq!(Snapshot::default().table(Window::OneHour).to_string(), "nothing measured in the last hour\n");
}
