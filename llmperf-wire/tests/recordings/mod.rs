//! The recorded streams, where they are at hand.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use llmperf_wire::Dialect;
use serde_json::Value;

/// The formats of the index, and the dialects that read them.
const FORMATS: [(&str, Option<Dialect>); 7] = [
    ("/api/chat NDJSON", None),
    ("Chat Completions SSE", Some(Dialect::OpenAiChat)),
    ("ConverseStream (binary)", None),
    ("Messages SSE", Some(Dialect::Anthropic)),
    ("Responses SSE", Some(Dialect::OpenAiResponses)),
    ("streamGenerateContent SSE", None),
    ("v2 chat SSE", Some(Dialect::Cohere)),
];

/// How many recordings there are of the formats that a dialect reads.
const READ: usize = 13;

/// A recorded stream.
pub(crate) struct Recording {
    /// What the index says of it.
    pub(crate) entry: Value,
    pub(crate) dialect: Dialect,
    pub(crate) bytes: Vec<u8>,
}

/// All recordings of the formats that a dialect reads, where they are at hand.
pub(crate) fn recordings() -> Option<Vec<Recording>> {
    let folder = folder()?;
    let index: Vec<Value> = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    let read = index.into_iter().filter_map(|entry| {
        let format = entry["format"].as_str().unwrap();
        let (_, dialect) = FORMATS.iter().find(|(known, _)| *known == format).unwrap();
        let bytes = std::fs::read(folder.join(entry["file"].as_str().unwrap())).unwrap();
        dialect.map(|dialect| Recording { entry, dialect, bytes })
    });
    let read: Vec<_> = read.collect();
    assert_eq!(read.len(), READ, "the recordings of the dialects");
    Some(read)
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
