//! Bodies that are no event stream, or a strange one: they pass, and what is said of them is right.
#![cfg(feature = "measure")]
#![allow(clippy::unwrap_used, reason = "tests")]

use futures::{StreamExt as _, executor::block_on, stream};
use llmperf_core::{Outcome, Timing, testing::Probe};
use llmperf_wire::{Dialect, MeasureWire as _};

fn measured(probe: &Probe, body: &[u8], read: usize) -> Timing {
    let reads = stream::iter(body.chunks(read).map(Ok::<_, std::io::Error>));
    let mut reads = reads.measure_wire(probe.chat("openai", "gpt"), Dialect::OpenAiChat);
    let passed = block_on(reads.by_ref().fold(0, |passed, read| async move { passed + read.unwrap().len() }));
    assert_eq!(passed, body.len());
    reads.into_timing()
}

fn blind(probe: &Probe) -> f64 {
    let points = probe.points("llmperf.internal.events");
    let blind = points.iter().filter(|point| point.attribute("llmperf.internal.kind") == "decoder_blind");
    blind.map(|point| point.sum).sum()
}

#[test]
fn a_body_in_which_nothing_is_an_event_leaves_the_decoder_blind_and_says_so() {
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xa5, b'\n', 0x10, 0, 0xff, b'\r', 7];
    for body in
        [&gzip[..], b"<!doctype html>\n<html><body>502 Bad Gateway</body></html>\n", b"\0\0\0\0", b"upstream error"]
    {
        for read in [1, body.len()] {
            let probe = Probe::new();
            let timing = measured(&probe, body, read);
            assert_eq!((timing.outcome, timing.chunks), (Some(Outcome::Interrupted), 0));
            assert_eq!(blind(&probe), 1.0, "{body:?}");
        }
    }
}

#[test]
fn a_body_with_events_or_none_at_all_leaves_it_seeing() {
    for body in
        [&b""[..], b": keep-alive\n\n", b"data: [DONE]\n\n", b"data: nonsense\n\n", b"{\"error\":{\"code\":\"x\"}}\n"]
    {
        let probe = Probe::new();
        measured(&probe, body, 7);
        assert_eq!(blind(&probe), 0.0, "{body:?}");
    }
}

#[test]
fn a_whole_answer_where_a_stream_was_asked_for_is_complete_with_its_usage() {
    let body = br#"{"id":"1","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
    for read in [1, 50, body.len()] {
        let probe = Probe::new();
        let timing = measured(&probe, body, read);
        assert_eq!((timing.outcome, timing.usage.output_tokens()), (Some(Outcome::Complete), Some(1)));
    }
}

#[test]
fn ten_megabytes_byte_by_byte_without_a_line_end_are_bounded() {
    let probe = Probe::new();
    let timing = measured(&probe, &vec![b'x'; 10 << 20], 1);
    // Nobody can say that it was cut: its end could not be seen.
    assert_eq!(timing.outcome, Some(Outcome::Complete));
    assert_eq!(blind(&probe), 1.0);
}

#[test]
fn strange_payloads_are_no_news_to_anybody() {
    let deep = |open: &str| format!("data: {{\"choices\":{}\n\n", open.repeat(200_000));
    let bodies = [
        deep("["),
        deep("{\"a\":"),
        "data: {\"usage\":{\"prompt_tokens\":99999999999999999999999,\"completion_tokens\":18446744073709551615}}\n\n".to_owned(),
        "data: {\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":1e300,\"queue_time\":1e999}}\n\n".to_owned(),
        "data: {\"choices\":[{\"index\":4294967295,\"delta\":{\"content\":\"\\ud800\\udc\"},\"finish_reason\":\"\\u0000\"}]}\n\n".to_owned(),
        "\u{feff}\u{feff}data: {}\n\n".to_owned(),
        "data: {\"id\":\"a\",\"id\":\"b\",\"model\":\"\",\"model\":null,\"choices\":[],\"choices\":{}}\n\n".to_owned(),
        format!("data: {{\"choices\":[{}{{}}]}}\n\n", "{\"index\":1,\"delta\":{\"content\":\"a\"}},".repeat(20_000)),
        ": comment\n".repeat(300_000),
        "\r".repeat(100_000),
        format!("event: {}\ndata: x\n\n", "e".repeat(2 << 20)),
    ];
    for body in &bodies {
        for read in [3, 4096, body.len()] {
            measured(&Probe::new(), body.as_bytes(), read);
        }
    }
}
