//! The rules of lines as a framing, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::framing::{Frame, Lines};

fn render(frame: Frame<'_>) -> String {
    match frame {
        Frame::Event { name: [], data, unterminated } => {
            format!("{}{}", String::from_utf8_lossy(data), if unterminated { " (unterminated)" } else { "" })
        }
        Frame::Oversized => "oversized".to_owned(),
        other => format!("{other:?}"),
    }
}

fn parse(make: impl Fn() -> Lines, reads: &[&[u8]]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut lines = make();
    for read in reads {
        lines.push(read, |frame| seen.push(render(frame)));
    }
    lines.finish(|frame| seen.push(render(frame)));
    assert_eq!(lines.held(), 0);
    seen
}

/// Parses `stream` whole, byte by byte and in two parts at every place, and asserts that it makes no difference.
fn assert_frames_with(make: impl Fn() -> Lines + Copy, stream: &[u8], expected: &[&str]) {
    let shown = String::from_utf8_lossy(stream);
    assert_eq!(parse(make, &[stream]), expected, "whole: {shown:?}");
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(parse(make, &bytes), expected, "byte by byte: {shown:?}");
    for cut in 0..=stream.len() {
        let (head, tail) = stream.split_at(cut);
        assert_eq!(parse(make, &[head, tail]), expected, "cut at {cut}: {shown:?}");
    }
}

fn assert_frames(stream: &[u8], expected: &[&str]) {
    assert_frames_with(Lines::new, stream, expected);
}

#[test]
fn lines_end_at_lf_and_crlf() {
    assert_frames(b"{\"a\":1}\n{\"b\":2}\r\n{\"c\":3}\n", &["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
}

#[test]
fn a_cr_alone_ends_nothing() {
    assert_frames(b"a\rb\n\rc\r\r\n", &["a\rb", "\rc\r"]);
}

#[test]
fn blank_lines_are_skipped() {
    assert_frames(b"\n\r\n  \t\na\n\n\nb\n\n", &["a", "b"]);
    assert_frames(b" \n \r", &[]);
    assert_frames(b"", &[]);
}

#[test]
fn a_last_line_without_its_lf_is_flushed_and_flagged() {
    assert_frames(b"a\nb", &["a", "b (unterminated)"]);
    assert_frames(b"a\r", &["a (unterminated)"]);
}

#[test]
fn a_line_is_given_at_its_lf() {
    let mut seen = Vec::new();
    Lines::new().push(b"a\nb\nc", |frame| seen.push(render(frame)));
    assert_eq!(seen, ["a", "b"]);
}

#[test]
fn a_line_above_the_limit_is_dropped_and_the_next_one_is_whole() {
    let small = || Lines::new().limit(8);
    assert_frames_with(small, b"a\n123456789\nb\n", &["a", "oversized", "b"]);
    assert_frames_with(small, b"0123456789abcdef0123456789abcdef\r\nb\n", &["oversized", "b"]);
    assert_frames_with(small, b"123456789", &["oversized"]);
    assert_frames_with(small, b"12345678\n", &["12345678"]);
    assert_frames_with(small, b"1234567\r\n", &["1234567"]);
    assert_frames_with(small, b"12345678\r\nb", &["oversized", "b (unterminated)"]);
}

#[test]
fn never_more_is_held_than_the_limit() {
    let mut lines = Lines::new().limit(8);
    let mut oversized = 0;
    for _ in 0..100 {
        lines.push(b"abc", |frame| oversized += usize::from(frame == Frame::Oversized));
        assert!(lines.held() <= 8);
    }
    assert_eq!(oversized, 1);
}

#[test]
fn a_parser_is_ready_for_another_stream_after_the_end_of_one() {
    let mut seen = Vec::new();
    let mut lines = Lines::new().limit(8);
    for stream in [b"123456789".as_slice(), b"a", b"b\n"] {
        lines.push(stream, |frame| seen.push(render(frame)));
        lines.finish(|frame| seen.push(render(frame)));
    }
    assert_eq!(seen, ["oversized", "a (unterminated)", "b"]);
}
