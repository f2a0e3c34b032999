//! The recorded streams, where they are at hand.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use llmperf_wire::Dialect;
use serde_json::Value;

/// The formats of the index, and the dialects that read them.
const FORMATS: [(&str, Dialect); 7] = [
    ("/api/chat NDJSON", Dialect::Ollama),
    ("Chat Completions SSE", Dialect::OpenAiChat),
    ("ConverseStream (binary)", Dialect::BedrockConverse),
    ("Messages SSE", Dialect::Anthropic),
    ("Responses SSE", Dialect::OpenAiResponses),
    ("streamGenerateContent SSE", Dialect::Gemini),
    ("v2 chat SSE", Dialect::Cohere),
];

/// How many recordings there are.
const RECORDINGS: usize = 18;

/// A recorded stream.
pub(crate) struct Recording {
    /// What the index says of it.
    pub(crate) entry: Value,
    pub(crate) dialect: Dialect,
    pub(crate) bytes: Vec<u8>,
}

/// All recordings, where they are at hand.
pub(crate) fn recordings() -> Option<Vec<Recording>> {
    let folder = folder()?;
    let index: Vec<Value> = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    let recordings = index.into_iter().map(|entry| {
        let format = entry["format"].as_str().unwrap();
        let (_, dialect) = *FORMATS.iter().find(|(known, _)| *known == format).unwrap();
        let bytes = std::fs::read(folder.join(entry["file"].as_str().unwrap())).unwrap();
        Recording { entry, dialect, bytes }
    });
    let recordings: Vec<_> = recordings.collect();
    assert_eq!(recordings.len(), RECORDINGS);
    Some(recordings)
}

/// Their folder. They are not part of the repository; without them the test that asks says so in one line and passes,
/// but not in CI.
fn folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/streams");
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "the recorded streams are missing: CI must not pass without them");
    // Past the capture of the test harness: what is left out must be seen.
    std::io::stderr().write_all(b"left out: the recorded streams are not at hand\n").unwrap();
    None
}
