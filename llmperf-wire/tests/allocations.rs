//! What the decoder costs in memory, counted by the allocator: noise cannot move it.

#[path = "messages/mod.rs"]
mod messages;

use allocation_counter::measure;
use llmperf_wire::{Decoder, Dialect, Event};

/// Text deltas that hold escapes, as the large hosts write them; each has six bytes of text.
const TEXTS: [(Dialect, &str); 7] = [
    (
        Dialect::OpenAiChat,
        concat!(
            r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":"#,
            r#"[{"index":0,"delta":{"content":"caf\u00e9\n"},"logprobs":null,"finish_reason":null}],"#,
            r#""usage":null,"obfuscation":"aB3"}"#,
            "\n\n"
        ),
    ),
    (
        Dialect::OpenAiResponses,
        concat!(
            "event: response.output_text.delta\n",
            r#"data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"#,
            r#""content_index":0,"delta":"caf\u00e9\n","logprobs":[],"obfuscation":"aB3"}"#,
            "\n\n"
        ),
    ),
    (
        Dialect::Anthropic,
        concat!(
            "event: content_block_delta\n",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"caf\u00e9\n"}  }"#,
            "\n\n"
        ),
    ),
    (
        Dialect::Cohere,
        concat!(
            "event: content-delta\n",
            r#"data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"caf\u00e9\n"}}}}"#,
            "\n\n"
        ),
    ),
    (
        Dialect::Gemini,
        concat!(
            r#"data: {"candidates": [{"content": {"parts": [{"text": "caf\u00e9\n"}],"role": "model"},"index": 0}],"#,
            r#""usageMetadata": {"promptTokenCount": 4,"totalTokenCount": 4},"modelVersion": "m","responseId": "r"}"#,
            "\r\n\r\n"
        ),
    ),
    (
        Dialect::GeminiArray,
        concat!(
            r#",{"candidates": [{"content": {"parts": [{"text": "caf\u00e9\n"}],"role": "model"},"index": 0}],"#,
            "\n",
            r#""usageMetadata": {"promptTokenCount": 4,"totalTokenCount": 4},"modelVersion": "m","responseId": "r"}"#,
            "\r\n"
        ),
    ),
    (
        Dialect::Ollama,
        concat!(
            r#"{"model":"m","created_at":"2025-08-20T13:48:24.316155Z","message":{"role":"assistant","#,
            r#""content":"caf\u00e9\n"},"done":false}"#,
            "\n"
        ),
    ),
];

/// The same with that of the binary dialect.
fn deltas() -> Vec<(Dialect, Vec<u8>)> {
    let binary = messages::event(
        "contentBlockDelta",
        r#"{"contentBlockIndex":0,"delta":{"text":"caf\u00e9\n"},"p":"abcdefghijklmnopqrstuvw"}"#,
    );
    let texts = TEXTS.iter().map(|&(dialect, text)| (dialect, text.as_bytes().to_vec()));
    texts.chain([(Dialect::BedrockConverse, binary)]).collect()
}

/// A decoder in a stream that has begun.
fn decoder(dialect: Dialect) -> Decoder {
    let mut decoder = Decoder::new(dialect);
    if dialect == Dialect::GeminiArray {
        decoder.push(b"[", |_| {});
    }
    decoder
}

/// Decodes and counts the bytes of output.
fn output_bytes(decoder: &mut Decoder, reads: &[&[u8]]) -> usize {
    let mut bytes = 0;
    for read in reads {
        decoder.push(read, |event| {
            if let Event::Chunk(chunk) = event {
                bytes += chunk.outputs().map(|piece| piece.text.len()).sum::<usize>();
            }
        });
    }
    bytes
}

/// Asserts that, once the buffers have grown, the same reads again and again allocate nothing.
fn assert_steady(dialect: Dialect, reads: &[&[u8]], bytes: usize) {
    let mut decoder = decoder(dialect);
    output_bytes(&mut decoder, reads);
    let mut counted = 0;
    let allocations = measure(|| {
        for _ in 0..1_000 {
            counted += output_bytes(&mut decoder, reads);
        }
    });
    assert_eq!(counted, 1_000 * bytes, "the deltas were decoded");
    assert_eq!(allocations.count_total, 0);
}

#[test]
fn a_text_delta_whole_in_its_read_allocates_nothing() {
    for (dialect, delta) in deltas() {
        assert_steady(dialect, &[&delta], 6);
    }
}

#[test]
fn a_text_delta_cut_anywhere_allocates_nothing() {
    for (dialect, delta) in deltas() {
        for cut in 1..delta.len() {
            let (head, tail) = delta.split_at(cut);
            assert_steady(dialect, &[head, tail], 6);
        }
    }
}

#[test]
fn reasoning_tool_calls_usage_and_finish_allocate_nothing() {
    let stream = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"ab\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"cd\",\"arguments\":\"ef\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\",\"token_ids\":[1,2,3]}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"completion_tokens_details\":{\"reasoning_tokens\":1}}}\n\n",
        ": keep-alive\n\n",
        "data: [DONE]\n\n",
    );
    assert_steady(Dialect::OpenAiChat, &[stream.as_bytes()], 6);
}

#[test]
fn all_events_of_an_answer_allocate_nothing() {
    let responses = concat!(
        "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"m\",\"status\":\"in_progress\",\"usage\":null}}\n\n",
        "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"name\":\"ab\"}}\n\n",
        "data: {\"type\":\"response.function_call_arguments.delta\",\"delta\":\"cd\"}\n\n",
        "data: {\"type\":\"response.reasoning_text.delta\",\"delta\":\"ef\"}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"arguments\":\"cd\"}}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}}\n\n",
    );
    let messages = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"m\",\"usage\":{\"input_tokens\":1}}}\n\n",
        "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":\"tool_use\",\"name\":\"ab\",\"input\":{}}}\n\n",
        "data: {\"type\":\"ping\"}\n\n",
        "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"cd\"}}\n\n",
        "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"ef\"}}\n\n",
        "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":2}}\n\n",
        "data: {\"type\":\"message_stop\"}\n\n",
    );
    let cohere = concat!(
        "data: {\"type\":\"message-start\",\"id\":\"c\",\"delta\":{\"message\":{\"content\":[]}}}\n\n",
        "data: {\"type\":\"tool-plan-delta\",\"delta\":{\"message\":{\"tool_plan\":\"ab\"}}}\n\n",
        "data: {\"type\":\"tool-call-start\",\"delta\":{\"message\":{\"tool_calls\":{\"function\":{\"name\":\"cd\",\"arguments\":\"ef\"}}}}}\n\n",
        "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"TOOL_CALL\",\"usage\":{\"tokens\":{\"input_tokens\":1}}}}\n\n",
        "data: [DONE]\n\n",
    );
    for (dialect, stream) in
        [(Dialect::OpenAiResponses, responses), (Dialect::Anthropic, messages), (Dialect::Cohere, cohere)]
    {
        assert_steady(dialect, &[stream.as_bytes()], 6);
    }
}

#[test]
fn all_events_of_an_answer_of_another_framing_allocate_nothing() {
    let gemini = concat!(
        "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"ab\",\"thought\":true},{\"functionCall\":{\"name\":\"cd\",\"args\":{}}}]},\"finishReason\":1}],",
        "\"usageMetadata\":{\"promptTokenCount\":1,\"promptTokensDetails\":[{\"modality\":\"TEXT\",\"tokenCount\":1}]}}"
    );
    let ollama = concat!(
        "{\"message\":{\"content\":\"ab\",\"thinking\":\"cd\"}}\n",
        "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"e\",\"arguments\":{}}}]}}\r\n\n",
        "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2,\"load_duration\":3}\n",
    );
    let bedrock = [
        messages::event("messageStart", "{\"role\":\"assistant\"}"),
        messages::event("contentBlockStart", "{\"start\":{\"toolUse\":{\"name\":\"ab\"}}}"),
        messages::event("contentBlockDelta", "{\"delta\":{\"toolUse\":{\"input\":\"cd\"}}}"),
        messages::event("messageStop", "{\"stopReason\":\"tool_use\"}"),
        messages::event("metadata", "{\"usage\":{\"inputTokens\":1},\"metrics\":{\"latencyMs\":3}}"),
        messages::exception("throttlingException", "{\"message\":\"m\"}"),
    ]
    .concat();
    assert_steady(Dialect::Gemini, &[format!("data: {gemini}\r\n\r\n").as_bytes()], 6);
    assert_steady(Dialect::GeminiArray, &[format!("{gemini},").as_bytes()], 6);
    assert_steady(Dialect::Ollama, &[ollama.as_bytes()], 7);
    assert_steady(Dialect::BedrockConverse, &[&bedrock], 4);
}

#[test]
fn a_decoder_is_small() {
    assert!(size_of::<Decoder>() <= 192, "{} bytes in place", size_of::<Decoder>());
    for (dialect, delta) in deltas() {
        let allocations = measure(|| {
            let mut decoder = decoder(dialect);
            for read in delta.chunks(100) {
                output_bytes(&mut decoder, &[read]);
            }
            // Lives to the end: what counts is what it keeps.
            std::mem::forget(decoder);
        });
        assert!(allocations.bytes_current <= 1 << 10, "{} bytes on the heap", allocations.bytes_current);
    }
}

#[test]
fn memory_stays_bounded_by_the_limit_whatever_comes_in() {
    const LIMIT: usize = 4 << 10;
    let endless_line = [b'x'; 1 << 10];
    let endless_event = b"data: 0123456789\n".repeat(64);
    let endless_name = b"event: 0123456789\r".repeat(64);
    let endless_object = b"{\n \"a\": [\n".repeat(64);
    let endless_array = b"[{\"a\":\"\\".repeat(64);
    let message_that_is_not_ended = messages::event("a", &"x".repeat(LIMIT));
    for (dialect, start, endless) in [
        (Dialect::OpenAiChat, &b"data: "[..], &endless_line[..]),
        (Dialect::OpenAiChat, b"data: ", &endless_event),
        (Dialect::OpenAiChat, b"data: ", &endless_name),
        (Dialect::OpenAiChat, b"data: ", &endless_object),
        (Dialect::Ollama, b"", &endless_line),
        (Dialect::GeminiArray, b"[", &endless_line),
        (Dialect::GeminiArray, b"", &endless_array),
        (Dialect::BedrockConverse, b"", &message_that_is_not_ended),
        (Dialect::BedrockConverse, &message_that_is_not_ended[..100], &endless_line),
    ] {
        let mut decoder = Decoder::new(dialect).limit(LIMIT);
        let allocations = measure(|| {
            decoder.push(start, |_| {});
            for _ in 0..1_000 {
                decoder.push(endless, |_| {});
            }
        });
        // Buffers grow by doubling: while one moves, its old and its new half are both there.
        assert!(allocations.bytes_max <= 4 * LIMIT as u64, "{} bytes", allocations.bytes_max);
    }
}
