//! Our parser of server-sent events against two public ones, on streams that those read by the rules.
//!
//! They differ from the rules, or from us on purpose, elsewhere: at a byte order mark, at bytes that are no UTF-8 and at a
//! last CR (`eventsource-stream`), and at an event that the end leaves open (both drop it, we deliver it). So the streams
//! here are UTF-8, without a mark, and end with an empty line.
#![allow(clippy::unwrap_used, reason = "tests")]

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_wire::framing::{Frame, Sse};
use proptest::collection::vec;
use proptest::prelude::*;

/// Name and data of an event.
type Told = (String, String);

fn by_us(reads: &[&[u8]]) -> Vec<Told> {
    let mut told = Vec::new();
    let mut sse = Sse::new();
    let mut take = |frame: Frame<'_>| {
        if let Frame::Event { name, data, unterminated } = frame {
            assert!(!unterminated, "the stream ends with an empty line");
            let name = if name.is_empty() { b"message" } else { name };
            told.push((String::from_utf8(name.to_vec()).unwrap(), String::from_utf8(data.to_vec()).unwrap()));
        }
    };
    for read in reads {
        sse.push(read, &mut take);
    }
    sse.finish(&mut take);
    told
}

fn by_sse_core(reads: &[&[u8]]) -> Vec<Told> {
    let mut told = Vec::new();
    let mut decoder = sse_core::SseDecoder::new();
    for mut read in reads.iter().copied() {
        while let Some(event) = decoder.next(&mut read) {
            if let sse_core::SseEvent::Message(message) = event.unwrap() {
                told.push((message.event.into_owned(), message.data));
            }
        }
    }
    told
}

fn by_eventsource_stream(reads: &[&[u8]]) -> Vec<Told> {
    let reads = stream::iter(reads.iter().map(|read| Ok::<_, std::io::Error>(*read)));
    block_on(
        eventsource_stream::EventStream::new(reads)
            .map(|event| event.unwrap())
            .map(|event| (event.event, event.data))
            .collect(),
    )
}

/// A line as servers write it, and as they should not.
fn line() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["data", "event", "id", "retry", "error", "Data", "data ", "", "x"]);
    let value = prop::sample::select(vec![
        "",
        " ",
        "  two blanks",
        "plain",
        "{\"choices\":[]}",
        "a: b: c",
        "[DONE]",
        "42",
        "\u{2028}é\u{85}\u{b}字",
        "\u{feff}",
    ]);
    let separator = prop::sample::select(vec![":", ": ", ":  "]);
    prop_oneof![
        3 => (name.clone(), separator, value).prop_map(|(name, separator, value)| format!("{name}{separator}{value}")),
        1 => name.prop_map(str::to_owned),
        2 => Just(String::new()),
    ]
}

fn line_end() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["\n", "\r\n", "\r"])
}

fn stream_of_lines() -> impl Strategy<Value = String> {
    vec((line(), line_end()), 0..24).prop_map(|lines| {
        let mut text: String = lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect();
        text.push_str("\n\n");
        text
    })
}

fn cut<'s>(stream: &'s [u8], sizes: &[usize]) -> Vec<&'s [u8]> {
    let mut rest = stream;
    let mut reads = Vec::new();
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (read, tail) = rest.split_at((*size).min(rest.len()));
        reads.push(read);
        rest = tail;
    }
    reads
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_096))]

    #[test]
    fn three_parsers_read_the_same(stream in stream_of_lines(), sizes in vec(1_usize..12, 1..8)) {
        let reads = cut(stream.as_bytes(), &sizes);
        let ours = by_us(&reads);
        prop_assert_eq!(&ours, &by_sse_core(&reads), "sse-core");
        prop_assert_eq!(&ours, &by_eventsource_stream(&reads), "eventsource-stream");
    }
}

#[test]
fn a_stream_of_a_provider_is_read_alike() {
    let stream = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\"}\n\n",
        "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        ": keep-alive\n\n",
        "data: one\ndata: two\n\n",
        "data: [DONE]\n\n",
    );
    for size in 1..stream.len() {
        let reads: Vec<&[u8]> = stream.as_bytes().chunks(size).collect();
        let ours = by_us(&reads);
        assert_eq!(ours.len(), 4);
        assert_eq!(ours, by_sse_core(&reads));
        assert_eq!(ours, by_eventsource_stream(&reads));
    }
}
