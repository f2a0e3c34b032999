//! Failures inside a stream that began well.

use super::*;

#[test]
fn an_error_is_named_by_code_then_type_then_status_then_number() {
    let error = |json: &str| payload(&format!(r#"{{"error":{json}}}"#), failure).unwrap().0;
    assert_eq!(
        error(r#"{"code":"tool_use_failed","type":"invalid_request_error","status":"X","status_code":400}"#),
        "tool_use_failed"
    );
    assert_eq!(error(r#"{"code":400,"type":"BadRequestError","status":"X"}"#), "BadRequestError");
    assert_eq!(error(r#"{"code":499,"status":"CANCELLED","message":"m"}"#), "CANCELLED");
    assert_eq!(error(r#"{"code":502,"message":"m"}"#), "502");
    assert_eq!(error(r#"{"message":"m","http_status_code":422}"#), "422");
    assert_eq!(error(r#"{"code":null,"type":"","message":"m"}"#), "_OTHER");
    assert_eq!(error("{}"), "_OTHER");
}

#[test]
fn an_error_may_be_a_string() {
    assert_eq!(payload(r#"{"error":"out of memory"}"#, failure), failed("_OTHER", "out of memory"));
    assert_eq!(payload(r#"{"error":"too long","error_type":"validation"}"#, failure), failed("validation", "too long"));
}

#[test]
fn the_type_of_the_event_is_not_that_of_the_error() {
    let json = r#"{"type":"error","error":{"message":"m"}}"#;
    assert_eq!(payload(json, failure), failed("_OTHER", "m"));
}

#[test]
fn a_null_false_or_empty_error_is_none() {
    for json in [r#"{"error":null}"#, r#"{"error":false}"#, r#"{"error":""}"#] {
        assert_eq!(payload(json, failure), None, "{json}");
    }
}

#[test]
fn the_older_flat_error_is_an_error() {
    let json = r#"{"object":"error","message":"too long","type":"BadRequestError","code":400}"#;
    assert_eq!(payload(json, failure), failed("BadRequestError", "too long"));
}

#[test]
fn an_event_named_error_is_an_error_with_and_without_an_error_key() {
    for json in [r#"{"error":{"code":"gone","message":"m"}}"#, r#"{"code":"gone","message":"m"}"#] {
        let mut seen = Vec::new();
        decode(format!("event: error\ndata: {json}\n\n"), |chunk| {
            seen.push(failure(chunk));
        });
        assert_eq!(seen, [failed("gone", "m")], "{json}");
    }
}

#[test]
fn an_error_beside_choices_and_usage_leaves_them_to_be_read() {
    let json = r#"{"error":{"code":"server_error","message":"m"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"usage":{"prompt_tokens":3}}"#;
    assert_eq!(payload(json, failure), failed("server_error", "m"));
    payload(json, |chunk| {
        assert_eq!(chunk.finishes().next().unwrap().kind, FinishKind::Error);
        assert_eq!(chunk.usage.unwrap().input, Some(3));
    });
}

#[test]
fn an_error_may_stand_in_a_choice_or_in_groqs_own_part() {
    let choice = r#"{"choices":[{"index":0,"delta":{},"error":{"code":502,"message":"m"}}]}"#;
    assert_eq!(payload(choice, failure), failed("502", "m"));
    assert_eq!(
        payload(r#"{"choices":[],"x_groq":{"error":"over capacity"}}"#, failure),
        failed("_OTHER", "over capacity")
    );
}

#[test]
fn an_error_field_line_is_an_error_but_no_event() {
    let mut seen = Vec::new();
    decode("data: {}\n\nerror: {\"detail\":\"d\",\"error\":{\"message\":\"m\"}}\n\n", |chunk| {
        seen.push((chunk.origin, failure(chunk)));
    });
    assert_eq!(seen, [(Origin::Event, None), (Origin::Field, failed("_OTHER", "m"))]);
}

#[test]
fn a_bare_json_line_is_read_but_no_event() {
    let mut seen = Vec::new();
    let counts = decode("data: {}\n\n{\"error\":{\"code\":\"gone\",\"message\":\"m\"}}", |chunk| {
        seen.push((chunk.origin, failure(chunk), chunk.unterminated));
    });
    assert_eq!(seen, [(Origin::Event, None, false), (Origin::Bare, failed("gone", "m"), false)]);
    assert_eq!(counts.unterminated, 0, "the object is whole");
}

#[test]
fn what_does_not_parse_is_counted_and_neither_chunk_nor_error() {
    for data in [r#"{"choices":[{"delta":{"content":"x"}"#, "hello", "17", "[1]", r#""text""#, r#"{"a":1} {"b":2}"#] {
        let mut malformed = Vec::new();
        let mut decoder = Decoder::new(Dialect::OpenAiChat);
        decoder.push(format!("event: error\ndata: {data}\n\ndata: {{}}\n\n").as_bytes(), |event| match event {
            Event::Malformed(payload) => {
                malformed.push(String::from_utf8_lossy(payload).into_owned());
            }
            Event::Chunk(chunk) => assert!(chunk.failure.is_none()),
            other => unreachable!("{other:?}"),
        });
        assert_eq!(malformed, [data]);
        assert_eq!(decoder.counts().malformed, 1, "{data}");
    }
}
