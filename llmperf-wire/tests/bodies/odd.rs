//! Bodies that say nothing, too much, or not enough.

use llmperf_wire::Endpoint;

use super::*;

#[test]
fn what_is_not_known_is_whole_all_the_same() {
    for text in [r#"{"foo":1}"#, "{}", r#"{"generated_text":"x"}"#] {
        for hint in HINTS {
            let (bodies, counts, _) = decode(Decoder::whole(hint), [text.as_bytes()]);
            assert_eq!((bodies.len(), bodies[0].terminal, counts.unknown), (1, true, 1), "{hint:?} {text}");
        }
    }
}

#[test]
fn a_hint_decides_where_the_answer_shows_nothing() {
    let text = r#"{"usageMetadata":{"promptTokenCount":6},"modelVersion":"m"}"#;
    let (bodies, ..) = decode(Decoder::whole(Some(Dialect::Gemini)), [text.as_bytes()]);
    assert_eq!((bodies[0].dialect, bodies[0].usage.unwrap().input), (Some(Dialect::Gemini), Some(6)));
}

#[test]
fn what_was_cut_is_malformed_and_no_end() {
    let text =
        r#"{"choices":[{"index":0,"message":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}"#;
    for cut in 1..text.len() {
        let (bodies, counts, _) = decode(Decoder::whole(Some(Dialect::OpenAiChat)), [&text.as_bytes()[..cut]]);
        assert_eq!((bodies.len(), counts.malformed, counts.unterminated), (0, 1, 1), "{cut}");
    }
}

#[test]
fn an_answer_is_told_at_its_last_byte_and_once() {
    let text = br#"{"choices":[{"index":0,"message":{"content":"Hello"}}]}"#;
    let endpoint = Endpoint::detect("POST", None, "/v1/chat/completions").unwrap();
    let mut decoder = Decoder::answer_of(&endpoint, Some("application/json"));
    let mut told = 0;
    let (head, last) = text.split_at(text.len() - 1);
    decoder.push(head, |_| told += 1);
    assert_eq!(told, 0);
    decoder.push(last, |_| told += 1);
    decoder.push(b"\r\n", |_| told += 1);
    decoder.finish(|_| told += 1);
    assert_eq!(told, 1);
}

#[test]
fn an_answer_past_the_limit_is_dropped_and_counted() {
    let text = format!(r#"{{"choices":[{{"message":{{"content":"{}"}}}}]}}"#, "x".repeat(4_096));
    let decoder = Decoder::whole(None).limit(1 << 10);
    let (bodies, counts, _) = decode(decoder, text.as_bytes().chunks(100));
    assert_eq!((bodies.len(), counts.oversized), (0, 1));
    let within = Decoder::whole(None).limit(8 << 10);
    assert_eq!(decode(within, [text.as_bytes()]).0.len(), 1);
}

#[test]
fn a_decoder_reads_one_answer_after_the_other() {
    let mut decoder = Decoder::sniffing(None, None);
    let mut forms = Vec::new();
    for text in [r#"{"choices":[]}"#, "data: {\"choices\":[]}\n\n", "<html>", r#"{"error":"e"}"#] {
        let mut events = 0;
        decoder.push(text.as_bytes(), |_| events += 1);
        forms.push((decoder.form(), events));
        decoder.finish(|_| events += 1);
        assert_eq!(decoder.form(), None);
    }
    let expected = [(Form::Whole, 1), (Form::Stream, 1), (Form::Blind, 0), (Form::Whole, 1)];
    assert_eq!(forms, expected.map(|(form, events)| (Some(form), events)));
}
