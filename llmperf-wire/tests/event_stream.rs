//! The rules of the binary event stream, one test each: lengths, checks, headers, cuts.
#![allow(clippy::unwrap_used, reason = "tests")]

mod messages;

use llmperf_wire::framing::{EventStream, Frame};
use messages::{event, message, sealed, text_header};

fn render(frame: Frame<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let tail = |unterminated| if unterminated { " (unterminated)" } else { "" };
    match frame {
        Frame::Event { name, data, unterminated } => format!("[{}] {}{}", text(name), text(data), tail(unterminated)),
        Frame::Exception { name, message, data, unterminated } => {
            format!("failed [{}] {} {}{}", text(name), text(message), text(data), tail(unterminated))
        }
        Frame::Oversized => "oversized".to_owned(),
        Frame::Broken => "broken".to_owned(),
        other => format!("{other:?}"),
    }
}

fn parse(make: impl Fn() -> EventStream, reads: &[&[u8]]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut messages = make();
    for read in reads {
        messages.push(read, |frame| seen.push(render(frame)));
    }
    messages.finish(|frame| seen.push(render(frame)));
    assert_eq!(messages.held(), 0);
    seen
}

/// Parses `stream` whole, byte by byte and in two parts at every place, and asserts that it makes no difference.
fn assert_frames_with(make: impl Fn() -> EventStream + Copy, stream: &[u8], expected: &[&str]) {
    assert_eq!(parse(make, &[stream]), expected, "whole");
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(parse(make, &bytes), expected, "byte by byte");
    for cut in 0..=stream.len() {
        let (head, tail) = stream.split_at(cut);
        assert_eq!(parse(make, &[head, tail]), expected, "cut at {cut}");
    }
}

fn assert_frames(stream: &[u8], expected: &[&str]) {
    assert_frames_with(EventStream::new, stream, expected);
}

#[test]
fn messages_follow_each_other_without_anything_between() {
    let stream = [event("a", "{\"n\":1}"), event("b", ""), event("c", "x\ny")].concat();
    assert_frames(&stream, &["[a] {\"n\":1}", "[b] ", "[c] x\ny"]);
    assert_frames(b"", &[]);
}

#[test]
fn a_message_is_given_at_its_last_byte() {
    let stream = event("a", "1");
    let (head, last) = stream.split_at(stream.len() - 1);
    let mut seen = Vec::new();
    let mut messages = EventStream::new();
    messages.push(head, |frame| seen.push(render(frame)));
    assert_eq!((seen.len(), messages.held()), (0, head.len()));
    messages.push(last, |frame| seen.push(render(frame)));
    assert_eq!(seen, ["[a] 1"]);
}

#[test]
fn every_type_of_header_is_passed_over_by_its_own_length() {
    let values: [(u8, &[u8]); 10] = [
        (0, b""),
        (1, b""),
        (2, b"\x01"),
        (3, b"\x01\x02"),
        (4, b"\x01\x02\x03\x04"),
        (5, b"\x01\x02\x03\x04\x05\x06\x07\x08"),
        (6, b"\0\x03\x00\xff\x07"),
        (7, b"\0\x02hi"),
        (8, b"\0\0\x01\x92\0\0\0\0"),
        (9, b"0123456789abcdef"),
    ];
    let header = |(kind, value): (u8, &[u8])| [b"\x02:x", [kind].as_slice(), value].concat();
    for value in values {
        let headers = [header(value), text_header(":event-type", "a")].concat();
        assert_frames(&message(&headers, b"1"), &["[a] 1"]);
    }
    let all: Vec<u8> = values.into_iter().flat_map(header).chain(text_header(":event-type", "a")).collect();
    assert_frames(&message(&all, b"1"), &["[a] 1"]);
}

#[test]
fn a_name_that_is_no_string_is_none() {
    assert_frames(&message(b"\x0b:event-type\x06\0\x01a", b"1"), &["[] 1"]);
    assert_frames(&message(b"", b"1"), &["[] 1"]);
    assert_frames(&message(b"", b""), &["[] "]);
}

#[test]
fn exceptions_and_errors_are_told_from_events() {
    let exception =
        [text_header(":message-type", "exception"), text_header(":exception-type", "throttlingException")].concat();
    assert_frames(&message(&exception, b"{\"message\":\"m\"}"), &["failed [throttlingException]  {\"message\":\"m\"}"]);
    let error = [
        text_header(":error-code", "InternalError"),
        text_header(":error-message", "gone"),
        text_header(":message-type", "error"),
    ]
    .concat();
    assert_frames(&message(&error, b""), &["failed [InternalError] gone "]);
}

#[test]
fn a_flip_of_any_bit_is_found_and_nothing_is_read_from_there_on() {
    let flipped = event("a", "{\"n\":1}");
    let stream = [event("first", "1"), flipped.clone(), event("last", "2")].concat();
    let start = stream.len() - flipped.len() - event("last", "2").len();
    for place in start..start + flipped.len() {
        for bit in 0..8 {
            let mut stream = stream.clone();
            stream[place] ^= 1 << bit;
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            for reads in [&[&stream[..]][..], &bytes] {
                assert_eq!(parse(EventStream::new, reads), ["[first] 1", "broken"], "bit {bit} of byte {place}");
            }
        }
    }
}

#[test]
fn lengths_that_make_no_sense_break_the_stream_even_if_the_check_holds() {
    for (length, headers) in [(0, 0), (15, 0), (16, 1), (20, 5), (40, u32::MAX), (0, u32::MAX), (16, u32::MAX - 15)] {
        let mut stream = sealed(length, headers, b"");
        stream.extend(event("next", "1"));
        assert_frames(&stream, &["broken"]);
    }
}

#[test]
fn headers_that_make_no_sense_break_the_stream() {
    for headers in [
        &b"\x05:a"[..],           // the name passes the headers
        b"\x02:a",                // no type
        b"\x02:a\x0a",            // no such type
        b"\x02:a\x07\0",          // no whole length
        b"\x02:a\x07\0\x04abc",   // the string passes the headers
        b"\x02:a\x05\0\0\0\0",    // no whole integer
        b"\x02:a\x09\0\0\0\0\0",  // no whole UUID
        b"\x02:a\x07\xff\xffabc", // the same, as long as can be
    ] {
        assert_frames(&[message(headers, b"1"), event("next", "1")].concat(), &["broken"]);
    }
}

#[test]
fn bytes_of_another_format_break_the_stream_once() {
    assert_frames(b"data: {\"choices\":[]}\n\ndata: [DONE]\n\n", &["broken"]);
    assert_frames(b"{\"message\":\"forbidden\"}", &["broken"]);
    assert_frames(&[0; 64], &["broken"]);
    assert_frames(b"short", &[]);
}

#[test]
fn a_message_above_the_limit_is_left_out_by_its_length_and_the_next_one_is_whole() {
    let small = event("a", "1");
    let exactly = event("b", "0123456789");
    let limit = exactly.len();
    let large = event("c", "0123456789a");
    let make = || EventStream::new().limit(limit);
    let stream = [&small, &large, &exactly, &event("d", &"x".repeat(300)), &small].map(Vec::as_slice).concat();
    assert_frames_with(make, &stream, &["[a] 1", "oversized", "[b] 0123456789", "oversized", "[a] 1"]);
}

#[test]
fn a_huge_length_is_waited_out_without_holding_anything() {
    let mut messages = EventStream::new();
    let mut seen = Vec::new();
    messages.push(&sealed(u32::MAX, 100, b""), |frame| seen.push(render(frame)));
    for _ in 0..1_000 {
        messages.push(&[0x5a; 4096], |frame| seen.push(render(frame)));
        assert_eq!(messages.held(), 0);
    }
    messages.finish(|frame| seen.push(render(frame)));
    assert_eq!(seen, ["oversized"]);
}

#[test]
fn never_more_is_held_than_the_limit() {
    let stream = [event("a", &"x".repeat(40)), event("b", &"y".repeat(400))].concat();
    let mut messages = EventStream::new().limit(128);
    for read in stream.chunks(3).cycle().take(1_000) {
        messages.push(read, |_| {});
        assert!(messages.held() <= 128);
    }
}

#[test]
fn a_message_that_the_end_cuts_behind_its_headers_is_flushed_and_flagged() {
    let stream = event("a", "{\"n\":1}");
    let without_check = &stream[..stream.len() - 4];
    assert_frames(without_check, &["[a] {\"n\":1} (unterminated)"]);
    assert_frames(&stream[..stream.len() - 1], &["[a] {\"n\":1} (unterminated)"]);
    assert_frames(&without_check[..without_check.len() - 2], &["[a] {\"n\": (unterminated)"]);
    assert_frames(&without_check[..without_check.len() - 7], &["[a]  (unterminated)"]);
    assert_frames(&without_check[..without_check.len() - 8], &[]);
    for end in 0..13 {
        assert_frames(&stream[..end], &[]);
    }
}

#[test]
fn a_parser_is_ready_for_another_stream_after_the_end_of_one() {
    let whole = event("a", "1");
    let mut seen = Vec::new();
    let mut messages = EventStream::new().limit(whole.len());
    let large = event("b", &"x".repeat(64));
    for stream in [&b"no event stream at all"[..], &whole, &whole[..9], &large[..30], &whole[..whole.len() - 2], &whole]
    {
        messages.push(stream, |frame| seen.push(render(frame)));
        messages.finish(|frame| seen.push(render(frame)));
    }
    assert_eq!(seen, ["broken", "[a] 1", "oversized", "[a] 1 (unterminated)", "[a] 1"]);
}
