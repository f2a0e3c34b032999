//! Payloads as such: the marker, what does not parse, text and its escapes.

use super::*;

#[test]
fn no_choices_at_all_is_a_chunk() {
    for json in [r#"{"choices":[]}"#, r#"{"choices":null}"#, "{}", r#"{"type":"ping"}"#] {
        assert!(payload(json, pieces).is_empty(), "{json}");
    }
}

#[test]
fn data_that_begins_with_done_is_the_marker() {
    assert_eq!(Dialect::OpenAiChat.sees(), Sees::Marker);
    for data in ["[DONE]", "[DONE] ", " [DONE]", "[DONE]x"] {
        assert!(payload(data, |chunk| chunk.terminal && chunk.outputs().count() == 0), "{data:?}");
    }
    assert!(!payload("{}", |chunk| chunk.terminal));
}

#[test]
fn a_marker_without_its_empty_line_is_seen_at_the_end() {
    let mut seen = Vec::new();
    let counts = decode("data: [DONE]", |chunk| {
        seen.push((chunk.terminal, chunk.unterminated));
    });
    assert_eq!((seen.as_slice(), counts.unterminated), ([(true, true)].as_slice(), 1));
}

#[test]
fn empty_data_is_a_chunk() {
    assert!(payload("", |chunk| chunk.outputs().count() == 0 && !chunk.terminal));
}

#[test]
fn an_invalid_byte_is_replaced_and_the_payload_read() {
    let mut seen = Vec::new();
    let counts =
        decode(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xFFb\"}}]}\n\n", |chunk| seen.extend(pieces(chunk)));
    assert_eq!(seen, [(PieceKind::Text, 0, "a\u{FFFD}b".to_owned())]);
    assert_eq!(counts.malformed, 0);
}

#[test]
fn escapes_are_resolved_and_counted_as_what_they_stand_for() {
    for (escaped, text) in [
        (r"a\nb\t\r\b\f", "a\nb\t\r\u{8}\u{c}"),
        (r#"\"\\\/"#, "\"\\/"),
        (r"\u00e9\u20ac", "é€"),
        (r"\ud83d\ude00!", "😀!"),
        (r"\ud83d", "\u{FFFD}"),
        (r"\ude00x", "\u{FFFD}x"),
        (r"\ud83d\u0041", "\u{FFFD}A"),
        (r"\ud83d\ud83d\ude00", "\u{FFFD}😀"),
        (r"\ud83dx", "\u{FFFD}x"),
    ] {
        let json = format!(r#"{{"choices":[{{"delta":{{"content":"{escaped}"}}}}]}}"#);
        payload(&json, |chunk| {
            let piece = *chunk.outputs().next().unwrap();
            assert_eq!(piece.text.decode(), text, "{escaped}");
            assert_eq!(piece.text.len(), text.len(), "{escaped}");
        });
    }
}

#[test]
fn plain_text_is_borrowed_from_the_read() {
    payload(r#"{"choices":[{"delta":{"content":"plain"}}]}"#, |chunk| {
        let text = chunk.outputs().next().unwrap().text.decode();
        assert!(matches!(text, std::borrow::Cow::Borrowed("plain")));
    });
}

#[test]
fn comments_are_reported_and_counted_and_are_no_chunks() {
    let mut comments = 0;
    let mut decoder = Decoder::new(Dialect::OpenAiChat);
    decoder.push(b": OPENROUTER PROCESSING\n\n: keep-alive\n\n", |event| match event {
        Event::Comment(_) => comments += 1,
        other => unreachable!("{other:?}"),
    });
    assert_eq!((comments, decoder.counts().comments), (2, 2));
}

#[test]
fn an_oversized_event_is_dropped_and_counted_and_the_next_is_read() {
    let mut seen = Vec::new();
    let mut decoder = Decoder::new(Dialect::OpenAiChat).limit(64);
    let long = format!("data: {{\"x\":\"{}\"}}\n\ndata: [DONE]\n\n", "y".repeat(100));
    decoder.push(long.as_bytes(), |event| {
        seen.push(matches!(event, Event::Chunk(chunk) if chunk.terminal));
    });
    assert_eq!(seen, [false, true]);
    assert_eq!(decoder.counts().oversized, 1);
}

#[test]
fn what_nobody_measures_is_skipped() {
    let json = r#"{"created":1,"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"},"logprobs":{"content":[{"token":"x","logprob":-0.1,"bytes":[120],"top_logprobs":[]}]}}],"obfuscation":"abc","citations":["u"],"p":"xx"}"#;
    assert_eq!(payload(json, pieces), [(PieceKind::Text, 0, "x".to_owned())]);
}
