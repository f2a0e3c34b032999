//! Whatever comes in and wherever it is cut: the same events, bounded memory, no panic.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "messages/mod.rs"]
mod messages;

use llmperf_wire::{Decoder, Dialect, Event, Usage};
use proptest::collection::vec;
use proptest::prelude::*;

const LIMIT: usize = 96;

/// The dialects, and the event that carries a text in each.
const DIALECTS: [(Dialect, &str); 8] = [
    (Dialect::OpenAiChat, r#"{"choices":[{"index":0,"delta":{"content":$}}]}"#),
    (Dialect::OpenAiResponses, r#"{"type":"response.output_text.delta","delta":$}"#),
    (Dialect::Anthropic, r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":$}}"#),
    (Dialect::Cohere, r#"{"delta":{"message":{"content":{"text":$}}},"type":"content-delta"}"#),
    (Dialect::Gemini, r#"{"candidates":[{"content":{"parts":[{"text":$}]}}]}"#),
    (Dialect::GeminiArray, r#"{"candidates":[{"content":{"parts":[{"text":$}]}}]}"#),
    (Dialect::Ollama, r#"{"message":{"content":$}}"#),
    (Dialect::BedrockConverse, r#"{"delta":{"text":$}}"#),
];

/// A payload, whole or not, as the only event of a stream.
fn framed(dialect: Dialect, payload: &str) -> Vec<u8> {
    match dialect {
        Dialect::GeminiArray => format!("[{payload}").into_bytes(),
        Dialect::Ollama => format!("{payload}\n").into_bytes(),
        Dialect::BedrockConverse => messages::event("contentBlockDelta", payload),
        _ => format!("data: {payload}\n\n").into_bytes(),
    }
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop::sample::select(DIALECTS.map(|(dialect, _)| dialect).to_vec())
}

/// All that a decoder reports, in words, with the most that it held.
fn report<'r>(dialect: Dialect, reads: impl IntoIterator<Item = &'r [u8]>) -> (Vec<String>, usize) {
    report_within(LIMIT, dialect, reads)
}

fn report_within<'r>(
    limit: usize,
    dialect: Dialect,
    reads: impl IntoIterator<Item = &'r [u8]>,
) -> (Vec<String>, usize) {
    let mut decoder = Decoder::new(dialect).limit(limit);
    let mut seen = Vec::new();
    let mut held = 0;
    for read in reads {
        decoder.push(read, |event| seen.push(format!("{event:?}")));
        held = held.max(decoder.held());
    }
    decoder.finish(|event| seen.push(format!("{event:?}")));
    seen.push(format!("{:?}", decoder.counts()));
    (seen, held)
}

/// Parts the bytes after each of `lengths`, again and again.
fn cut<'b>(mut bytes: &'b [u8], lengths: &[usize]) -> Vec<&'b [u8]> {
    let mut reads = Vec::new();
    for &length in lengths.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (read, rest) = bytes.split_at(length.min(bytes.len()));
        reads.push(read);
        bytes = rest;
    }
    reads
}

/// Pieces that streams are made of, whole and broken.
fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        &b"data: {\"choices\":[{\"delta\":{\"content\":\"h\\u00e9\"}}]}"[..],
        b"data: {\"usage\":{\"prompt_tokens\":3}}",
        b"data: {\"error\":{\"code\":\"x\"}}",
        b"data: {\"choices\":[{\"index\":1,\"finish_reason\":\"stop\"}]}",
        b"data: {\"type\":\"response.output_text.delta\",\"delta\":\"h\\u00e9\"}",
        b"data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\"}}",
        b"data: {\"type\":\"response.completed\"}",
        b"event: response.refusal.delta\ndata: {\"delta\":\"no\"}",
        b"data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}",
        b"data: {\"type\":\"message_delta\",\"usage\":{\"cache_read_input_tokens\":3}}",
        b"data: {\"type\":\"message_stop\"}",
        b"event: content_block_delta\ndata: {\"delta\":{\"text\":\"h\"}}",
        b"data: {\"type\":\"tool-plan-delta\",\"delta\":{\"message\":{\"tool_plan\":\"h\"}}}",
        b"data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"ERROR\"}}",
        b"data: [DONE]",
        b"data:",
        b"data",
        b"event: error",
        b"error: {\"error\":\"e\"}",
        b"{\"error\":\"bare\"}",
        b"{",
        b"}",
        b": comment",
        b"id: 1",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b"\xEF\xBB\xBF",
        b"\xE2\x82\xAC",
        b"\xFF",
        b"0123456789012345678901234567890123456789",
        b"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"h\"}]}}]}",
        b"{\"message\":{\"content\":\"h\\\"]}\"},\"done\":true}\n",
        b"[",
        b",",
        b"]",
        b"\"",
        b"\\",
    ])
    .prop_map(<[u8]>::to_vec);
    prop_oneof![8 => known, 2 => message(), 1 => vec(any::<u8>(), 0..8)]
}

/// Messages of the binary event stream, some of them just as large as may be, or larger, few of them spoilt.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let kinds = prop::sample::select(vec![":event-type", ":event-type", ":error-code", ":x"]);
    let names = prop::sample::select(vec!["metadata", "messageStop", "contentBlockDelta", "y"]);
    let fillers = prop_oneof![0usize..40, 0usize..200];
    (kinds, names, fillers, prop::option::weighted(0.05, any::<prop::sample::Index>())).prop_map(
        |(kind, name, filler, spoilt)| {
            let payload = format!("{{\"delta\":{{\"text\":\"{}\"}}}}", "h".repeat(filler));
            let mut bytes = messages::message(&messages::text_header(kind, name), payload.as_bytes());
            if let Some(place) = spoilt {
                *place.get_mut(&mut bytes) ^= 0x10;
            }
            bytes
        },
    )
}

/// Payloads of a dialect that are alike, nearly alike, cut, or in another order, so that what is remembered of one may
/// mislead about the next.
fn payloads() -> impl Strategy<Value = (Dialect, Vec<String>)> {
    let of = |dialect, parts| pieced(parts).prop_map(move |payloads| (dialect, payloads));
    prop_oneof![
        of(Dialect::OpenAiChat, &CHAT),
        of(Dialect::OpenAiResponses, &RESPONSES),
        of(Dialect::Anthropic, &MESSAGES),
        of(Dialect::Cohere, &COHERE),
        of(Dialect::Gemini, &GEMINI),
        of(Dialect::Ollama, &OLLAMA),
        of(Dialect::BedrockConverse, &BEDROCK),
    ]
}

/// The beginnings, values and ends that payloads are put together from; a value stands for `$` in each of them.
struct Parts {
    heads: &'static [&'static str],
    tails: &'static [&'static str],
}

const VALUES: &[&str] =
    &[r#""x""#, r#""other""#, r#""\u00e9""#, r#""""#, r#" "y""#, "null", "7", "12.0", r#"{"a":"b"}"#, r#"["c"]"#, "{"];

const CHAT: Parts = Parts {
    heads: &[
        r#"{"id":"a","model":"m","choices":[{"index":0,"delta":{"content":$"#,
        r#"{"id":"b","model":"m","choices":[{"index":0,"delta":{"content":$"#,
        r#"{"id":"a","model":"m","choices":[{"index":1,"delta":{"content":$"#,
        r#"{"choices":[{"index":1,"delta":{"reasoning":$,"reasoning_content":"z"#,
        r#"{"choices":[{"index":1,"delta":{"reasoning":$,"content":$"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":$}}]"#,
        r#"{"choices":[{"text":$,"delta":{"tool_calls":[{"function":{"arguments":{}}}]"#,
        r#"{"choices":[{"text":$,"delta":{"role":"a""#,
        r#"{"choices":[{"finish_reason":"stop","delta":{"content":$"#,
        r#"{"choices":[{"index":2,"delta":{"content":"z"}},{"index":3,"delta":{"content":$"#,
        r#"{"object":"error","type":"t","choices":[{"delta":{"content":$"#,
        r#"{"usage":{"prompt_tokens":7},"choices":[{"delta":{"content":$"#,
        r#"{"error":"e","choices":[{"delta":{"content":$"#,
        r#"{"choices":[{"token_ids":[1],"delta":{"content":$"#,
    ],
    tails: &[
        r#"},"finish_reason":null}],"usage":null,"obfuscation":$}"#,
        r#"},"finish_reason":"length","index":1}],"usage":{"completion_tokens":3}}"#,
        r#"}}],"error":{"code":"c"}}"#,
        r#"}},{"index":4,"delta":{"content":"w"}}]}"#,
        "}}]}",
        "} } ] }",
        "}}]",
        "",
    ],
};

const RESPONSES: Parts = Parts {
    heads: &[
        r#"{"type":"response.output_text.delta","sequence_number":$,"delta":$"#,
        r#"{"type":"response.refusal.delta","sequence_number":$,"delta":$"#,
        r#"{"type":"response.output_text.done","sequence_number":$,"delta":$"#,
        r#"{"sequence_number":$,"delta":$"#,
        r#"{"delta":$,"sequence_number":3"#,
    ],
    tails: &[
        r#","logprobs":[],"obfuscation":$}"#,
        r#","obfuscation":$,"type":"response.reasoning_text.delta"}"#,
        r#","error":$}"#,
        r#","delta":$}"#,
        " }",
        "}",
        "",
    ],
};

const MESSAGES: Parts = Parts {
    heads: &[
        r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":$"#,
        r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","text":$"#,
        r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":$"#,
        r#"{"type":"content_block_delta","delta":{"text":$"#,
        r#"{"type":"content_block_start","content_block":{"type":"text","text":$"#,
        r#"{"delta":{"partial_json":$"#,
    ],
    tails: &[
        "}}",
        "}    }",
        r#","thinking":$}}"#,
        r#"},"type":"content_block_delta"}"#,
        r#"},"message":{"id":$}}"#,
        r#"},"error":{"type":"t"}}"#,
        "}",
    ],
};

const COHERE: Parts = Parts {
    heads: &[
        r#"{"type":"content-delta","delta":{"message":{"content":{"text":$"#,
        r#"{"type":"content-delta","delta":{"message":{"content":{"thinking":$"#,
        r#"{"type":"citation-start","delta":{"message":{"content":{"text":$"#,
        r#"{"delta":{"message":{"content":{"text":$"#,
        r#"{"delta":{"message":{"tool_plan":$,"content":{"a":$"#,
    ],
    tails: &[
        "}}}}",
        "}} } }",
        r#"}}},"type":"content-delta"}"#,
        r#"}}},"type":"tool-plan-delta","id":$}"#,
        r#"}},"error":$}}"#,
        "}}}",
    ],
};

const GEMINI: Parts = Parts {
    heads: &[
        r#"{"usageMetadata":{"promptTokensDetails":[{"modality":"TEXT","tokenCount":7}]"#,
        r#"{"usageMetadata":{"promptTokensDetails":[{"modality":"AUDIO","tokenCount":7}]"#,
        r#"{"usageMetadata":{"promptTokensDetails":[{"modality":"TEXT","tokenCount":7},{"modality":4,"tokenCount":$}]"#,
        r#"{"usageMetadata":{"promptTokensDetails": [ {"modality":"TEXT"} ]"#,
        r#"{"usageMetadata":{"promptTokensDetails":$"#,
        r#"{"usageMetadata":{"promptTokensDetails":[]"#,
        r#"{"candidates":[{"content":{"parts":[{"text":$}]}}],"usageMetadata":{"promptTokenCount":$"#,
        r#"{"candidates":[{"content":{"parts":[{"text":$}]}}],"usageMetadata":{"totalTokenCount":$,"candidatesTokenCount":$"#,
        r#"{"candidates":[{"content":{"parts":[{"text":$,"thought":true}]},"index":2}],"usageMetadata":{"promptTokensDetails":$"#,
        r#"{"candidates":[{"content":{"parts":[{"text":$},{"text":""}]}}],"usageMetadata":{"thoughtsTokenCount":$"#,
        r#"{"candidates":[{"finishReason":"STOP","content":{"parts":[{"text":$}]}}],"usageMetadata":{"thoughtsTokenCount":$"#,
        r#"{"usageMetadata":{"promptTokenCount":4,"toolUsePromptTokenCount":$},"candidates":[{"content":{"parts":[{"text":$}]}}],"a":{"b":$"#,
    ],
    tails: &[
        r#","candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":7}]}}"#,
        r#","promptTokenCount":$,"cachedContentTokenCount":3}}"#,
        r#"},"usageMetadata":{"promptTokenCount":$}}"#,
        r#"},"promptFeedback":{"blockReason":$}}"#,
        r#"},"error":{"code":$}}"#,
        "} }",
        r#","candidatesTokenCount":3}}"#,
        r#"},"candidates":[]}"#,
        r#","promptTokensDetails":$}}"#,
        "}}",
        "}",
        "x}}",
    ],
};

const OLLAMA: Parts = Parts {
    heads: &[
        r#"{"model":"m","created_at":$,"message":{"role":"assistant","content":$"#,
        r#"{"model":"n","created_at":$,"message":{"role":"assistant","content":$"#,
        r#"{"model":"m","created_at":$,"message":{"content":"","thinking":$"#,
        r#"{"created_at":$,"message":{"content":$,"thinking":"z""#,
        r#"{"created_at":$,"message":{"content":$,"tool_calls":[{"function":{"arguments":{}}}]"#,
        r#"{"response":$,"message":{"images":[]"#,
        r#"{"thinking":$,"created_at":$,"a":{"b":1"#,
    ],
    tails: &[
        r#"},"done":false}"#,
        r#"},"done":true,"eval_count":$}"#,
        r#"},"done_reason":$}"#,
        r#"},"total_duration":$}"#,
        r#"},"error":$}"#,
        r#","content":$}}"#,
        "} } ",
        "}",
    ],
};

const BEDROCK: Parts = Parts {
    heads: &[
        r#"{"contentBlockIndex":0,"delta":{"text":$"#,
        r#"{"contentBlockIndex":1,"delta":{"text":$"#,
        r#"{"contentBlockIndex":1,"p":$,"delta":{"text":$"#,
        r#"{"delta":{"reasoningContent":{"signature":"s"},"text":$"#,
        r#"{"delta":{"toolUse":{"input":$}"#,
        r#"{"delta":{"reasoningContent":{"text":$}"#,
        r#"{"delta":{"image":{"source":{"bytes":$}}"#,
    ],
    tails: &[r#"},"p":$}"#, "}}", "} } ", r#","text":$}}"#, r#"},"delta":{"text":$}}"#, r#"},"usage":$}"#, "}"],
};

/// Up to three shapes, so that like follows like.
fn pieced(parts: &Parts) -> impl Strategy<Value = Vec<String>> {
    let Parts { heads, tails } = *parts;
    let shapes = vec((prop::sample::select(heads), prop::sample::select(tails)), 1..4);
    let payloads = vec((any::<prop::sample::Index>(), vec(prop::sample::select(VALUES), 4)), 1..12);
    (shapes, payloads).prop_map(|(shapes, payloads)| {
        let payload = |(shape, values): (prop::sample::Index, Vec<&str>)| {
            let (head, tail) = shape.get(&shapes);
            let shape = [*head, *tail].concat();
            let values = values.into_iter().cycle();
            shape.split('$').zip(std::iter::once("").chain(values)).flat_map(|(part, value)| [value, part]).collect()
        };
        payloads.into_iter().map(payload).collect()
    })
}

/// Objects of any shape, in which the dialect's own names turn up where they should and where they should not.
fn json_object() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,12}".prop_map(Into::into),
        prop::sample::select(vec![
            "response.output_text.delta",
            "response.completed",
            "response.failed",
            "message_start",
            "message_delta",
            "content_block_start",
            "tool_use",
            "content-delta",
            "message-end",
            "error",
        ])
        .prop_map(Into::into),
    ];
    let name = prop_oneof![
        prop::sample::select(vec![
            "choices",
            "delta",
            "index",
            "content",
            "tool_calls",
            "function",
            "arguments",
            "usage",
            "error",
            "code",
            "x_groq",
            "prompt_tokens",
            "timings",
            "prompt_ms",
            "finish_reason",
            "token_ids",
            "thinking",
            "text",
            "object",
            "type",
            "response",
            "item",
            "status",
            "incomplete_details",
            "message",
            "content_block",
            "partial_json",
            "input_tokens",
            "output_tokens_details",
            "tool_plan",
            "billed_units",
            "finish_reason",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    let fields = move |value| prop::collection::btree_map(name.clone(), value, 0..5);
    let object = fields.clone();
    let value = leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Into::into), object(inner.boxed()).prop_map(as_object)]
    });
    fields(value.boxed()).prop_map(as_object)
}

fn as_object(fields: std::collections::BTreeMap<String, serde_json::Value>) -> serde_json::Value {
    fields.into_iter().collect()
}

/// A report as one payload gives it: the input and output of Gemini's are sums with what earlier reports told
/// (`tests/gemini/usages.rs`).
fn reported(dialect: Dialect, usage: Option<Usage>) -> Option<Usage> {
    usage.map(|mut usage| {
        if matches!(dialect, Dialect::Gemini | Dialect::GeminiArray) {
            (usage.input, usage.output) = (None, None);
        }
        usage
    })
}

/// What one payload says, but for what payloads repeat of their answer.
fn said(decoder: &mut Decoder, payload: &str) -> String {
    let mut said = String::new();
    let dialect = decoder.dialect().unwrap();
    let mut take = |event: Event<'_>| {
        said = match event {
            Event::Chunk(chunk) => format!(
                "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
                chunk.outputs().collect::<Vec<_>>(),
                chunk.finishes().collect::<Vec<_>>(),
                reported(dialect, chunk.usage),
                chunk.failure,
                chunk.tokens,
                chunk.timings,
                chunk.terminal,
            ),
            other => format!("{other:?}"),
        };
    };
    decoder.push(&framed(dialect, payload), &mut take);
    if dialect == Dialect::GeminiArray {
        decoder.finish(take);
    }
    said
}

proptest! {
    #[test]
    fn what_came_before_does_not_change_what_a_payload_says((dialect, payloads) in payloads()) {
        let mut decoder = Decoder::new(dialect);
        for payload in &payloads {
            let fresh = said(&mut Decoder::new(dialect), payload);
            prop_assert_eq!(said(&mut decoder, payload), fresh, "{}", payload);
        }
    }

    #[test]
    fn every_json_object_parses_and_no_part_of_one_does(
        dialect in dialect(), value in json_object(), cut in any::<prop::sample::Index>(),
    ) {
        let whole = value.to_string();
        let said = said(&mut Decoder::new(dialect), &whole);
        prop_assert!(!said.starts_with("Malformed"), "{}", whole);
        let mut part = cut.index(whole.len()).max(1);
        while !whole.is_char_boundary(part) {
            part -= 1;
        }
        let mut decoder = Decoder::new(dialect);
        decoder.push(&framed(dialect, &whole[..part]), |_| {});
        decoder.finish(|_| {});
        prop_assert_eq!(decoder.counts().malformed, 1, "{}", &whole[..part]);
    }

    #[test]
    fn reads_may_be_cut_anywhere(
        dialect in dialect(), fragments in vec(fragment(), 0..40), lengths in vec(1usize..40, 1..12),
    ) {
        let stream = fragments.concat();
        let (whole, _) = report(dialect, [stream.as_slice()]);
        let (cut, _) = report(dialect, cut(&stream, &lengths));
        prop_assert_eq!(cut, whole);
    }

    #[test]
    fn messages_may_be_cut_anywhere(sent in vec(message(), 0..20), lengths in vec(1usize..150, 1..12)) {
        let stream = sent.concat();
        let (whole, _) = report(Dialect::BedrockConverse, [stream.as_slice()]);
        let (cut, held) = report(Dialect::BedrockConverse, cut(&stream, &lengths));
        prop_assert_eq!(cut, whole);
        prop_assert!(held <= LIMIT);
    }

    #[test]
    fn elements_may_be_cut_anywhere(values in vec(json_object(), 0..8), lengths in vec(1usize..40, 1..12)) {
        let stream = serde_json::to_string_pretty(&values).unwrap();
        let (whole, _) = report(Dialect::GeminiArray, [stream.as_bytes()]);
        let (cut, held) = report(Dialect::GeminiArray, cut(stream.as_bytes(), &lengths));
        prop_assert_eq!(cut, whole);
        prop_assert!(held <= LIMIT);
    }

    #[test]
    fn elements_that_are_alike_may_be_cut_anywhere(
        payloads in pieced(&GEMINI), lengths in vec(1usize..300, 1..12), limit in 64usize..256,
    ) {
        let stream = format!("[{}]", payloads.join(",\r\n"));
        let (whole, _) = report_within(limit, Dialect::GeminiArray, [stream.as_bytes()]);
        let (bytes, _) = report_within(limit, Dialect::GeminiArray, stream.as_bytes().chunks(1));
        let (cut, held) = report_within(limit, Dialect::GeminiArray, cut(stream.as_bytes(), &lengths));
        prop_assert_eq!(&cut, &whole);
        prop_assert_eq!(&bytes, &whole);
        prop_assert!(held <= limit);
    }

    #[test]
    fn never_more_is_held_than_the_limit(
        dialect in dialect(), fragments in vec(fragment(), 0..60), lengths in vec(1usize..200, 1..12),
    ) {
        let stream = fragments.concat();
        let (_, held) = report(dialect, cut(&stream, &lengths));
        prop_assert!(held <= LIMIT, "{} bytes are held", held);
    }

    #[test]
    fn no_bytes_make_it_panic(
        dialect in dialect(), bytes in vec(any::<u8>(), 0..400), lengths in vec(1usize..50, 1..6),
    ) {
        let (whole, _) = report(dialect, [bytes.as_slice()]);
        let (cut, held) = report(dialect, cut(&bytes, &lengths));
        prop_assert_eq!(cut, whole);
        prop_assert!(held <= LIMIT);
    }

    #[test]
    fn any_text_comes_back_as_it_was_sent(text in ".{0,40}") {
        for (dialect, event) in DIALECTS {
            let json = event.replace('$', &serde_json::to_string(&text).unwrap());
            let mut seen = Vec::new();
            let mut decoder = Decoder::new(dialect);
            decoder.push(&framed(dialect, &json), |event| {
                if let Event::Chunk(chunk) = event {
                    seen.extend(chunk.outputs().map(|piece| (piece.text.decode().into_owned(), piece.text.len())));
                }
            });
            let sent = (text.clone(), text.len());
            let expected: Vec<_> = Some(sent).into_iter().filter(|(text, _)| !text.is_empty()).collect();
            prop_assert_eq!(seen, expected);
        }
    }
}
