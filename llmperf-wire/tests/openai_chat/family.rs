//! What the members of the family write, each in its own way.

use super::*;

#[test]
fn legacy_completions_are_text() {
    let json = r#"{"id":"cmpl-1","object":"text_completion","created":1,"model":"m","choices":[{"text":"ab","index":0,"logprobs":null,"finish_reason":null},{"index":1,"text":"cd","finish_reason":"length"},{"text":"","index":2}]}"#;
    assert_eq!(payload(json, pieces), [(PieceKind::Text, 0, "ab".to_owned()), (PieceKind::Text, 1, "cd".to_owned())]);
    payload(json, |chunk| {
        let finishes: Vec<_> = chunk.finishes().map(|finish| (finish.choice, finish.kind)).collect();
        assert_eq!(finishes, [(1, FinishKind::Length)]);
        assert!(chunk.id.unwrap() == "cmpl-1" && chunk.model.unwrap() == "m");
    });
    for choice in [r#"{"text":null}"#, r#"{"text":7}"#, "{}"] {
        assert!(payload(&format!(r#"{{"choices":[{choice}]}}"#), pieces).is_empty(), "{choice}");
    }
}

#[test]
fn a_text_beside_a_delta_is_the_same_text_again() {
    let together = [
        r#"{"id":"t","choices":[{"index":0,"text":"a","delta":{"content":"a"},"finish_reason":null}]}"#,
        r#"{"id":"t","choices":[{"index":0,"delta":{"content":"b"},"text":"b"}]}"#,
        r#"{"id":"t","choices":[{"index":0,"text":"","delta":{"content":""}}]}"#,
        r#"{"id":"t","choices":[{"index":0,"text":"c","delta":null}]}"#,
        r#"{"id":"t","choices":[{"index":0,"delta":{"content":"d"},"text":"d"},{"index":1,"text":"e"}]}"#,
    ];
    let stream: String = together.iter().map(|json| format!("data: {json}\n\n")).collect();
    let mut seen: Vec<Vec<(u32, String)>> = Vec::new();
    decode(stream, |chunk| seen.push(pieces(chunk).into_iter().map(|(_, choice, text)| (choice, text)).collect()));
    let text = |choice, text: &str| (choice, text.to_owned());
    let expected: [Vec<(u32, String)>; 5] =
        [vec![text(0, "a")], vec![text(0, "b")], vec![], vec![text(0, "c")], vec![text(0, "d"), text(1, "e")]];
    assert_eq!(seen, expected);
}

#[test]
fn mistral_ends_with_content_and_usage_in_one_frame_and_writes_whole_calls() {
    let last = r#"{"id":"m","model":"mistral-small","choices":[{"index":0,"delta":{"content":"!"},"finish_reason":"stop","logprobs":null}],"usage":{"prompt_tokens":9,"total_tokens":14,"completion_tokens":5},"p":"abcdefgh"}"#;
    payload(last, |chunk| {
        assert_eq!(pieces(chunk), [(PieceKind::Text, 0, "!".to_owned())]);
        assert_eq!(chunk.finishes().next().unwrap().kind, FinishKind::Stop);
        assert_eq!((chunk.usage.unwrap().input, chunk.usage.unwrap().output), (Some(9), Some(5)));
    });
    let call = r#"{"choices":[{"index":0,"delta":{"content":"","tool_calls":[{"id":"c","function":{"name":"now","arguments":"{}"},"index":0}]},"finish_reason":"tool_calls"}],"p":"ab"}"#;
    payload(call, |chunk| {
        let tool = |text: &str| (PieceKind::Tool, 0, text.to_owned());
        assert_eq!(pieces(chunk), [tool("now"), tool("{}")]);
        assert_eq!(chunk.finishes().next().unwrap().kind, FinishKind::ToolCall);
    });
    for (word, kind) in [("model_length", FinishKind::Length), ("error", FinishKind::Error)] {
        let json = format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{word}"}}]}}"#);
        payload(&json, |chunk| assert_eq!(chunk.finishes().next().unwrap().kind, kind));
    }
}

#[test]
fn perplexity_repeats_the_answer_and_the_usage_in_every_frame() {
    let frame = |delta: &str, so_far: &str, tokens: u32| {
        format!(
            "data: {{\"id\":\"p\",\"model\":\"sonar\",\"usage\":{{\"prompt_tokens\":4,\"completion_tokens\":{tokens},\"search_context_size\":\"low\"}},\"citations\":[\"u\"],\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"finish_reason\":null,\"message\":{{\"role\":\"assistant\",\"content\":\"{so_far}\"}},\"delta\":{{\"role\":\"assistant\",\"content\":\"{delta}\"}}}}]}}\r\n\r\n"
        )
    };
    let mut seen = Vec::new();
    let counts = decode([frame("a", "a", 1), frame("b", "ab", 2)].concat(), |chunk| {
        seen.push((pieces(chunk), chunk.usage.unwrap().output, chunk.terminal));
    });
    let text = |text: &str| vec![(PieceKind::Text, 0, text.to_owned())];
    assert_eq!(seen, [(text("a"), Some(1), false), (text("b"), Some(2), false)]);
    assert_eq!(counts, Counts::default());
}

#[test]
fn azures_filter_frames_are_chunks_without_output_or_names() {
    for json in [
        r#"{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}"#,
        r#"{"choices":[{"content_filter_offsets":{"check_offset":4,"start_offset":0,"end_offset":9},"content_filter_results":{"hate":{"filtered":false}},"finish_reason":null,"index":0}],"id":"","model":""}"#,
    ] {
        payload(json, |chunk| {
            assert!(pieces(chunk).is_empty() && chunk.finishes().count() == 0 && chunk.failure.is_none());
            assert!(chunk.id.is_none() && chunk.model.is_none());
        });
    }
    let filtered = r#"{"choices":[{"index":0,"delta":{},"content_filter_results":{"hate":{"filtered":true}},"finish_reason":"content_filter"}]}"#;
    payload(filtered, |chunk| assert_eq!(chunk.finishes().next().unwrap().kind, FinishKind::ContentFilter));
}

#[test]
fn servers_write_errors_in_their_own_shapes_and_some_go_on_to_the_marker() {
    for (json, expected) in [
        // TGI
        (r#"{"error":{"message":"m","http_status_code":422}}"#, "422"),
        (r#"{"error":"m","error_type":"incomplete_generation_stream"}"#, "incomplete_generation_stream"),
        // vLLM
        (r#"{"error":{"message":"m","type":"InternalServerError","param":null,"code":500}}"#, "InternalServerError"),
        // SGLang
        (
            r#"{"error":{"object":"error","message":"m","type":"internal_server_error","param":null,"code":500}}"#,
            "internal_server_error",
        ),
        // OpenRouter
        (
            r#"{"id":"g","error":{"code":"server_error","message":"m"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#,
            "server_error",
        ),
    ] {
        let mut seen = Vec::new();
        decode(format!("data: {json}\n\ndata: [DONE]\n\n"), |chunk| seen.push((failure(chunk), chunk.terminal)));
        assert_eq!(seen, [(failed(expected, "m"), false), (None, true)], "{json}");
    }
}

#[test]
fn events_with_names_of_their_own_are_read_like_any_other() {
    let sglang = "event: sglext_ids\ndata: {\"sglext_ids\":[1,2]}\n\ndata: {\"choices\":[],\"sglext\":{\"a\":1}}\n\n";
    let mut seen = 0;
    let counts = decode(sglang, |chunk| {
        assert!(pieces(chunk).is_empty() && chunk.failure.is_none());
        seen += 1;
    });
    assert_eq!((seen, counts), (2, Counts::default()));
}
