//! Recorded streams through `measure_wire`: counts, usage, finish reasons and outcome of their index, wherever reads are
//! cut, and the bytes as they were.
#![cfg(feature = "measure")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod recordings;

use futures::{FutureExt as _, StreamExt as _, executor::block_on, stream};
use llmperf_core::{Instrumentation, Outcome, Timing, testing::Probe};
use llmperf_wire::{Decoder, Dialect, Event, MeasureWire as _};
use recordings::recordings;
use serde_json::Value;

fn measured(instrumentation: &Instrumentation, reads: &[&[u8]]) -> Timing {
    let call = instrumentation.chat("openai", "recorded");
    let body = stream::iter(reads.iter().map(|read| Ok::<_, std::io::Error>(*read)));
    let mut body = body.measure_wire(call, Dialect::OpenAiChat);
    let passed = block_on(async {
        let mut passed = 0;
        while let Some(read) = body.next().await {
            assert_eq!(read.unwrap(), reads[passed]);
            passed += 1;
        }
        passed
    });
    assert_eq!(passed, reads.len());
    body.into_timing()
}

/// The index says outcome and reason in words: `error (tool_use_failed)`, `stop (choice 0), stop (choice 1)`.
fn check(timing: &Timing, expected: &Value) {
    let text = |key: &str| expected[key].as_str().unwrap();
    let number = |key: &str| expected[key].as_u64();
    let done = u64::from(text("marker").starts_with("yes"));
    assert_eq!(Some(timing.chunks), number("events"), "events of {}, {done}", text("file"));
    assert_eq!(Some(timing.outputs), number("output"), "output of {}", text("file"));
    assert_eq!(timing.usage.input_tokens(), number("input_tokens"), "{}", text("file"));
    assert_eq!(timing.usage.output_tokens(), number("output_tokens"), "{}", text("file"));
    assert_eq!(timing.usage.reasoning_tokens(), number("reasoning_tokens"), "{}", text("file"));
    let outcome = timing.outcome.unwrap();
    assert!(text("outcome").starts_with(outcome.as_str()), "{}: {outcome}", text("file"));
    let reasons: Vec<&str> = text("finish_reason")
        .split(", ")
        .filter_map(|reason| reason.split(' ').next())
        .filter(|reason| *reason != "-")
        .collect();
    let found: Vec<&str> = timing.finish_reasons.iter().map(|reason| &*reason.reason).collect();
    assert_eq!(found, reasons, "{}", text("file"));
}

#[test]
fn recorded_streams_are_measured_as_their_index_says_whole_by_bytes_and_at_every_cut() {
    let Some(folder) = recordings() else { return };
    let index: Value = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    let instrumentation = Instrumentation::builder().build();
    let mut files = 0;
    for expected in index.as_array().unwrap() {
        if expected["format"] != "Chat Completions SSE" {
            continue;
        }
        files += 1;
        let bytes = std::fs::read(folder.join(expected["file"].as_str().unwrap())).unwrap();
        let whole = measured(&instrumentation, &[&bytes]);
        check(&whole, expected);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        check(&measured(&instrumentation, &single), expected);
        for cut in 1..bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            check(&measured(&instrumentation, &[head, tail]), expected);
        }
    }
    assert_eq!(files, 7);
}

#[test]
fn what_the_server_tells_of_itself_is_on_the_span_and_the_error_has_its_code() {
    let frames = [
        "data: {\"id\":\"c1\",\"model\":\"m-1\",\"system_fingerprint\":\"fp\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1},\"timings\":{\"prompt_ms\":20.0,\"predicted_ms\":30.0}}\n\n",
        "data: {\"error\":{\"code\":\"overloaded\",\"message\":\"your prompt 'x' is too long\"}}\n\n",
    ];
    let probe = Probe::new();
    let reads: Vec<&[u8]> = frames.iter().map(|frame| frame.as_bytes()).collect();
    let timing = measured(probe.instrumentation(), &reads);
    assert_eq!((timing.outcome, timing.error_type.as_deref()), (Some(Outcome::Error), Some("overloaded")));
    let span = probe.span();
    let attribute = |key: &str| {
        span.attributes
            .iter()
            .find(|attribute| attribute.key.as_str() == key)
            .map(|attribute| attribute.value.to_string())
    };
    assert_eq!(attribute("llmperf.server_reported.prompt_time").as_deref(), Some("0.02"));
    assert_eq!(attribute("openai.response.system_fingerprint").as_deref(), Some("fp"));
    assert_eq!(attribute("gen_ai.response.model").as_deref(), Some("m-1"));
    assert_eq!(attribute("error.message"), None);
}

/// A chunk as llama.cpp writes it: names behind the choices, in every chunk.
const REPEATING: &str = concat!(
    r#"data: {"choices":[{"delta":{"content":"word"},"finish_reason":null,"index":0}],"created":0,"id":"c-1","#,
    r#""model":"m-1","object":"chat.completion.chunk","service_tier":"default","system_fingerprint":"b1-2"}"#,
    "\n\n"
);

#[test]
fn names_that_every_chunk_repeats_cost_nothing_and_leave_room_for_the_timings_at_the_end() {
    let probe = Probe::new();
    let last = [r#"data: {"choices":[],"timings":{"prompt_ms":20.0}}"#, "\n\ndata: [DONE]\n\n"].concat();
    let reads = std::iter::repeat_n(REPEATING, 1_000).chain([&*last]).map(Ok::<_, std::io::Error>);
    let mut body = stream::iter(reads).measure_wire(probe.chat("llama.cpp", "m-1"), Dialect::OpenAiChat);
    let mut next = || body.next().now_or_never().flatten().is_some();
    assert!((0..100).all(|_| next()));
    let allocations = allocation_counter::measure(|| assert!((0..900).all(|_| next())));
    assert_eq!(allocations.count_total, 0);
    assert!(next());
    let span = probe.span();
    let attribute =
        |key: &str| span.attributes.iter().find(|found| found.key.as_str() == key).map(|found| found.value.to_string());
    assert_eq!(attribute("llmperf.server_reported.prompt_time").as_deref(), Some("0.02"));
    assert_eq!(attribute("openai.response.service_tier").as_deref(), Some("default"));
    assert_eq!(attribute("openai.response.system_fingerprint").as_deref(), Some("b1-2"));
}

#[test]
fn a_comment_shows_that_the_head_has_come() {
    let items = [Ok(": PROCESSING\n\n"), Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))];
    let probe = Probe::new();
    let mut body = stream::iter(items).measure_wire(probe.chat("openrouter", "m"), Dialect::OpenAiChat);
    block_on(async { while body.next().await.is_some() {} });
    let timing = body.into_timing();
    assert_eq!((timing.outcome, timing.chunks, timing.time_to_first_chunk), (Some(Outcome::Interrupted), 0, None));
}

/// The dialect's words for an end.
const REASONS: [&str; 13] = [
    "stop",
    "eos",
    "eos_token",
    "stop_sequence",
    "end_turn",
    "length",
    "max_tokens",
    "model_length",
    "tool_calls",
    "function_call",
    "content_filter",
    "refusal",
    "no_such_reason",
];

#[test]
fn a_finish_reason_means_the_same_to_the_decoder_and_to_the_call() {
    let probe = Probe::new();
    for reason in REASONS {
        let frame =
            format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n");
        let mut decoded = Vec::new();
        Decoder::new(Dialect::OpenAiChat).push(frame.as_bytes(), |event| {
            if let Event::Chunk(chunk) = event {
                decoded.extend(chunk.finishes().map(|finish| format!("{:?}", finish.kind)));
            }
        });
        let told = measured(probe.instrumentation(), &[frame.as_bytes()]).finish_reasons;
        assert_eq!(decoded, told.iter().map(|reason| format!("{:?}", reason.kind)).collect::<Vec<_>>(), "{reason}");
        assert_eq!(decoded.len(), 1);
    }
}

#[test]
fn a_broken_transport_and_a_payload_that_does_not_parse_are_told_apart() {
    let probe = Probe::new();
    let items = [
        Ok("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {not json\n\n"),
        Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset)),
    ];
    let mut body = stream::iter(items).measure_wire(probe.chat("openai", "m"), Dialect::OpenAiChat);
    block_on(async { while body.next().await.is_some() {} });
    let timing = body.into_timing();
    assert_eq!((timing.outcome, timing.chunks), (Some(Outcome::Interrupted), 1));
    let oddities = probe.points("llmperf.internal.events");
    assert_eq!(oddities[0].attribute("llmperf.internal.kind"), "malformed_payload");
}
