//! Requests of every provider, and bodies that are none.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::Request;
use proptest::prelude::*;

/// A request as it is read, but for its prompt, in words.
fn read(body: &str) -> Request {
    Request::read(body.as_bytes()).unwrap()
}

#[test]
fn openai_chat() {
    let request = read(
        r#"{"model":"gpt-4o","messages":[{"role":"user","content":"{\"model\":\"x\",\"stream\":false}"}],
            "stream":true,"stream_options":{"include_usage":true},"max_tokens":64,"temperature":0.5,"top_p":1,"n":2,
            "frequency_penalty":-0.5,"presence_penalty":0.25,"seed":7,"stop":["x"],"tools":[{"temperature":9}]}"#,
    );
    assert_eq!(request.model.as_deref(), Some("gpt-4o"));
    assert_eq!((request.stream, request.include_usage), (Some(true), Some(true)));
    assert_eq!((request.max_tokens, request.choices, request.seed), (Some(64), Some(2), Some(7)));
    assert_eq!((request.temperature, request.top_p), (Some(0.5), Some(1.0)));
    assert_eq!((request.frequency_penalty, request.presence_penalty), (Some(-0.5), Some(0.25)));
    assert!(request.has_prompt);
}

#[test]
fn the_limit_on_tokens_has_a_name_at_each_provider() {
    for body in [
        r#"{"max_tokens":9}"#,
        r#"{"max_completion_tokens":9}"#,
        r#"{"max_output_tokens":9}"#,
        r#"{"generationConfig":{"maxOutputTokens":9}}"#,
        r#"{"inferenceConfig":{"maxTokens":9}}"#,
        r#"{"options":{"num_predict":9}}"#,
    ] {
        assert_eq!(read(body).max_tokens, Some(9), "{body}");
    }
    assert_eq!(read(r#"{"options":{"num_predict":-1}}"#).max_tokens, None, "without limit");
}

#[test]
fn settings_of_gemini_bedrock_ollama_and_cohere() {
    let gemini = read(
        r#"{"contents":[{"parts":[{"text":"hi"}]}],
            "generationConfig":{"temperature":0.1,"topP":0.2,"topK":3,"candidateCount":4,"seed":5,"presencePenalty":0.6,"frequencyPenalty":0.7}}"#,
    );
    assert_eq!((gemini.temperature, gemini.top_p, gemini.top_k), (Some(0.1), Some(0.2), Some(3)));
    assert_eq!((gemini.choices, gemini.seed), (Some(4), Some(5)));
    assert_eq!((gemini.presence_penalty, gemini.frequency_penalty), (Some(0.6), Some(0.7)));
    let bedrock = read(r#"{"messages":[],"inferenceConfig":{"temperature":0.1,"topP":0.2}}"#);
    assert_eq!((bedrock.temperature, bedrock.top_p), (Some(0.1), Some(0.2)));
    let ollama = read(r#"{"model":"m","prompt":"p","stream":false,"options":{"temperature":0,"top_k":40,"seed":1}}"#);
    assert_eq!(
        (ollama.stream, ollama.temperature, ollama.top_k, ollama.seed),
        (Some(false), Some(0.0), Some(40), Some(1))
    );
    let cohere = read(r#"{"model":"command","messages":[],"p":0.75,"k":12}"#);
    assert_eq!((cohere.top_p, cohere.top_k), (Some(0.75), Some(12)));
}

#[test]
fn embeddings_and_rerank() {
    let embeddings = read(r#"{"model":"e-3","input":["a","b"],"dimensions":256,"encoding_format":"base64"}"#);
    assert_eq!((embeddings.dimensions, embeddings.encoding_format.as_deref()), (Some(256), Some("base64")));
    assert!(embeddings.has_prompt);
    assert!(read(r#"{"query":"q","documents":[]}"#).has_prompt);
    assert!(read(r#"{"requests":[{"content":{}}]}"#).has_prompt);
    assert!(!read(r#"{"documents":["a"]}"#).has_prompt);
}

#[test]
fn a_null_or_another_type_says_nothing() {
    let request = read(
        r#"{"model":null,"stream":"yes","max_tokens":null,"max_output_tokens":3,"max_completion_tokens":null,
            "temperature":"hot","top_p":1e999,"n":1.5,"stream_options":null,"options":7,"messages":null}"#,
    );
    let expected = read(r#"{"max_tokens":3}"#);
    assert_eq!(request, expected);
}

#[test]
fn a_name_may_be_written_with_escapes() {
    assert_eq!(read(r#"{"model":"org\/m\u00e9"}"#).model.as_deref(), Some("org/mé"));
}

#[test]
fn what_is_no_json_object_is_no_request() {
    for body in ["", "[]", "7", r#""model""#, r#"{"model":"m""#, r#"{"model":"m"} x"#, "--boundary\r\n", "\0\0\0\u{10}"]
    {
        assert_eq!(Request::read(body.as_bytes()), None, "{body}");
    }
    assert_eq!(Request::read(b"\xEF\xBB\xBF {}"), Some(Request::default()));
}

#[test]
fn nothing_but_names_is_copied() {
    let body = format!(r#"{{"messages":[{{"content":"{}"}}],"model":"m"}}"#, r#"a\nb"#.repeat(100_000));
    let allocations = allocation_counter::measure(|| {
        assert_eq!(Request::read(body.as_bytes()).unwrap().model.as_deref(), Some("m"));
    });
    assert!(allocations.bytes_max < 64, "{} bytes", allocations.bytes_max);
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Request::read(&body);
    }
}
