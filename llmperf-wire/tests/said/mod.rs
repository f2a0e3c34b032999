//! What a decoder reports of a stream, as plain values that a test can compare.

use std::collections::BTreeMap;

use llmperf_wire::{Counts, Decoder, Dialect, Event, FinishKind, Origin, PieceKind, Usage};
use serde_json::Value;

/// All that one chunk says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) between_the_events: bool,
    pub(crate) output: Vec<(PieceKind, String)>,
    pub(crate) usage: Option<Usage>,
    pub(crate) finish: Option<(String, FinishKind)>,
    /// `error.type` and message.
    pub(crate) failure: Option<(String, Option<String>)>,
    pub(crate) terminal: bool,
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) service_tier: Option<String>,
}

/// What a whole stream says, and what the decoder counted.
pub(crate) fn stream(dialect: Dialect, stream: &str) -> (Vec<Said>, Counts) {
    let mut said = Vec::new();
    let mut decoder = Decoder::new(dialect);
    let mut take = |event: Event<'_>| {
        let Event::Chunk(chunk) = event else { return };
        assert!(chunk.outputs().all(|piece| piece.choice == 0) && chunk.finishes().count() <= 1);
        said.push(Said {
            between_the_events: chunk.origin != Origin::Event,
            output: chunk.outputs().map(|piece| (piece.kind, piece.text.to_string())).collect(),
            usage: chunk.usage,
            finish: chunk.finishes().next().map(|finish| (finish.reason.to_string(), finish.kind)),
            failure: chunk
                .failure
                .as_ref()
                .map(|failure| (failure.error_type().into_owned(), failure.message.map(|message| message.to_string()))),
            terminal: chunk.terminal,
            id: chunk.id.map(|id| id.to_string()),
            model: chunk.model.map(|model| model.to_string()),
            service_tier: chunk.service_tier.map(|tier| tier.to_string()),
        });
    };
    decoder.push(stream.as_bytes(), &mut take);
    decoder.finish(&mut take);
    (said, decoder.counts())
}

/// What one event says that the dialect knows, by its payload alone and whatever the order of its fields.
pub(crate) fn event(dialect: Dialect, json: &str) -> Said {
    let [said, sorted, reversed] = [json.to_owned(), sorted(json), reversed(json)].map(|json| {
        let (mut said, counts) = stream(dialect, &format!("data: {json}\n\n"));
        assert_eq!((said.len(), counts), (1, Counts::default()), "one chunk of a known kind: {json}");
        said.remove(0)
    });
    assert_eq!((&sorted, &reversed), (&said, &said), "{json}");
    said
}

/// Asserts that the payload is a chunk of a known kind that says nothing.
pub(crate) fn assert_silent(dialect: Dialect, json: &str) {
    assert_eq!(event(dialect, json), Said::default(), "{json}");
}

/// Asserts that the stream is one chunk of an unknown kind that says nothing.
pub(crate) fn assert_unknown(dialect: Dialect, frame: &str) {
    let (said, counts) = stream(dialect, frame);
    assert_eq!((said, counts.unknown, counts.malformed), (vec![Said::default()], 1, 0), "{frame}");
}

pub(crate) fn one(kind: PieceKind, text: &str) -> Said {
    Said { output: vec![(kind, text.to_owned())], ..Said::default() }
}

pub(crate) fn failed(error_type: &str, message: &str) -> Option<(String, Option<String>)> {
    Some((error_type.to_owned(), Some(message.to_owned())))
}

/// A JSON text with the fields of its objects in the order of their names.
pub(crate) fn sorted(json: &str) -> String {
    written(&serde_json::from_str(json).unwrap(), false)
}

/// The same in the reverse order.
pub(crate) fn reversed(json: &str) -> String {
    written(&serde_json::from_str(json).unwrap(), true)
}

fn written(value: &Value, reverse: bool) -> String {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.iter().collect();
            let mut fields: Vec<_> =
                sorted.iter().map(|(name, value)| format!("\"{name}\":{}", written(value, reverse))).collect();
            if reverse {
                fields.reverse();
            }
            format!("{{{}}}", fields.join(","))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| written(item, reverse)).collect();
            format!("[{}]", items.join(","))
        }
        other => other.to_string(),
    }
}
