//! The framing rules of server-sent events, one test each, and our departures from them.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::framing::{Frame, Sse};

/// One line per frame: `[name] data` for an event, `: text`, `name= value`, `{ data` for the others.
fn render(frame: Frame<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\n', "⏎");
    let tail = |unterminated| if unterminated { " (unterminated)" } else { "" };
    match frame {
        Frame::Event { name, data, unterminated } => format!("[{}] {}{}", text(name), text(data), tail(unterminated)),
        Frame::Comment(comment) => format!(": {}", text(comment)),
        Frame::Field { name, value } => format!("{name}= {}", text(value)),
        Frame::Bare { data, unterminated } => format!("bare {}{}", text(data), tail(unterminated)),
        Frame::Oversized => "oversized".to_owned(),
        other => format!("{other:?}"),
    }
}

fn parse_with(make: impl Fn() -> Sse, reads: &[&[u8]]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut sse = make();
    for read in reads {
        sse.push(read, |frame| seen.push(render(frame)));
    }
    sse.finish(|frame| seen.push(render(frame)));
    seen
}

/// Parses `stream` whole, byte by byte and in two parts at every place, and asserts that it makes no difference.
fn assert_frames_with(make: impl Fn() -> Sse + Copy, stream: &[u8], expected: &[&str]) {
    let shown = String::from_utf8_lossy(stream);
    assert_eq!(parse_with(make, &[stream]), expected, "whole: {shown:?}");
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(parse_with(make, &bytes), expected, "byte by byte: {shown:?}");
    for cut in 0..=stream.len() {
        let (head, tail) = stream.split_at(cut);
        assert_eq!(parse_with(make, &[head, tail]), expected, "cut at {cut}: {shown:?}");
    }
}

fn assert_frames(stream: &[u8], expected: &[&str]) {
    assert_frames_with(Sse::new, stream, expected);
}

fn asking() -> Sse {
    Sse::new().fields(&["error"]).bare_json(true)
}

#[test]
fn lines_end_at_lf_cr_and_crlf_mixed_freely() {
    let expected = &["[] a⏎b", "[] c", "[] d"];
    assert_frames(b"data: a\ndata: b\n\ndata: c\n\ndata: d\n\n", expected);
    assert_frames(b"data: a\rdata: b\r\rdata: c\r\rdata: d\r\r", expected);
    assert_frames(b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\ndata: d\r\n\r\n", expected);
    assert_frames(b"data: a\rdata: b\n\r\ndata: c\r\n\rdata: d\n\r", expected);
}

#[test]
fn lf_after_cr_at_the_end_of_a_read_is_not_an_empty_line() {
    let seen = parse_with(Sse::new, &[b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n"]);
    assert_eq!(seen, ["[] a⏎b"]);
}

#[test]
fn an_event_is_delivered_at_the_cr_of_its_empty_line_without_waiting_for_an_lf() {
    let mut seen = Vec::new();
    Sse::new().push(b"data: a\r\r", |frame| seen.push(render(frame)));
    assert_eq!(seen, ["[] a"]);
}

#[test]
fn unicode_line_ends_and_other_controls_are_no_line_ends() {
    assert_frames(
        "data: a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\n\n".as_bytes(),
        &["[] a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f"],
    );
}

#[test]
fn one_byte_order_mark_is_skipped_at_the_very_beginning_only() {
    assert_frames(b"\xEF\xBB\xBFdata: a\n\n", &["[] a"]);
    assert_frames(b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\ndata: b\n\n", &["[] b"]);
    assert_frames(b"data: a\n\n\xEF\xBB\xBFdata: b\n\ndata: c\n\n", &["[] a", "[] c"]);
    assert_frames(b"\xEF\xBB\xBF\ndata: a\n\n", &["[] a"]);
    assert_frames(b"\xEF\xBBdata: a\n\ndata: b\n\n", &["[] b"]);
}

#[test]
fn exactly_one_blank_after_the_colon_is_removed() {
    assert_frames(b"data:a\ndata: b\ndata:  c\ndata:\td\ndata: e \n\n", &["[] a⏎b⏎ c⏎\td⏎e "]);
}

#[test]
fn a_field_without_a_colon_has_an_empty_value() {
    assert_frames(b"data\n\ndata\ndata\n\ndata:test\n\n", &["[] ", "[] ⏎", "[] test"]);
    assert_frames(b"event: x\nevent\ndata: a\n\n", &["[] a"]);
}

#[test]
fn empty_data_is_an_event_and_no_data_is_none() {
    assert_frames(b"data:\n\n", &["[] "]);
    assert_frames(b"\n\n\n", &[]);
    assert_frames(b"event: x\nid: 1\n\n", &[]);
}

#[test]
fn the_event_name_is_that_of_its_last_event_field_and_lasts_for_one_event() {
    assert_frames(b"event: a\nevent: b\ndata: x\n\ndata: y\n\n", &["[b] x", "[] y"]);
    assert_frames(b"event: a\n\ndata: y\n\n", &["[] y"]);
    assert_frames(b"data: x\nevent: late\n\n", &["[late] x"]);
}

#[test]
fn field_names_are_exact() {
    assert_frames(b"Data: a\ndata : b\n data: c\ndatax: d\ndata\0: e\ndata: f\n\n", &["[] f"]);
}

#[test]
fn id_retry_and_unknown_fields_change_nothing() {
    assert_frames(b"id: 1\nretry: 10\nfoo: bar\nbaz\ndata: a\nid: 2\0\n\n", &["[] a"]);
}

#[test]
fn comments_are_reported_and_do_not_part_an_event() {
    assert_frames(
        b": OPENROUTER PROCESSING\n\n:\ndata: a\n:x: y\ndata: b\n\n",
        &[": OPENROUTER PROCESSING", ": ", ": x: y", "[] a⏎b"],
    );
}

#[test]
fn an_unterminated_last_event_is_flushed_and_flagged() {
    assert_frames(b"data: a\n\ndata: b\n", &["[] a", "[] b (unterminated)"]);
    assert_frames(b"data: a\n\ndata: b", &["[] a", "[] b (unterminated)"]);
    assert_frames(b"data: a\r", &["[] a (unterminated)"]);
    assert_frames(b"event: error\ndata: a\r\ndata: b", &["[error] a⏎b (unterminated)"]);
    assert_frames(b"data: a\n\nda", &["[] a"]);
    assert_frames(b"event: x", &[]);
}

#[test]
fn invalid_utf8_and_nul_pass_through_as_they_are() {
    let mut seen = Vec::new();
    Sse::new().push(b"data: \xFF\xC3\0\n\n", |frame| {
        if let Frame::Event { data, .. } = frame {
            seen.push(data.to_vec());
        }
    });
    assert_eq!(seen, [b"\xFF\xC3\0"]);
}

#[test]
fn fields_that_the_rules_ignore_are_reported_when_asked_for() {
    let stream = b"data: a\n\nerror: {\"x\":1}\n\nwarning: b\n";
    assert_frames_with(asking, stream, &["[] a", "error= {\"x\":1}"]);
    assert_frames(stream, &["[] a"]);
}

#[test]
fn bare_json_is_reported_when_asked_for() {
    let stream = b"data: a\n\n{\"error\":\"x\"}\n";
    assert_frames_with(asking, stream, &["[] a", "bare {\"error\":\"x\"}"]);
    assert_frames(stream, &["[] a"]);
}

#[test]
fn a_bare_object_on_one_line_is_reported_at_its_line_end() {
    let mut seen = Vec::new();
    asking().push(b"{\"error\":\"x\"} \n", |frame| seen.push(render(frame)));
    assert_eq!(seen, ["bare {\"error\":\"x\"} "]);
}

#[test]
fn a_bare_object_may_take_several_lines() {
    assert_frames_with(
        asking,
        b"data: a\n\n{\n  \"error\": {\n    \"code\": 499\n  }\n}\ndata: b\n\n",
        &["[] a", "bare {⏎  \"error\": {⏎    \"code\": 499⏎  }⏎}", "[] b"],
    );
}

#[test]
fn an_event_without_its_empty_line_is_not_lost_before_a_bare_object() {
    assert_frames_with(asking, b"data: a\n{\"error\":1}\n", &["[] a", "bare {\"error\":1}"]);
}

#[test]
fn a_bare_object_without_its_end_is_closed_by_the_next_event_or_the_end_of_the_stream() {
    assert_frames_with(asking, b"{\n\"a\":1\ndata: b\n\n", &["bare {⏎\"a\":1", "[] b"]);
    assert_frames_with(asking, b"{\n\"a\":1\nevent: e\ndata: b\n\n", &["bare {⏎\"a\":1", "[e] b"]);
    assert_frames_with(asking, b"{\"a\"", &["bare {\"a\" (unterminated)"]);
}

#[test]
fn an_event_above_the_limit_is_dropped_and_the_next_one_is_whole() {
    let small = || Sse::new().limit(16);
    assert_frames_with(small, b"data: 0123456789abcdef\n\ndata: b\n\n", &["oversized", "[] b"]);
    assert_frames_with(small, b"data: 01234\ndata: 56789\ndata: x\n\ndata: b\n\n", &["oversized", "[] b"]);
    assert_frames_with(
        small,
        b"data: a\n\n: 0123456789abcdef\ndata: gone\n\ndata: b\n\n",
        &["[] a", "oversized", "[] b"],
    );
    assert_frames_with(small, b"event: 0123456789abcdef\r\ndata: gone\r\n\r\ndata: b\r\n\r\n", &["oversized", "[] b"]);
    assert_frames_with(small, b"data: 0123456789abcdef", &["oversized"]);
}

#[test]
fn an_event_of_exactly_the_limit_passes() {
    let small = || Sse::new().limit(16);
    assert_frames_with(small, b"data: 012345678\n\n", &["[] 012345678"]);
    assert_frames_with(small, b"data: 0123456789\n\n", &["oversized"]);
}

#[test]
fn a_parser_is_ready_for_another_stream_after_the_end_of_one() {
    let mut seen = Vec::new();
    let mut sse = Sse::new().limit(16);
    for stream in [b"data: 0123456789abcdef".as_slice(), b"\xEF\xBB\xBFdata: a\r", b"\n\ndata: b\n\n"] {
        sse.push(stream, |frame| seen.push(render(frame)));
        sse.finish(|frame| seen.push(render(frame)));
    }
    assert_eq!(seen, ["oversized", "[] a (unterminated)", "[] b"]);
    assert_eq!(sse.held(), 0);
}
