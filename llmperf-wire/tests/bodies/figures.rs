//! Vectors and orders of documents: their figures, and what is held of them.

use std::time::Duration;

use llmperf_wire::Endpoint;

use super::*;

fn input(json: &str) -> Option<u64> {
    let body = body(json);
    assert!(body.terminal && body.output.is_empty() && body.finishes.is_empty(), "{json}");
    body.usage.and_then(|usage| usage.input)
}

#[test]
fn embeddings_of_openai_and_those_who_speak_alike() {
    let json = r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-0.2]}],"model":"e-1","usage":{"prompt_tokens":5,"total_tokens":5}}"#;
    assert_eq!(input(json), Some(5));
    assert_eq!(body(json).model.as_deref(), Some("e-1"));
    // Voyage and Jina tell the total alone.
    assert_eq!(input(r#"{"object":"list","data":[],"model":"m","usage":{"total_tokens":7}}"#), Some(7));
    let base64 = r#"{"data":[{"embedding":"AAAAAA==","index":0}],"model":"m","id":"e","usage":{"prompt_tokens":5,"completion_tokens":0,"total_tokens":5}}"#;
    assert_eq!((input(base64), body(base64).usage.unwrap().output), (Some(5), None));
}

#[test]
fn embeddings_and_rerank_of_cohere() {
    let embed = body(
        r#"{"id":"e-1","embeddings":{"float":[[0.1]]},"texts":["a"],"meta":{"api_version":{"version":"2"},"billed_units":{"input_tokens":3},"tokens":{"input_tokens":9}}}"#,
    );
    assert_eq!(embed.usage, usage(|usage| (usage.input, usage.billed_input) = (Some(9), Some(3))));
    assert_eq!(embed.id.as_deref(), Some("e-1"));
    let searched =
        body(r#"{"id":"r","results":[{"index":1,"relevance_score":0.9}],"meta":{"billed_units":{"search_units":1}}}"#);
    assert_eq!((searched.usage, searched.terminal), (None, true));
}

#[test]
fn rerank_of_jina_and_vllm() {
    assert_eq!(
        input(
            r#"{"id":"rerank-1","model":"m","usage":{"total_tokens":56},"results":[{"index":0,"document":{"text":"t"},"relevance_score":0.5}]}"#
        ),
        Some(56)
    );
    assert_eq!(
        input(r#"{"model":"m","object":"list","usage":{"prompt_tokens":11,"total_tokens":11},"results":[]}"#),
        Some(11)
    );
    // Text embeddings inference: an array, without any figure.
    let decoded = decode(Decoder::whole(None), [&br#"[{"index":1,"score":0.9},{"index":0,"score":0.1}]"#[..]]).0;
    assert_eq!(decoded, [Body { terminal: true, ..Body::default() }]);
}

#[test]
fn embeddings_of_ollama_and_gemini() {
    let ollama = body(
        r#"{"model":"m","embeddings":[[0.1,0.2]],"total_duration":14000000,"load_duration":1000000,"prompt_eval_count":8}"#,
    );
    assert_eq!(
        (ollama.usage.unwrap().input, ollama.timings.unwrap().total),
        (Some(8), Some(Duration::from_millis(14)))
    );
    assert_eq!(input(r#"{"embedding":[0.1,0.2]}"#), None);
    assert_eq!(input(r#"{"embedding":{"values":[0.1]},"usageMetadata":{"promptTokenCount":4}}"#), Some(4));
    assert_eq!(input(r#"{"embeddings":[{"values":[0.1]},{"values":[0.2]}]}"#), None);
}

#[test]
fn megabytes_of_numbers_are_held_in_a_few_hundred_bytes_and_say_all_the_same() {
    let endpoint = Endpoint::detect("POST", None, "/v1/embeddings").unwrap();
    let mut decoder = Decoder::answer_of(&endpoint, Some("application/json")).limit(4 << 10);
    let numbers = "-0.0123456789,".repeat(4_096);
    let mut most = 0;
    let mut seen = None;
    let mut push = |text: &str| {
        decoder.push(text.as_bytes(), |event| {
            if let Event::Chunk(chunk) = event {
                seen = chunk.usage.and_then(|usage| usage.input);
            }
        });
        most = most.max(decoder.held());
    };
    push(r#"{"object":"list","data":["#);
    for _ in 0..200 {
        push(r#"{"object":"embedding","embedding":["#);
        push(&numbers);
        push("0.5]},");
    }
    push(r#"{}],"usage":{"prompt_tokens":77}}"#);
    assert_eq!(seen, Some(77));
    assert!(most < 256, "{most} bytes");
}

#[test]
fn an_array_of_vectors_or_an_order_is_a_whole_answer_where_no_stream_can_be() {
    let endpoint = Endpoint::detect("POST", None, "/rerank").unwrap();
    for text in [r#"[{"index":0,"score":0.9}]"#, "[[0.1,0.2],[0.3]]", "[]", "[ ]"] {
        for length in [1, text.len()] {
            let decoder = Decoder::answer_of(&endpoint, Some("application/json"));
            let (bodies, counts, form) = decode(decoder, text.as_bytes().chunks(length));
            assert_eq!((bodies.len(), bodies[0].terminal, form), (1, true, Some(Form::Whole)), "{text}");
            assert_eq!(counts, Counts::default(), "{text}");
        }
    }
}
