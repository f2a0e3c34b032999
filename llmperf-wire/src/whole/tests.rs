//! An answer that was condensed on its way says what the answer itself says.
#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Reader;
use crate::dialect::Dialect;
use crate::event::{Chunk, Failure, Origin};
use crate::framing::{Frame, Whole};

/// Names that the readings look for, where they should stand and where they should not.
const NAMES: &[&str] = &[
    "choices",
    "message",
    "delta",
    "content",
    "text",
    "finish_reason",
    "index",
    "usage",
    "prompt_tokens",
    "completion_tokens",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "error",
    "code",
    "type",
    "status",
    "object",
    "output",
    "stop_reason",
    "stopReason",
    "candidates",
    "usageMetadata",
    "promptTokenCount",
    "done",
    "done_reason",
    "eval_count",
    "response",
    "meta",
    "tokens",
    "billed_units",
    "data",
    "results",
    "embedding",
    "embeddings",
    "model",
    "id",
    "detail",
    "__type",
    "parts",
    "inputTokens",
    "metrics",
    "latencyMs",
];

fn answer() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Into::into),
        (0u32..5_000).prop_map(Into::into),
        prop::sample::select(vec!["message", "response", "error", "stop", "x", ""]).prop_map(Into::into),
        vec(any::<i32>(), 60..90).prop_map(|vector| json!(vector)),
    ];
    let fields = |value| prop::collection::btree_map(prop::sample::select(NAMES), value, 0..8);
    let value = leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), fields(inner.boxed()).prop_map(object)]
    });
    fields(value.boxed()).prop_map(object)
}

fn object(fields: std::collections::BTreeMap<&str, Value>) -> Value {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The figures of an answer, in words.
fn figures(hint: Option<Dialect>, refused: bool, data: &[u8]) -> String {
    let mut chunk = Chunk::new(Origin::Event, false);
    let known = Reader::new(hint, refused).read(data, &mut chunk);
    let finishes: Vec<_> = chunk.finishes().collect();
    let error_type = chunk.failure.as_ref().map(Failure::error_type);
    format!(
        "{known:?} {:?} {:?} {finishes:?} {error_type:?} {:?} {:?} {} {}",
        chunk.usage,
        chunk.timings,
        chunk.model,
        chunk.id,
        chunk.terminal,
        chunk.outputs().count(),
    )
}

proptest! {
    #[test]
    fn a_condensed_answer_has_the_figures_of_the_answer(
        answer in answer(),
        pretty in any::<bool>(),
        refused in any::<bool>(),
        length in 1usize..60,
        hint in prop::option::of(prop::sample::select(vec![
            Dialect::OpenAiChat, Dialect::OpenAiResponses, Dialect::Anthropic, Dialect::Cohere, Dialect::Gemini,
            Dialect::Ollama, Dialect::BedrockConverse,
        ])),
    ) {
        let text = if pretty { serde_json::to_string_pretty(&answer).unwrap() } else { answer.to_string() };
        let mut condensed = Vec::new();
        let mut whole = Whole::new();
        for read in text.as_bytes().chunks(length) {
            whole.push(read, |frame| {
                if let Frame::Event { data, .. } = frame {
                    condensed.push(data.to_vec());
                }
            });
        }
        prop_assert_eq!(condensed.len(), 1);
        prop_assert_eq!(figures(hint, refused, &condensed[0]), figures(hint, refused, text.as_bytes()), "{}", text);
    }
}
