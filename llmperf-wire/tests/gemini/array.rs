//! The array as a stream.

use super::*;

const ARRAY: &str = "[{\n  \"candidates\": [\n    {\"content\": {\"parts\": [{\"text\": \"[a]\"}]}, \"index\": 0}\n  ]\n}\n,\r\n{\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\\\"},\"}]}, \"finishReason\": 1}],\r\n \"usageMetadata\": {\"promptTokenCount\": 4}}\n]\n";

/// Origin, output and marker of each chunk.
fn chunks(stream: &[&[u8]]) -> Vec<(Origin, String, bool)> {
    let mut seen = Vec::new();
    let mut decoder = Decoder::new(Dialect::GeminiArray);
    let mut take = |event: Event<'_>| {
        let Event::Chunk(chunk) = event else { unreachable!("{event:?}") };
        let text = chunk.outputs().map(|piece| piece.text.to_string()).collect();
        seen.push((chunk.origin, text, chunk.terminal));
    };
    for read in stream {
        decoder.push(read, &mut take);
    }
    decoder.finish(&mut take);
    assert_eq!(decoder.counts(), Counts::default());
    seen
}

#[test]
fn each_element_is_an_event_and_the_bracket_is_the_marker_but_no_event() {
    let expected = [
        (Origin::Event, "[a]".to_owned(), false),
        (Origin::Event, "\"},".to_owned(), false),
        (Origin::Close, String::new(), true),
    ];
    assert_eq!(chunks(&[ARRAY.as_bytes()]), expected);
    for cut in 0..ARRAY.len() {
        let (head, tail) = ARRAY.as_bytes().split_at(cut);
        assert_eq!(chunks(&[head, tail]), expected, "cut at {cut}");
    }
}

#[test]
fn an_array_that_is_not_closed_has_no_marker() {
    let open = ARRAY.trim_end().strip_suffix(']').unwrap();
    assert!(chunks(&[open.as_bytes()]).iter().all(|(_, _, terminal)| !terminal));
}

#[test]
fn an_empty_array_is_a_marker_alone() {
    assert_eq!(chunks(&[b"[]"]), [(Origin::Close, String::new(), true)]);
}

#[test]
fn bytes_that_are_no_array_are_said_and_counted() {
    let mut broken = 0;
    let mut decoder = Decoder::new(Dialect::GeminiArray);
    for read in [b"<html>".as_slice(), b"[{}]</html>"] {
        decoder.push(read, |event| broken += u32::from(matches!(event, Event::Broken)));
    }
    assert_eq!((broken, decoder.counts().broken), (1, 1));
}
