//! Recorded streams give exactly the counts, usage, finish reasons and outcome of their index, wherever reads are cut.
#![allow(clippy::unwrap_used, reason = "tests")]

mod recordings;

use std::collections::BTreeMap;

use llmperf_wire::{Decoder, Dialect, Event, Origin, PieceKind, Sees, Usage};
use recordings::{Recording, recordings};
use serde_json::Value;

/// What a reader counts; the outcome by the rules of the marks, as far as the bytes alone decide it.
#[derive(Debug, Default, Clone, PartialEq)]
struct Tally {
    events: u64,
    output: u64,
    text: u64,
    reasoning: u64,
    tool: u64,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
    finishes: BTreeMap<u32, Option<String>>,
    model: Option<String>,
    terminal: bool,
    error: Option<String>,
}

impl Tally {
    fn take(&mut self, event: Event<'_>) {
        let Event::Chunk(chunk) = event else { return };
        self.events += u64::from(chunk.origin == Origin::Event);
        self.output += u64::from(chunk.outputs().next().is_some());
        let any = |kind| u64::from(chunk.outputs().any(|piece| piece.kind == kind));
        self.text += any(PieceKind::Text);
        self.reasoning += any(PieceKind::Reasoning);
        self.tool += any(PieceKind::Tool);
        for piece in chunk.outputs() {
            assert!(!piece.text.is_empty() && !piece.text.decode().is_empty());
            assert_eq!(piece.text.len(), piece.text.decode().len());
            self.finishes.entry(piece.choice).or_default();
        }
        if let Some(Usage { input, output, reasoning, .. }) = chunk.usage {
            self.input_tokens = input.or(self.input_tokens);
            self.output_tokens = output.or(self.output_tokens);
            self.reasoning_tokens = reasoning.or(self.reasoning_tokens);
        }
        for finish in chunk.finishes() {
            self.finishes.entry(finish.choice).or_default().get_or_insert_with(|| finish.reason.to_string());
        }
        if let Some(model) = chunk.model {
            self.model = Some(model.to_string());
        }
        if let Some(failure) = &chunk.failure {
            self.error.get_or_insert_with(|| failure.error_type().into_owned());
        }
        self.terminal |= chunk.terminal;
    }

    fn outcome(&self, sees: Sees) -> &'static str {
        let finished = !self.finishes.is_empty() && self.finishes.values().all(Option::is_some);
        match (&self.error, self.terminal, finished) {
            (Some(_), _, _) => "error",
            (None, true, _) => "complete",
            (None, false, true) if sees == Sees::Finish => "complete",
            (None, false, true) => "complete, marker missing",
            (None, false, false) => "interrupted",
        }
    }
}

fn tally<'r>(dialect: Dialect, reads: impl IntoIterator<Item = &'r [u8]>) -> Tally {
    let mut tally = Tally::default();
    let mut decoder = Decoder::new(dialect);
    for read in reads {
        decoder.push(read, |event| tally.take(event));
    }
    decoder.finish(|event| tally.take(event));
    tally
}

/// The index's own words for what a tally found.
fn assert_matches(entry: &Value, sees: Sees, tally: &Tally) {
    let file = entry["file"].as_str().unwrap();
    for (name, counted) in
        [("events", tally.events), ("output", tally.output), ("text", tally.text), ("reasoning", tally.reasoning)]
    {
        assert_eq!(entry[name].as_u64(), Some(counted), "{file}: {name}");
    }
    let tool = entry["tool_start"].as_u64().unwrap() + entry["tool_args"].as_u64().unwrap();
    assert_eq!(tool, tally.tool, "{file}: tool");
    for (name, reported) in [
        ("input_tokens", tally.input_tokens),
        ("output_tokens", tally.output_tokens),
        ("reasoning_tokens", tally.reasoning_tokens),
    ] {
        assert_eq!(entry[name].as_u64(), reported, "{file}: {name}");
    }
    let model = entry["model"].as_str().filter(|model| !["-", "(not in the stream)"].contains(model));
    assert_eq!(model, tally.model.as_deref(), "{file}: model");
    assert_eq!(entry["marker"].as_str().unwrap().starts_with("yes"), tally.terminal, "{file}: marker");

    let reasons: Vec<&str> = tally.finishes.values().flatten().map(String::as_str).collect();
    let finish_reason = match reasons.as_slice() {
        [] => "-".to_owned(),
        [one] => (*one).to_owned(),
        several => several
            .iter()
            .zip(0..)
            .map(|(reason, choice)| format!("{reason} (choice {choice})"))
            .collect::<Vec<_>>()
            .join(", "),
    };
    // The index adds where a blocked prompt says so.
    let expected = entry["finish_reason"].as_str().unwrap();
    assert_eq!(expected.trim_end_matches(" (blockReason)"), finish_reason, "{file}: finish reason");

    // A prompt that is blocked has its answer.
    let outcome = entry["outcome"].as_str().unwrap().replace("blocked", "complete");
    match tally.outcome(sees) {
        // The index adds the provider's words, or says that there is none that could be a type.
        "error" => {
            assert!(outcome.starts_with("error ("), "{file}: {tally:?}");
            let error = tally.error.as_deref().unwrap();
            let named = outcome.split(['(', ' ', ')']).any(|word| word == error);
            assert!(named || error == "_OTHER", "{file}: {tally:?}");
        }
        // The index adds what kind of end it was, and that there was no output.
        other => {
            assert!(outcome.starts_with(other), "{file}: {outcome}, {tally:?}");
            assert_eq!(outcome.contains("marker missing"), other.contains("marker missing"), "{file}: {tally:?}");
        }
    }
}

#[test]
fn every_recording_gives_what_its_index_says_however_it_is_cut() {
    for Recording { entry, dialect, bytes } in recordings().into_iter().flatten() {
        let whole = tally(dialect, [bytes.as_slice()]);
        assert_matches(&entry, dialect.sees(), &whole);
        assert_eq!(tally(dialect, bytes.chunks(1)), whole, "{}: byte by byte", entry["file"]);
        for cut in 1..bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(tally(dialect, [head, tail]), whole, "{}: cut at {cut}", entry["file"]);
        }
    }
}
