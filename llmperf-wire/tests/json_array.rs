//! The rules of a growing array, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::framing::{Frame, JsonArray};

fn render(frame: Frame<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let tail = |unterminated| if unterminated { " (unterminated)" } else { "" };
    match frame {
        Frame::Event { name: [], data, unterminated } => format!("{}{}", text(data), tail(unterminated)),
        Frame::Bare { data, unterminated } => format!("bare {}{}", text(data), tail(unterminated)),
        Frame::Oversized => "oversized".to_owned(),
        Frame::End => "end".to_owned(),
        Frame::Broken => "broken".to_owned(),
        other => format!("{other:?}"),
    }
}

fn parse(make: impl Fn() -> JsonArray, reads: &[&[u8]]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut array = make();
    for read in reads {
        array.push(read, |frame| seen.push(render(frame)));
    }
    array.finish(|frame| seen.push(render(frame)));
    assert_eq!(array.held(), 0);
    seen
}

/// Parses `stream` whole, byte by byte and in two parts at every place, and asserts that it makes no difference.
fn assert_frames_with(make: impl Fn() -> JsonArray + Copy, stream: &str, expected: &[&str]) {
    let bytes = stream.as_bytes();
    assert_eq!(parse(make, &[bytes]), expected, "whole: {stream:?}");
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(parse(make, &single), expected, "byte by byte: {stream:?}");
    for cut in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(parse(make, &[head, tail]), expected, "cut at {cut}: {stream:?}");
    }
}

fn assert_frames(stream: &str, expected: &[&str]) {
    assert_frames_with(JsonArray::new, stream, expected);
}

#[test]
fn elements_are_parted_by_commas_and_any_white_space() {
    assert_frames("[{\"a\":1},{\"b\":2}]", &["{\"a\":1}", "{\"b\":2}", "end"]);
    assert_frames("[{\"a\":1}\r\n,\r\n{\"b\":2}\r\n]\r\n", &["{\"a\":1}", "{\"b\":2}", "end"]);
    assert_frames(" \n[\t{\"a\":1} , \n\n {\"b\":2}\n ]", &["{\"a\":1}", "{\"b\":2}", "end"]);
    assert_frames("[]", &["end"]);
    assert_frames("[ \n ]", &["end"]);
}

#[test]
fn an_element_is_given_as_it_is_written() {
    assert_frames("[{\n  \"a\": [\n    1,\n    2\n  ]\n}\n]", &["{\n  \"a\": [\n    1,\n    2\n  ]\n}", "end"]);
}

#[test]
fn an_element_is_given_at_its_last_byte() {
    let mut seen = Vec::new();
    JsonArray::new().push(b"[{\"a\":{}},{\"b\":{}", |frame| seen.push(render(frame)));
    assert_eq!(seen, ["{\"a\":{}}"]);
}

#[test]
fn brackets_and_commas_in_strings_part_nothing() {
    assert_frames(r#"[{"a":"}],{["},{"b":","}]"#, &[r#"{"a":"}],{["}"#, r#"{"b":","}"#, "end"]);
}

#[test]
fn escapes_in_strings_are_passed_over() {
    assert_frames(
        r#"[{"a":"\"}"},{"b":"\\"},{"c":"\\\"]"}]"#,
        &[r#"{"a":"\"}"}"#, r#"{"b":"\\"}"#, r#"{"c":"\\\"]"}"#, "end"],
    );
    assert_frames(r#"[{"\u007d\n":"\\\\\\"},{}]"#, &[r#"{"\u007d\n":"\\\\\\"}"#, "{}", "end"]);
}

#[test]
fn elements_may_be_nested_and_of_any_type() {
    assert_frames("[[1,[2,{}]],{\"a\":[[]]}]", &["[1,[2,{}]]", "{\"a\":[[]]}", "end"]);
    assert_frames("[1,null , \"a,]\",true]", &["1", "null", "\"a,]\"", "true", "end"]);
    assert_frames("[\"a\"\"b\"{}{}]", &["\"a\"", "\"b\"", "{}", "{}", "end"]);
}

#[test]
fn what_follows_the_array_is_ignored() {
    assert_frames("[{}]garbage [{\"a\":1}] {", &["{}", "end"]);
}

#[test]
fn an_array_that_is_not_closed_has_no_end() {
    assert_frames("[{\"a\":1}", &["{\"a\":1}"]);
    assert_frames("[{\"a\":1},", &["{\"a\":1}"]);
    assert_frames("[", &[]);
    assert_frames("", &[]);
}

#[test]
fn an_element_without_its_end_is_flushed_and_flagged() {
    assert_frames("[{\"a\":1},{\"b\":\"}", &["{\"a\":1}", "{\"b\":\"} (unterminated)"]);
    assert_frames("[12", &["12 (unterminated)"]);
}

#[test]
fn an_object_in_place_of_the_array_is_bare() {
    assert_frames("{\n \"error\": {\"code\": 400}\n}\n", &["bare {\n \"error\": {\"code\": 400}\n}"]);
    assert_frames("{\"error\":", &["bare {\"error\": (unterminated)"]);
    assert_frames("{} {}\n[1]", &["bare {}", "bare {}", "1", "end"]);
}

#[test]
fn what_is_no_array_is_broken_once() {
    for stream in ["data: {}\n\ndata: {}\n\n", "<html>[1]</html>", "\u{1f}\u{8b}[", "\"[]\"", "]", "  x"] {
        assert_frames(stream, &["broken"]);
    }
}

#[test]
fn brackets_that_do_not_match_are_the_readers_business() {
    assert_frames("[{\"a\":1],{}]", &["{\"a\":1]", "{}", "end"]);
    assert_frames("[},{}]", &["}", "{}", "end"]);
}

#[test]
fn an_element_above_the_limit_is_dropped_and_the_next_one_is_whole() {
    let small = || JsonArray::new().limit(8);
    assert_frames_with(small, "[{\"a\":12},{\"a\":123},{\"b\":1}]", &["{\"a\":12}", "oversized", "{\"b\":1}", "end"]);
    assert_frames_with(small, r#"[{"a":"]},\"{\\"},[1]]"#, &["oversized", "[1]", "end"]);
    assert_frames_with(small, "[123456789,1]", &["oversized", "1", "end"]);
    assert_frames_with(small, "[[[[[[[[[[[[", &["oversized"]);
    assert_frames_with(small, "{\"error\":1}", &["oversized"]);
}

#[test]
fn never_more_is_held_than_the_limit() {
    let mut array = JsonArray::new().limit(16);
    array.push(b"[", |_| {});
    for read in [&b"[[{\"a\""[..], b"\\\\\"", b" 1 2 "].into_iter().cycle().take(1_000) {
        array.push(read, |_| {});
        assert!(array.held() <= 16);
    }
}

#[test]
fn a_parser_is_ready_for_another_stream_after_the_end_of_one() {
    let mut seen = Vec::new();
    let mut array = JsonArray::new().limit(16);
    for stream in ["[{\"a\":\"\\", "no array", "[[[[[[[[[[[[[[[[[[[[", "{\"b\"", "[{}]", "[1]"] {
        array.push(stream.as_bytes(), |frame| seen.push(render(frame)));
        array.finish(|frame| seen.push(render(frame)));
    }
    let expected = ["{\"a\":\"\\ (unterminated)", "broken", "oversized", "bare {\"b\" (unterminated)"];
    assert_eq!(seen[..4], expected);
    assert_eq!(seen[4..], ["{}", "end", "1", "end"]);
}
