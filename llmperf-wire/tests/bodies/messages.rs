//! Words: chat, completions and the like.

use std::time::Duration;

use super::*;

#[test]
fn openai_chat() {
    let body = body(
        r#"{"id":"c-1","object":"chat.completion","model":"m-1","choices":[
            {"index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":"hm","refusal":null},"finish_reason":"stop"},
            {"index":1,"message":{"content":null,"tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
            "usage":{"prompt_tokens":9,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":5}},
            "service_tier":"default","system_fingerprint":"fp","error":null}"#,
    );
    assert_eq!(
        body.output,
        [
            piece(PieceKind::Text, "Hello"),
            piece(PieceKind::Reasoning, "hm"),
            (PieceKind::Tool, 1, "f".to_owned()),
            (PieceKind::Tool, 1, "{}".to_owned()),
        ]
    );
    assert_eq!(body.dialect, Some(Dialect::OpenAiChat));
    assert_eq!(
        body.finishes,
        [(0, "stop".to_owned(), FinishKind::Stop), (1, "tool_calls".to_owned(), FinishKind::ToolCall)]
    );
    assert_eq!(
        body.usage,
        usage(|usage| {
            (usage.input, usage.output) = (Some(9), Some(12));
            (usage.cache_read, usage.reasoning) = (Some(4), Some(5));
        })
    );
    assert_eq!((body.id.as_deref(), body.model.as_deref(), body.terminal), (Some("c-1"), Some("m-1"), true));
    assert_eq!(body.failure, None);
}

#[test]
fn a_legacy_completion() {
    let body = body(
        r#"{"id":"c","object":"text_completion","model":"m","choices":[{"text":"Hi","index":0,"logprobs":null,"finish_reason":"length"}],
            "usage":{"prompt_tokens":2,"completion_tokens":1}}"#,
    );
    assert_eq!(body.output, [piece(PieceKind::Text, "Hi")]);
    assert_eq!(body.finishes, finish("length", FinishKind::Length));
}

#[test]
fn a_server_tells_its_times_beside_an_answer() {
    let body =
        body(r#"{"choices":[{"index":0,"message":{"content":"x"}}],"timings":{"prompt_ms":20.0,"predicted_n":4}}"#);
    let timings = body.timings.unwrap();
    assert_eq!((timings.prompt, timings.generated_tokens), (Some(Duration::from_millis(20)), Some(4)));
}

#[test]
fn an_error_beside_choices_leaves_what_was_said() {
    let body = body(
        r#"{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"error","error":{"code":502,"message":"m"}}],"usage":{"prompt_tokens":1}}"#,
    );
    assert_eq!((body.output.len(), body.failure, body.terminal), (1, failed("502", "m"), false));
}

#[test]
fn openai_responses() {
    let body = body(
        r#"{"id":"r-1","object":"response","status":"completed","error":null,"incomplete_details":null,"model":"m-1","service_tier":"default",
            "output":[
              {"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"short"}],"content":[{"type":"reasoning_text","text":"long"}]},
              {"type":"web_search_call","id":"ws","status":"completed","action":{"query":"q"}},
              {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[]},{"type":"refusal","refusal":"no"}]}],
            "usage":{"input_tokens":7,"output_tokens":3,"input_tokens_details":{"cached_tokens":2},"output_tokens_details":{"reasoning_tokens":1}}}"#,
    );
    let output = body.output;
    assert_eq!(
        output,
        [
            piece(PieceKind::Text, "Hello"),
            piece(PieceKind::Reasoning, "long"),
            piece(PieceKind::ReasoningSummary, "short"),
            piece(PieceKind::Refusal, "no"),
        ]
    );
    assert_eq!(body.finishes, finish("completed", FinishKind::Stop));
    assert_eq!(
        body.usage,
        usage(|usage| {
            (usage.input, usage.output) = (Some(7), Some(3));
            (usage.cache_read, usage.reasoning) = (Some(2), Some(1));
        })
    );
    assert_eq!((body.id.as_deref(), body.model.as_deref(), body.terminal), (Some("r-1"), Some("m-1"), true));
}

#[test]
fn a_response_that_calls_a_tool_or_is_cut_short() {
    let called = body(
        r#"{"object":"response","status":"completed","output":[{"type":"function_call","name":"f","arguments":"{\"a\":1}","call_id":"c"}]}"#,
    );
    assert_eq!(called.finishes, finish("completed", FinishKind::ToolCall));
    let output = called.output;
    assert_eq!(output, [piece(PieceKind::Tool, "f"), piece(PieceKind::Tool, r#"{"a":1}"#)]);
    let cut = body(
        r#"{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[],"usage":{"output_tokens":0}}"#,
    );
    assert_eq!(cut.finishes, finish("incomplete", FinishKind::Length));
}

#[test]
fn a_response_that_failed_or_is_not_there_yet() {
    let error = body(
        r#"{"object":"response","status":"failed","error":{"code":"server_error","message":"m"},"output":[],"usage":null}"#,
    );
    assert_eq!((error.failure, error.terminal), (failed("server_error", "m"), false));
    let word = body(r#"{"object":"response","status":"failed","error":null,"output":[]}"#);
    assert_eq!(word.failure, failed("failed", ""));
    let queued = body(r#"{"id":"r","object":"response","status":"queued","output":[]}"#);
    assert_eq!((queued.finishes.len(), queued.failure, queued.terminal), (0, None, true));
}

#[test]
fn anthropic() {
    let body = body(
        r#"{"id":"msg-1","type":"message","role":"assistant","model":"m-1","content":[
              {"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"},
              {"type":"text","text":"Hello","citations":null},{"type":"tool_use","id":"t","name":"f","input":{"a":[1,2]}},
              {"type":"web_search_tool_result","content":[]}],
            "stop_reason":"tool_use","stop_sequence":null,
            "usage":{"input_tokens":3,"cache_read_input_tokens":40,"cache_creation_input_tokens":5,"output_tokens":11,"service_tier":"standard"}}"#,
    );
    assert_eq!(
        body.output,
        [
            piece(PieceKind::Text, "Hello"),
            piece(PieceKind::Reasoning, "hm"),
            piece(PieceKind::Tool, "f"),
            piece(PieceKind::Tool, r#"{"a":[1,2]}"#),
        ]
    );
    assert_eq!(body.finishes, finish("tool_use", FinishKind::ToolCall));
    assert_eq!(
        body.usage,
        usage(|usage| {
            (usage.input, usage.output) = (Some(48), Some(11));
            (usage.cache_read, usage.cache_write) = (Some(40), Some(5));
        })
    );
    assert_eq!((body.dialect, body.terminal), (Some(Dialect::Anthropic), true));
}

#[test]
fn gemini() {
    let body = body(
        r#"{"candidates":[{"index":0,"content":{"parts":[{"thought":true,"text":"hm"},{"text":"Hello"},{"functionCall":{"name":"f","args":{"a":1}}}],"role":"model"},"finishReason":"STOP"}],
            "usageMetadata":{"promptTokenCount":6,"candidatesTokenCount":2,"thoughtsTokenCount":3,"totalTokenCount":11},"modelVersion":"m-1","responseId":"r-1"}"#,
    );
    let output = body.output;
    assert_eq!(output[..2], [piece(PieceKind::Text, "Hello"), piece(PieceKind::ReasoningSummary, "hm")]);
    assert_eq!(output.len(), 4);
    assert_eq!(body.finishes, finish("STOP", FinishKind::Stop));
    assert_eq!((body.usage.unwrap().input, body.usage.unwrap().output), (Some(6), Some(5)));
    assert_eq!((body.id.as_deref(), body.model.as_deref(), body.terminal), (Some("r-1"), Some("m-1"), true));
}

#[test]
fn a_prompt_that_gemini_blocks() {
    let body = body(
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":6},"modelVersion":"m"}"#,
    );
    assert_eq!(body.finishes, finish("SAFETY", FinishKind::ContentFilter));
}

#[test]
fn ollama() {
    let chat = body(
        r#"{"model":"m-1","created_at":"t","message":{"role":"assistant","content":"Hello","thinking":"hm"},"done":true,"done_reason":"stop",
            "total_duration":3000000,"load_duration":1000000,"prompt_eval_count":8,"prompt_eval_duration":500000,"eval_count":4,"eval_duration":1500000}"#,
    );
    assert_eq!(chat.output.len(), 2);
    assert_eq!(chat.finishes, finish("stop", FinishKind::Stop));
    assert_eq!((chat.usage.unwrap().input, chat.usage.unwrap().output), (Some(8), Some(4)));
    assert_eq!(chat.timings.unwrap().total, Some(Duration::from_millis(3)));
    let generate = body(r#"{"model":"m","response":"Hello","done":true,"context":[1,2,3],"eval_count":4}"#);
    assert_eq!((generate.output, generate.terminal), (vec![piece(PieceKind::Text, "Hello")], true));
}

#[test]
fn cohere() {
    let body = body(
        r#"{"id":"c-1","finish_reason":"TOOL_CALL","message":{"role":"assistant","tool_plan":"I will look.","content":[{"type":"text","text":"Hello"}],
              "tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":"{}"}}]},
            "usage":{"billed_units":{"input_tokens":4,"output_tokens":9},"tokens":{"input_tokens":64,"output_tokens":12}}}"#,
    );
    assert_eq!(body.output.len(), 4);
    assert_eq!(body.finishes, finish("TOOL_CALL", FinishKind::ToolCall));
    assert_eq!(
        body.usage,
        usage(|usage| {
            (usage.input, usage.output) = (Some(64), Some(12));
            (usage.billed_input, usage.billed_output) = (Some(4), Some(9));
        })
    );
    assert_eq!((body.dialect, body.id.as_deref(), body.terminal), (Some(Dialect::Cohere), Some("c-1"), true));
}

#[test]
fn bedrock() {
    let body = body(
        r#"{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},
              {"text":"Hello"},{"toolUse":{"toolUseId":"t","name":"f","input":{"a":1}}},{"image":{"format":"png","source":{"bytes":"AAAA"}}}]}},
            "stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":5,"totalTokens":28,"cacheReadInputTokens":20},"metrics":{"latencyMs":150}}"#,
    );
    let output = body.output;
    assert_eq!(output[..2], [piece(PieceKind::Text, "Hello"), piece(PieceKind::Reasoning, "hm")]);
    assert_eq!(output.iter().filter(|(kind, ..)| *kind == PieceKind::Tool).count(), 2);
    assert_eq!(output.iter().filter(|(kind, ..)| *kind == PieceKind::Media).count(), 1);
    assert_eq!(body.finishes, finish("end_turn", FinishKind::Stop));
    assert_eq!((body.usage.unwrap().input, body.usage.unwrap().cache_read), (Some(23), Some(20)));
    assert_eq!(body.timings.unwrap().total, Some(Duration::from_millis(150)));
    assert_eq!((body.dialect, body.terminal), (Some(Dialect::BedrockConverse), true));
}
