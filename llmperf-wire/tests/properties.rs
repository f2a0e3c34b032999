//! Whatever comes in and wherever it is cut: the same events, bounded memory, no panic.
#![allow(clippy::unwrap_used, reason = "tests")]

use llmperf_wire::{Decoder, Dialect};
use proptest::collection::vec;
use proptest::prelude::*;

const LIMIT: usize = 96;

/// All that a decoder reports, in words, with the most that it held.
fn report<'r>(reads: impl IntoIterator<Item = &'r [u8]>) -> (Vec<String>, usize) {
    let mut decoder = Decoder::new(Dialect::OpenAiChat).limit(LIMIT);
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
    ])
    .prop_map(<[u8]>::to_vec);
    prop_oneof![8 => known, 1 => vec(any::<u8>(), 0..8)]
}

proptest! {
    #[test]
    fn reads_may_be_cut_anywhere(fragments in vec(fragment(), 0..40), lengths in vec(1usize..40, 1..12)) {
        let stream = fragments.concat();
        let (whole, _) = report([stream.as_slice()]);
        let (cut, _) = report(cut(&stream, &lengths));
        prop_assert_eq!(cut, whole);
    }

    #[test]
    fn never_more_is_held_than_the_limit(fragments in vec(fragment(), 0..60), lengths in vec(1usize..200, 1..12)) {
        let stream = fragments.concat();
        let (_, held) = report(cut(&stream, &lengths));
        prop_assert!(held <= LIMIT, "{} bytes are held", held);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in vec(any::<u8>(), 0..400), lengths in vec(1usize..50, 1..6)) {
        let (whole, _) = report([bytes.as_slice()]);
        let (cut, held) = report(cut(&bytes, &lengths));
        prop_assert_eq!(cut, whole);
        prop_assert!(held <= LIMIT);
    }

    #[test]
    fn any_text_comes_back_as_it_was_sent(text in ".{0,40}") {
        let json = serde_json::json!({"choices": [{"index": 0, "delta": {"content": &text}}]});
        let mut seen = Vec::new();
        let mut decoder = Decoder::new(Dialect::OpenAiChat);
        decoder.push(format!("data: {json}\n\n").as_bytes(), |event| {
            if let llmperf_wire::Event::Chunk(chunk) = event {
                seen.extend(chunk.outputs().map(|piece| (piece.text.decode().into_owned(), piece.text.len())));
            }
        });
        let expected: Vec<_> = Some((text.clone(), text.len())).into_iter().filter(|(text, _)| !text.is_empty()).collect();
        prop_assert_eq!(seen, expected);
    }
}
