//! Gemini: a stream as Google sends it, as events and as an array, and typed structs for it.

use std::hint::black_box;

use serde::Deserialize;

use crate::{FRAMES, Sum, WORDS};

/// The answers of a stream, one line each.
fn answers() -> Vec<String> {
    let answer = |text: &str, finish: &str, output: usize| {
        format!(
            r#"{{"candidates": [{{"content": {{"parts": [{{"text": "{text}"}}],"role": "model"}},{finish}"index": 0}}],"usageMetadata": {{"promptTokenCount": 14,"candidatesTokenCount": {output},"totalTokenCount": {},"promptTokensDetails": [{{"modality": "TEXT","tokenCount": 14}}],"thoughtsTokenCount": 30}},"modelVersion": "gemini-2.5-flash","responseId": "NrWuaPPbCMCrnsEPrqnd0Qs"}}"#,
            14 + 30 + output
        )
    };
    let deltas = (0..FRAMES).map(|n| {
        let text: String = (0..4).map(|word| WORDS[(n + word) % WORDS.len()]).collect();
        answer(&text, "", n)
    });
    deltas.chain([answer("", r#""finishReason": "STOP","#, FRAMES)]).collect()
}

pub(crate) fn events() -> Vec<Vec<u8>> {
    answers().iter().map(|answer| format!("data: {answer}\r\n\r\n").into_bytes()).collect()
}

/// The same with the line ends and blanks of the array.
pub(crate) fn array() -> Vec<Vec<u8>> {
    let broken = |answer: &str| answer.replace(": [{", ": [\n    {\n      ").replace("},\"", "},\n  \"");
    let mut before = "[";
    let mut elements: Vec<Vec<u8>> = answers()
        .iter()
        .map(|answer| [std::mem::replace(&mut before, ",\r\n"), &broken(answer), "\r\n"].concat().into_bytes())
        .collect();
    elements.push(b"]".to_vec());
    elements
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    candidates: Vec<Candidate>,
    usage_metadata: Option<Usage>,
    model_version: Option<String>,
    response_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Content>,
    finish_reason: Option<String>,
    index: Option<u32>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    parts: Vec<Part>,
    role: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    thought: Option<bool>,
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    name: Option<String>,
    args: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct Usage {
    prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    total_token_count: Option<u64>,
    prompt_tokens_details: Option<Vec<Modality>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "a typed struct is filled whole")]
struct Modality {
    modality: Option<String>,
    token_count: Option<u64>,
}

pub(crate) fn typed(_: &str, data: &str, sum: &mut Sum) {
    take(&serde_json::from_str(data).unwrap(), sum);
}

/// Each element by itself as soon as it is whole: the commas taken off by hand, the rest by serde_json's stream of
/// values. There is no public crate for a growing array; whoever does without this waits for its end.
pub(crate) fn typed_array(reads: &[Vec<u8>]) -> Sum {
    let mut sum = (0, 0);
    let mut held: Vec<u8> = Vec::new();
    for read in reads {
        held.extend_from_slice(read);
        let mut from = 0;
        loop {
            from += held[from..].iter().take_while(|byte| b"[, \t\r\n".contains(byte)).count();
            let mut values = serde_json::Deserializer::from_slice(&held[from..]).into_iter::<Answer>();
            let Some(Ok(answer)) = values.next() else { break };
            from += values.byte_offset();
            take(&answer, &mut sum);
        }
        held.drain(..from);
    }
    sum
}

fn take(answer: &Answer, sum: &mut Sum) {
    black_box((&answer.model_version, &answer.response_id));
    for candidate in &answer.candidates {
        black_box((candidate.index, &candidate.finish_reason));
        for part in candidate.content.iter().flat_map(|content| &content.parts) {
            black_box(part.thought);
            sum.0 += part.text.as_deref().map_or(0, str::len);
            if let Some(call) = &part.function_call {
                sum.0 += call.name.as_deref().map_or(0, str::len)
                    + call.args.as_ref().map_or(0, |args| args.to_string().len());
            }
        }
        black_box(candidate.content.as_ref().and_then(|content| content.role.as_ref()));
    }
    if let Some(usage) = &answer.usage_metadata {
        let [input, output, thoughts] =
            [usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count];
        sum.1 = [input, output, thoughts].into_iter().flatten().sum();
    }
}
