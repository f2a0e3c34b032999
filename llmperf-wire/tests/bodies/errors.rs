//! Answers that refuse.

use super::*;

#[test]
fn every_provider_says_what_failed() {
    for (status, json, expected) in [
        (
            429,
            r#"{"error":{"message":"m","type":"requests","param":null,"code":"rate_limit_exceeded"}}"#,
            failed("rate_limit_exceeded", "m"),
        ),
        (
            400,
            r#"{"error":{"message":"m","type":"invalid_request_error","code":null}}"#,
            failed("invalid_request_error", "m"),
        ),
        (
            400,
            r#"{"error":{"code":"content_filter","message":"m","status":400,"innererror":{"code":"x"}}}"#,
            failed("content_filter", "m"),
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}"#,
            failed("overloaded_error", "m"),
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"type":"x"}]}}"#,
            failed("RESOURCE_EXHAUSTED", "m"),
        ),
        (
            429,
            r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#,
            failed("RESOURCE_EXHAUSTED", "m"),
        ),
        (404, r#"{"error":"model 'x' not found"}"#, failed("404", "model 'x' not found")),
        (422, r#"{"error":"m","error_type":"validation"}"#, failed("validation", "m")),
        (401, r#"{"id":"i","message":"invalid api token"}"#, failed("401", "invalid api token")),
        (
            422,
            r#"{"object":"error","message":"m","type":"invalid_request_prompt","param":null,"code":"1500"}"#,
            failed("1500", "m"),
        ),
        (
            400,
            r#"{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}"#,
            failed("BadRequestError", "m"),
        ),
        (
            400,
            r#"{"__type":"com.amazon.coral.service#ValidationException","message":"m"}"#,
            failed("ValidationException", "m"),
        ),
        (403, r#"{"Message":"m"}"#, failed("403", "m")),
        (422, r#"{"detail":[{"loc":["body"],"msg":"m","type":"missing"}]}"#, failed("422", "")),
        (401, r#"{"detail":"Not authenticated"}"#, failed("401", "Not authenticated")),
        (500, r#"{"ok":false}"#, failed("500", "")),
        (500, "{}", failed("500", "")),
        (500, "[]", failed("500", "")),
        (
            503,
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            failed("unavailable_error", "Loading model"),
        ),
    ] {
        assert_eq!(failure(status, json), expected, "{json}");
    }
}

#[test]
fn an_error_is_one_without_a_status_too() {
    for (json, expected) in [
        (r#"{"error":{"code":"c","message":"m"}}"#, failed("c", "m")),
        (r#"{"type":"error","error":{"type":"api_error","message":"m"}}"#, failed("api_error", "m")),
        (r#"{"object":"error","message":"m","type":"t","code":400}"#, failed("t", "m")),
        (r#"{"error":"m"}"#, failed("_OTHER", "m")),
    ] {
        let body = body(json);
        assert_eq!((body.failure, body.terminal), (expected, false), "{json}");
    }
}

#[test]
fn the_head_names_the_error_where_the_body_does_not() {
    let kind = |kind: &str, json: &str| {
        let decoder = Decoder::sniffing(Some(Dialect::BedrockConverse), Some("application/json"));
        let (bodies, ..) = decode(decoder.status(400).error_kind(kind), [json.as_bytes()]);
        bodies[0].failure.clone().unwrap().0
    };
    let json = r#"{"message":"m"}"#;
    assert_eq!(kind("ThrottlingException", json), "ThrottlingException");
    assert_eq!(kind("ThrottlingException:http://internal.example/coral/", json), "ThrottlingException");
    assert_eq!(kind("com.amazon.coral#ThrottlingException", json), "ThrottlingException");
    assert_eq!(kind("", json), "400");
    assert_eq!(kind("ThrottlingException", r#"{"error":{"code":"own"}}"#), "own");
}

#[test]
fn a_status_below_400_refuses_nothing() {
    let (bodies, ..) = decode(Decoder::whole(None).status(200), [&br#"{"choices":[]}"#[..]]);
    assert_eq!((&bodies[0].failure, bodies[0].terminal), (&None, true));
}

#[test]
fn a_stream_that_comes_with_a_status_keeps_the_words_of_its_error() {
    let decoder = Decoder::sniffing(Some(Dialect::OpenAiChat), Some("text/event-stream")).status(400);
    let stream = b"event: error\ndata: {\"message\":\"m\"}\n\ndata: {\"error\":{\"code\":\"c\"}}\n\n";
    let (bodies, _, form) = decode(decoder, stream.chunks(5));
    let failures: Vec<_> = bodies.into_iter().map(|body| body.failure.unwrap().0).collect();
    assert_eq!((failures, form), (vec!["400".to_owned(), "c".to_owned()], Some(Form::Stream)));
}

#[test]
fn a_message_in_place_of_a_code_is_no_name_of_an_error() {
    let long = "x".repeat(65);
    let written_long = format!(r#"{{"error":{{"code":"{long}","type":"t"}}}}"#);
    for (json, name) in [
        (r#"{"error":{"code":"Rate limit reached for m","type":"requests"}}"#, "requests"),
        (r#"{"error":{"code":"Rate limit reached for m"}}"#, "429"),
        (r#"{"error":{"code":"too many","type":"too often","status":"EXHAUSTED"}}"#, "EXHAUSTED"),
        (r#"{"error":{"code":"é","code":"t"}}"#, "t"),
        (&written_long, "t"),
    ] {
        assert_eq!(failure(429, json).unwrap().0, name, "{json}");
    }
}
