//! Recorded streams through `measure_wire`: counts, usage, finish reasons and outcome of their index, wherever reads are
//! cut, and the bytes as they were.
#![cfg(feature = "measure")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod recordings;

use futures::{FutureExt as _, StreamExt as _, executor::block_on, stream};
use llmperf_core::{FinishKind, Instrumentation, Outcome, Timing, testing::Probe};
use llmperf_wire::{Decoder, Dialect, Event, MeasureWire as _};
use recordings::{Recording, recordings};
use serde_json::Value;

fn measured(instrumentation: &Instrumentation, dialect: Dialect, reads: &[&[u8]]) -> Timing {
    let call = instrumentation.chat("recorded", "recorded");
    let body = stream::iter(reads.iter().map(|read| Ok::<_, std::io::Error>(*read)));
    let mut body = body.measure_wire(call, dialect);
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
    let file = text("file");
    // Marks freeze at the marker: a `[DONE]` behind it is no chunk of the call any more.
    let behind_the_marker = u64::from(text("marker").ends_with("then `[DONE]`"));
    assert_eq!(Some(timing.chunks + behind_the_marker), number("events"), "events of {file}");
    assert_eq!(Some(timing.outputs), number("output"), "output of {file}");
    // The index has what the stream says: no input at all is unknown, no output beside some that was seen is a mistake.
    let mistaken = number("output_tokens") == Some(0) && timing.outputs > 0;
    let usage = [
        ("input_tokens", timing.usage.input_tokens()),
        ("output_tokens", timing.usage.output_tokens()),
        ("reasoning_tokens", timing.usage.reasoning_tokens()),
    ];
    for (key, told) in usage {
        let unknown = mistaken || (key == "input_tokens" && number(key) == Some(0));
        assert_eq!(told, number(key).filter(|_| !unknown), "{key} of {file}");
    }
    let outcome = timing.outcome.unwrap();
    // A prompt that is blocked has its answer.
    let expected = text("outcome").replace("blocked", "complete");
    assert!(expected.starts_with(outcome.as_str()), "{file}: {outcome}");
    let reasons: Vec<&str> = text("finish_reason")
        .split(", ")
        .filter_map(|reason| reason.split(' ').next())
        .filter(|reason| *reason != "-")
        .collect();
    let found: Vec<&str> = timing.finish_reasons.iter().map(|reason| &*reason.reason).collect();
    assert_eq!(found, reasons, "{file}");
}

#[test]
fn recorded_streams_are_measured_as_their_index_says_whole_by_bytes_and_at_every_cut() {
    let instrumentation = Instrumentation::builder().build();
    for Recording { entry, dialect, bytes } in recordings().into_iter().flatten() {
        check(&measured(&instrumentation, dialect, &[&bytes]), &entry);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        check(&measured(&instrumentation, dialect, &single), &entry);
        for cut in 1..bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            check(&measured(&instrumentation, dialect, &[head, tail]), &entry);
        }
    }
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
    let timing = measured(probe.instrumentation(), Dialect::OpenAiChat, &reads);
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

/// Events that end a choice: in what form, and with which words.
const ENDS: [(Dialect, &str, &[&str]); 4] = [
    (
        Dialect::OpenAiChat,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"$"}]}"#,
        &[
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
            "error",
            "no_such_reason",
        ],
    ),
    (
        Dialect::OpenAiResponses,
        r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"$"}}}"#,
        &["max_output_tokens", "content_filter", "no_such_reason", ""],
    ),
    (
        Dialect::Anthropic,
        r#"{"type":"message_delta","delta":{"stop_reason":"$"}}"#,
        &[
            "end_turn",
            "max_tokens",
            "stop_sequence",
            "tool_use",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
            "no_such_reason",
        ],
    ),
    (
        Dialect::Cohere,
        r#"{"type":"message-end","delta":{"finish_reason":"$"}}"#,
        &["COMPLETE", "STOP_SEQUENCE", "MAX_TOKENS", "TOOL_CALL", "ERROR", "TIMEOUT", "NO_SUCH_REASON"],
    ),
];

#[test]
fn a_finish_reason_means_the_same_to_the_decoder_and_to_the_call() {
    let probe = Probe::new();
    for (dialect, form, words) in ENDS {
        for word in words {
            let frame = format!("data: {}\n\n", form.replace('$', word));
            let mut decoded = Vec::new();
            Decoder::new(dialect).push(frame.as_bytes(), |event| {
                if let Event::Chunk(chunk) = event {
                    decoded.extend(chunk.finishes().map(|finish| format!("{:?}", finish.kind)));
                }
            });
            let told = measured(probe.instrumentation(), dialect, &[frame.as_bytes()]).finish_reasons;
            assert_eq!(decoded, told.iter().map(|told| format!("{:?}", told.kind)).collect::<Vec<_>>(), "{word}");
            assert_eq!(decoded.len(), 1);
            // Where the word itself is told, it means the same to those who read it in another way.
            for told in told.iter().filter(|told| told.reason == *word) {
                assert_eq!(told.kind, FinishKind::of(word), "{word}");
            }
        }
    }
}

/// Streams of each dialect up to their finish reason, where it comes before the end, and their end.
const WHOLE: [(Dialect, &str, &str); 4] = [
    (
        Dialect::OpenAiChat,
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    ),
    (
        Dialect::OpenAiResponses,
        "data: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n",
    ),
    (
        Dialect::Anthropic,
        concat!(
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"a\"}}\n\n",
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"
        ),
        "data: {\"type\":\"message_stop\"}\n\n",
    ),
    (
        Dialect::Cohere,
        "data: {\"type\":\"content-delta\",\"delta\":{\"message\":{\"content\":{\"text\":\"a\"}}}}\n\n",
        "data: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"COMPLETE\"}}\n\n",
    ),
];

#[test]
fn a_stream_without_its_marker_is_complete_if_its_reason_came_and_that_is_counted() {
    for (dialect, head, end) in WHOLE {
        let probe = Probe::new();
        let done = "data: [DONE]\n\n";
        let whole = measured(probe.instrumentation(), dialect, &[head.as_bytes(), end.as_bytes(), done.as_bytes()]);
        assert_eq!((whole.outcome, whole.outputs), (Some(Outcome::Complete), 1), "{dialect:?}");
        assert_eq!(whole.finish_reasons.len(), 1);
        assert!(probe.points("llmperf.client.markers_missing").is_empty());

        let cut = measured(probe.instrumentation(), dialect, &[head.as_bytes()]).outcome;
        let reason_came = matches!(dialect, Dialect::OpenAiChat | Dialect::Anthropic);
        assert_eq!(cut, Some(if reason_came { Outcome::Complete } else { Outcome::Interrupted }), "{dialect:?}");
        assert_eq!(probe.points("llmperf.client.markers_missing").len(), usize::from(reason_came));
    }
}

#[test]
fn an_error_in_the_stream_beats_the_end_that_follows() {
    for (dialect, head, end) in WHOLE {
        let error =
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n";
        let probe = Probe::new();
        let timing = measured(probe.instrumentation(), dialect, &[[head, error, end].concat().as_bytes()]);
        assert_eq!(timing.outcome, Some(Outcome::Error), "{dialect:?}");
        assert_eq!(timing.error_type.as_deref(), Some("overloaded_error"), "{dialect:?}");
    }
}

#[test]
fn only_openai_has_an_attribute_for_the_tier() {
    let messages = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":3,\"service_tier\":\"standard\"}}}\n\n";
    let responses =
        "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"service_tier\":\"default\"}}\n\n";
    for (dialect, frame, tier) in
        [(Dialect::Anthropic, messages, None), (Dialect::OpenAiResponses, responses, Some("default"))]
    {
        let probe = Probe::new();
        measured(probe.instrumentation(), dialect, &[frame.as_bytes()]);
        let span = probe.span();
        let found = span.attributes.iter().find(|found| found.key.as_str().ends_with("service_tier"));
        assert_eq!(found.map(|found| found.value.to_string()).as_deref(), tier);
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
