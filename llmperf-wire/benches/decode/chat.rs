//! OpenAI Chat Completions: a stream as OpenAI sends it, and typed structs for it.

use std::hint::black_box;

use serde::Deserialize;

use crate::{FRAMES, Sum, WORDS};

/// A stream as OpenAI sends it: a role, text deltas of which every eighth holds an escape, a finish, usage, `[DONE]`.
///
/// With `choices_first` the fields stand in the order of llama.cpp, so that id and model come behind the text.
pub(crate) fn frames(choices_first: bool) -> Vec<Vec<u8>> {
    let head = r#""id":"chatcmpl-B9xKq2vT0yLm4RzWcN7dUeHsPf3Ga","object":"chat.completion.chunk","created":1764547200,"model":"gpt-4o-mini-2024-07-18","service_tier":"default","system_fingerprint":"fp_44add5dbca""#;
    let frame = |choices: String, rest: String| {
        let payload = if choices_first {
            format!(r#""choices":[{choices}],{head},{rest}"#)
        } else {
            format!(r#"{head},"choices":[{choices}],{rest}"#)
        };
        format!("data: {{{payload}}}\n\n").into_bytes()
    };
    let delta = |delta: &str, finish: &str, obfuscation: &str| {
        frame(
            format!(r#"{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}"#),
            format!(r#""usage":null,"obfuscation":"{obfuscation}""#),
        )
    };
    let mut frames = vec![delta(r#"{"role":"assistant","content":"","refusal":null}"#, "null", "b7Qe")];
    frames.extend((0..FRAMES).map(|n| {
        let obfuscation = &"x9LpQ2vTzKw4"[..n % 12];
        delta(&format!(r#"{{"content":"{}"}}"#, WORDS[n % WORDS.len()]), "null", obfuscation)
    }));
    frames.push(delta("{}", r#""stop""#, ""));
    frames.push(frame(
        String::new(),
        r#""usage":{"prompt_tokens":14,"completion_tokens":2000,"total_tokens":2014,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},"obfuscation":"XfZk""#.to_owned(),
    ));
    frames.push(b"data: [DONE]\n\n".to_vec());
    frames
}

/// The chunk as its documentation has it, and as client crates write it.
#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TypedChunk {
    id: String,
    object: String,
    created: u32,
    model: String,
    service_tier: Option<String>,
    system_fingerprint: Option<String>,
    choices: Vec<TypedChoice>,
    usage: Option<TypedUsage>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TypedChoice {
    index: u32,
    delta: TypedDelta,
    finish_reason: Option<String>,
    logprobs: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TypedDelta {
    role: Option<String>,
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<TypedToolCall>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct TypedToolCall {
    index: u32,
    id: Option<String>,
    function: Option<TypedFunction>,
}

#[derive(Deserialize)]
struct TypedFunction {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct TypedUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// The chunk is one struct: there is no type to look for.
pub(crate) fn typed(_: &str, data: &str, sum: &mut Sum) {
    if data.starts_with("[DONE]") {
        return;
    }
    let chunk: TypedChunk = serde_json::from_str(data).unwrap();
    black_box((&chunk.id, &chunk.model));
    for choice in &chunk.choices {
        black_box((choice.index, &choice.finish_reason));
        sum.0 += choice.delta.content.as_deref().map_or(0, str::len);
        sum.0 += choice.delta.refusal.as_deref().map_or(0, str::len);
        for function in choice.delta.tool_calls.iter().flatten().filter_map(|call| call.function.as_ref()) {
            sum.0 += function.name.as_deref().map_or(0, str::len);
            sum.0 += function.arguments.as_deref().map_or(0, str::len);
        }
    }
    if let Some(usage) = &chunk.usage {
        sum.1 = usage.prompt_tokens + usage.completion_tokens;
    }
}
