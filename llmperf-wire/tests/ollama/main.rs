//! The rules of Ollama's dialect, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use llmperf_wire::{Chunk, Counts, Decoder, Dialect, Event, FinishKind, PieceKind, Sees, ServerTimings, Usage};

mod failures;
mod output;

/// Feeds a whole stream and gives each chunk to `look`.
fn decode(stream: impl AsRef<[u8]>, mut look: impl FnMut(&Chunk<'_>)) -> Counts {
    let mut decoder = Decoder::new(Dialect::Ollama);
    let mut take = |event: Event<'_>| {
        if let Event::Chunk(chunk) = event {
            look(chunk);
        }
    };
    decoder.push(stream.as_ref(), &mut take);
    decoder.finish(&mut take);
    decoder.counts()
}

/// Gives `look` the one chunk that a line makes.
fn line<T>(json: &str, look: impl Fn(&Chunk<'_>) -> T) -> T {
    let mut looked = Vec::new();
    decode(format!("{json}\n"), |chunk| looked.push(look(chunk)));
    assert_eq!(looked.len(), 1, "one chunk: {json}");
    looked.pop().unwrap()
}

fn pieces(chunk: &Chunk<'_>) -> Vec<(PieceKind, String)> {
    assert!(chunk.outputs().all(|piece| piece.choice == 0));
    chunk.outputs().map(|piece| (piece.kind, piece.text.to_string())).collect()
}

#[test]
fn the_last_line_has_the_end_the_reason_the_usage_and_the_servers_times() {
    let json = r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":""},"done_reason":"length","done":true,"total_duration":2000000001,"load_duration":30000000,"prompt_eval_count":16,"prompt_eval_cached_count":12,"prompt_eval_duration":400000000,"eval_count":22,"eval_duration":1500000000}"#;
    line(json, |chunk| {
        assert!(chunk.terminal);
        assert_eq!(pieces(chunk), []);
        let finishes: Vec<_> =
            chunk.finishes().map(|finish| (finish.choice, finish.reason.to_string(), finish.kind)).collect();
        assert_eq!(finishes, [(0, "length".to_owned(), FinishKind::Length)]);
        let Usage { input, output, cache_read, reasoning, .. } = chunk.usage.unwrap();
        assert_eq!((input, output, cache_read, reasoning), (Some(16), Some(22), Some(12), None));
        let ServerTimings { queue, load, prompt, generation, total, .. } = chunk.timings.unwrap();
        assert_eq!(queue, None);
        assert_eq!(load, Some(Duration::from_millis(30)));
        assert_eq!(prompt, Some(Duration::from_millis(400)));
        assert_eq!(generation, Some(Duration::from_millis(1500)));
        assert_eq!(total, Some(Duration::new(2, 1)));
    });
}

#[test]
fn figures_that_are_left_out_are_absent() {
    line(r#"{"model":"m","message":{"content":""},"done":true,"eval_count":3}"#, |chunk| {
        let usage = chunk.usage.unwrap();
        assert_eq!((usage.input, usage.output), (None, Some(3)));
        assert!(chunk.timings.is_none());
        assert_eq!(chunk.finishes().count(), 0, "an older server gives no reason");
        assert!(chunk.terminal);
    });
    line(r#"{"model":"m","message":{"content":"x"},"done":false}"#, |chunk| {
        assert!(chunk.usage.is_none() && chunk.timings.is_none() && !chunk.terminal);
    });
}

#[test]
fn done_is_the_marker_only_when_true() {
    assert_eq!(Dialect::Ollama.sees(), Sees::Marker);
    for (value, terminal) in [("true", true), ("false", false), ("null", false), (r#""true""#, false), ("1", false)] {
        assert_eq!(line(&format!(r#"{{"done":{value}}}"#), |chunk| chunk.terminal), terminal, "{value}");
    }
}

#[test]
fn finish_reasons_keep_the_servers_word_and_have_a_kind() {
    for (word, kind) in [
        ("stop", FinishKind::Stop),
        ("length", FinishKind::Length),
        ("load", FinishKind::Other),
        ("unload", FinishKind::Other),
    ] {
        line(&format!(r#"{{"done_reason":"{word}","done":true}}"#), |chunk| {
            let finish = chunk.finishes().next().unwrap();
            assert_eq!((finish.reason.to_string().as_str(), finish.kind), (word, kind));
        });
    }
}

#[test]
fn the_model_is_told_and_there_is_no_id() {
    line(r#"{"model":"gemma3:1b","response":"x"}"#, |chunk| {
        assert_eq!(chunk.model.unwrap(), "gemma3:1b");
        assert!(chunk.id.is_none());
    });
}

#[test]
fn a_last_line_without_its_lf_ends_the_stream_too() {
    let mut terminal = 0;
    let counts = decode("{\"response\":\"x\"}\n{\"done\":true}", |chunk| terminal += u64::from(chunk.terminal));
    assert_eq!((terminal, counts.unterminated, counts.malformed), (1, 1, 0));
}

#[test]
fn an_object_with_nothing_of_the_dialect_is_counted_as_unknown() {
    let mut chunks = 0;
    let counts = decode("{\"status\":\"pulling\",\"total\":3}\n{}\n{\"response\":\"x\"}\n", |_| chunks += 1);
    assert_eq!((chunks, counts.unknown), (3, 2));
}

#[test]
fn what_is_no_object_is_malformed() {
    for stream in ["{\"response\":\"x\"\n", "[1]\n", "17\n", "oops\n", "{\"a\":1} {\"b\":2}\n"] {
        let mut chunks = 0;
        let counts = decode(stream, |_| chunks += 1);
        assert_eq!((chunks, counts.malformed), (0, 1), "{stream}");
    }
}
