//! The rules of the chat dialect, one test each.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use llmperf_wire::{Chunk, Counts, Decoder, Dialect, Event, FinishKind, Origin, PieceKind, Sees, ServerTimings, Usage};

/// Feeds a whole stream and gives each chunk to `look`.
fn decode(stream: impl AsRef<[u8]>, mut look: impl FnMut(&Chunk<'_>)) -> Counts {
    let mut decoder = Decoder::new(Dialect::OpenAiChat);
    let mut take = |event: Event<'_>| {
        if let Event::Chunk(chunk) = event {
            look(chunk);
        }
    };
    decoder.push(stream.as_ref(), &mut take);
    decoder.finish(&mut take);
    decoder.counts()
}

/// Gives `look` the one chunk that a payload makes.
fn payload<T>(json: &str, look: impl Fn(&Chunk<'_>) -> T) -> T {
    let mut looked = Vec::new();
    decode(format!("data: {json}\n\n"), |chunk| looked.push(look(chunk)));
    assert_eq!(looked.len(), 1, "one chunk: {json}");
    looked.pop().unwrap()
}

fn pieces(chunk: &Chunk<'_>) -> Vec<(PieceKind, u32, String)> {
    chunk.outputs().map(|piece| (piece.kind, piece.choice, piece.text.to_string())).collect()
}

/// The output of a payload whose one choice has this delta.
fn output(delta: &str) -> Vec<(PieceKind, String)> {
    let json = format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    payload(&json, pieces).into_iter().map(|(kind, _, text)| (kind, text)).collect()
}

fn one(kind: PieceKind, text: &str) -> Vec<(PieceKind, String)> {
    vec![(kind, text.to_owned())]
}

fn usage(json: &str) -> Usage {
    payload(&format!(r#"{{"choices":[],"usage":{json}}}"#), |chunk| chunk.usage.unwrap())
}

/// `error.type` and message.
fn failure(chunk: &Chunk<'_>) -> Option<(String, Option<String>)> {
    let failure = chunk.failure.as_ref()?;
    Some((failure.error_type().into_owned(), failure.message.map(|message| message.to_string())))
}

fn failed(kind: &str, message: &str) -> Option<(String, Option<String>)> {
    Some((kind.to_owned(), Some(message.to_owned())))
}

#[test]
fn content_is_text() {
    assert_eq!(output(r#"{"content":"Hi"}"#), one(PieceKind::Text, "Hi"));
}

#[test]
fn role_only_empty_and_null_deltas_are_no_output() {
    for delta in [
        r#"{"role":"assistant","content":"","refusal":null}"#,
        r#"{"role":"assistant","content":null}"#,
        r#"{"reasoning_content":"","reasoning":null}"#,
        r#"{"tool_calls":[],"function_call":null,"audio":{"id":"audio_1"}}"#,
        r#"{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"","arguments":""}}]}"#,
        "{}",
        "null",
        "[]",
    ] {
        assert_eq!(output(delta), [], "{delta}");
    }
}

#[test]
fn a_choice_without_delta_is_no_output() {
    let azure = r#"{"choices":[{"content_filter_results":{},"content_filter_offsets":{"check_offset":1},"finish_reason":null,"index":0}],"id":"","model":""}"#;
    assert!(payload(azure, pieces).is_empty());
}

#[test]
fn no_choices_at_all_is_a_chunk() {
    for json in [r#"{"choices":[]}"#, r#"{"choices":null}"#, "{}", r#"{"type":"ping"}"#] {
        assert!(payload(json, pieces).is_empty(), "{json}");
    }
}

#[test]
fn refusal_is_output() {
    assert_eq!(output(r#"{"refusal":"No."}"#), one(PieceKind::Refusal, "No."));
}

#[test]
fn reasoning_counts_under_either_name_and_once_under_both() {
    let thought = one(PieceKind::Reasoning, "Hm");
    assert_eq!(output(r#"{"reasoning_content":"Hm"}"#), thought);
    assert_eq!(output(r#"{"reasoning":"Hm"}"#), thought);
    assert_eq!(output(r#"{"reasoning":"Hm","reasoning_content":"Hm"}"#), thought);
    assert_eq!(output(r#"{"reasoning":"Hm","reasoning_content":""}"#), thought);
    assert_eq!(output(r#"{"reasoning":"Hm","reasoning_details":[{"text":"Hm"}]}"#), thought);
}

#[test]
fn tool_names_and_arguments_are_output() {
    let start = r#"{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"now","arguments":""}}]}"#;
    assert_eq!(output(start), one(PieceKind::Tool, "now"));
    let arguments = r#"{"tool_calls":[{"index":0,"id":null,"function":{"name":null,"arguments":"{\"a\":1}"}}]}"#;
    assert_eq!(output(arguments), one(PieceKind::Tool, r#"{"a":1}"#));
    let object = r#"{"tool_calls":[{"function":{"arguments":{"a": 1}}}]}"#;
    assert_eq!(output(object), one(PieceKind::Tool, r#"{"a": 1}"#));
    assert_eq!(
        output(r#"{"function_call":{"name":"now","arguments":"{}"}}"#),
        [(PieceKind::Tool, "now".to_owned()), (PieceKind::Tool, "{}".to_owned()),]
    );
}

#[test]
fn every_tool_call_of_a_delta_counts() {
    let calls: Vec<String> = (0..5).map(|n| format!(r#"{{"function":{{"name":"f{n}","arguments":"{n}"}}}}"#)).collect();
    let seen = output(&format!(r#"{{"tool_calls":[{}]}}"#, calls.join(",")));
    let expected = (0..5).flat_map(|n| [(PieceKind::Tool, format!("f{n}")), (PieceKind::Tool, n.to_string())]);
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

#[test]
fn audio_is_output() {
    assert_eq!(output(r#"{"audio":{"id":"a","data":"UklGRg=="}}"#), one(PieceKind::Media, "UklGRg=="));
    assert_eq!(output(r#"{"audio":{"transcript":"Hi"}}"#), one(PieceKind::Text, "Hi"));
}

#[test]
fn content_may_be_a_list_of_typed_parts() {
    let delta = r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"},{"type":"text","text":""}]},{"type":"thinking","thinking":"so"},{"type":"text","text":"Hi"},{"type":"reference","reference_ids":[1]}]}"#;
    assert_eq!(
        output(delta),
        [
            (PieceKind::Reasoning, "Hm".to_owned()),
            (PieceKind::Reasoning, "so".to_owned()),
            (PieceKind::Text, "Hi".to_owned()),
        ]
    );
}

#[test]
fn message_copies_beside_the_delta_are_not_counted() {
    let json = r#"{"choices":[{"index":0,"message":{"content":"Hello"},"delta":{"content":"lo"}}]}"#;
    assert_eq!(payload(json, pieces), [(PieceKind::Text, 0, "lo".to_owned())]);
}

#[test]
fn each_choice_keeps_its_index() {
    let json = r#"{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"},{"index":0,"delta":{"content":"a"}},{"index":2,"delta":{},"finish_reason":"length"}]}"#;
    assert_eq!(payload(json, pieces), [(PieceKind::Text, 1, "b".to_owned()), (PieceKind::Text, 0, "a".to_owned())]);
    let finishes =
        payload(json, |chunk| chunk.finishes().map(|finish| (finish.choice, finish.kind)).collect::<Vec<_>>());
    assert_eq!(finishes, [(1, FinishKind::Stop), (2, FinishKind::Length)]);
}

#[test]
fn finish_reasons_keep_the_providers_word_and_have_a_kind() {
    for (word, kind) in [
        ("stop", FinishKind::Stop),
        ("eos", FinishKind::Stop),
        ("length", FinishKind::Length),
        ("model_length", FinishKind::Length),
        ("tool_calls", FinishKind::ToolCall),
        ("function_call", FinishKind::ToolCall),
        ("content_filter", FinishKind::ContentFilter),
        ("refusal", FinishKind::Refusal),
        ("insufficient_system_resource", FinishKind::Other),
    ] {
        let json = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}},"finish_reason":"{word}"}}]}}"#);
        payload(&json, |chunk| {
            let finish = chunk.finishes().next().unwrap();
            assert_eq!((finish.reason.to_string().as_str(), finish.kind), (word, kind));
            assert_eq!(chunk.outputs().count(), 1, "a finish may come together with content");
        });
    }
}

#[test]
fn null_and_empty_finish_reasons_say_nothing() {
    for reason in ["null", r#""""#, "false"] {
        let json = format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":{reason}}}]}}"#);
        assert_eq!(payload(&json, |chunk| chunk.finishes().count()), 0, "{reason}");
    }
}

#[test]
fn usage_with_all_its_details() {
    let full = usage(
        r#"{"prompt_tokens":28,"completion_tokens":9,"total_tokens":37,"prompt_tokens_details":{"cached_tokens":27,"audio_tokens":1,"cache_write_tokens":5},"completion_tokens_details":{"reasoning_tokens":4,"audio_tokens":2}}"#,
    );
    assert_eq!((full.input, full.output), (Some(28), Some(9)));
    assert_eq!((full.cache_read, full.cache_write, full.reasoning), (Some(27), Some(5), Some(4)));
    assert_eq!((full.audio_input, full.audio_output), (Some(1), Some(2)));
    assert_eq!((full.billed_input, full.billed_output), (None, None));
}

#[test]
fn usage_under_the_familys_other_names() {
    let deepseek = usage(r#"{"prompt_tokens":9,"prompt_cache_hit_tokens":6,"prompt_cache_miss_tokens":3}"#);
    assert_eq!((deepseek.input, deepseek.cache_read, deepseek.output), (Some(9), Some(6), None));
    assert_eq!(usage(r#"{"completion_tokens":9,"reasoning_tokens":3}"#).reasoning, Some(3));
    assert_eq!(usage(r#"{"prompt_tokens":9,"cache_creation_input_tokens":2}"#).cache_write, Some(2));
    let writer = usage(
        r#"{"prompt_tokens":194,"total_tokens":216,"completion_tokens":22,"prompt_token_details":null,"completion_tokens_details":null}"#,
    );
    assert_eq!((writer.input, writer.output, writer.reasoning), (Some(194), Some(22), None));
}

#[test]
fn reasoning_outside_the_completion_is_added_when_the_total_says_so() {
    let xai = usage(
        r#"{"prompt_tokens":12,"completion_tokens":1,"total_tokens":303,"completion_tokens_details":{"reasoning_tokens":290}}"#,
    );
    assert_eq!((xai.output, xai.reasoning), (Some(291), Some(290)));
    let openai = usage(
        r#"{"prompt_tokens":12,"completion_tokens":291,"total_tokens":303,"completion_tokens_details":{"reasoning_tokens":290}}"#,
    );
    assert_eq!((openai.output, openai.reasoning), (Some(291), Some(290)));
    let gateway = usage(
        r#"{"prompt_tokens":5,"completion_tokens":16,"total_tokens":21,"completion_tokens_details":{"reasoning_tokens":19}}"#,
    );
    assert_eq!((gateway.output, gateway.reasoning), (Some(16), Some(19)));
}

#[test]
fn a_figure_of_the_wrong_type_is_absent_and_spoils_nothing() {
    let odd = usage(
        r#"{"prompt_tokens":14.0,"completion_tokens":-1,"total_tokens":"15","prompt_tokens_details":7,"completion_tokens_details":[]}"#,
    );
    assert_eq!((odd.input, odd.output, odd.cache_read, odd.reasoning), (Some(14), None, None, None));
    let json = r#"{"id":7,"model":{},"choices":[{"index":"0","delta":{"content":"x","refusal":1,"tool_calls":"none"},"finish_reason":{}}],"usage":"none","timings":[],"x_groq":1}"#;
    assert_eq!(payload(json, pieces), [(PieceKind::Text, 0, "x".to_owned())]);
    payload(json, |chunk| assert!(chunk.usage.is_none() && chunk.timings.is_none() && chunk.id.is_none()));
}

#[test]
fn null_or_empty_usage_is_none() {
    for json in [r#"{"usage":null}"#, r#"{"usage":{}}"#, "{}"] {
        payload(json, |chunk| assert_eq!(chunk.usage, None, "{json}"));
    }
}

#[test]
fn usage_and_finish_may_come_in_one_chunk() {
    let json = r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    payload(json, |chunk| {
        assert_eq!(chunk.usage.unwrap().output, Some(2));
        assert_eq!(chunk.finishes().count(), 1);
    });
}

#[test]
fn a_usage_only_frame_is_a_chunk_without_output() {
    let json = r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    assert!(payload(json, pieces).is_empty());
    assert_eq!(payload(json, |chunk| chunk.origin), Origin::Event);
}

#[test]
fn groq_tells_usage_and_times_under_either_name() {
    let report = r#"{"queue_time":0.25,"prompt_tokens":9,"prompt_time":0.5,"completion_tokens":4,"completion_time":1.5,"total_tokens":13,"total_time":2}"#;
    for json in [
        format!(r#"{{"choices":[],"usage":{report}}}"#),
        format!(r#"{{"choices":[],"x_groq":{{"id":"req","usage":{report}}}}}"#),
    ] {
        payload(&json, |chunk| {
            assert_eq!(chunk.usage.unwrap().output, Some(4));
            let timings = chunk.timings.unwrap();
            assert_eq!(timings.queue, Some(Duration::from_millis(250)));
            assert_eq!(timings.prompt, Some(Duration::from_millis(500)));
            assert_eq!(timings.generation, Some(Duration::from_millis(1500)));
            assert_eq!(timings.total, Some(Duration::from_secs(2)));
        });
    }
}

#[test]
fn llama_cpp_vllm_and_gpustack_tell_their_times() {
    let timings = |json: &str| payload(json, |chunk| chunk.timings.unwrap());
    let llama = timings(
        r#"{"choices":[],"timings":{"cache_n":27,"prompt_n":1,"prompt_ms":6.5,"predicted_n":8,"predicted_ms":55.5,"predicted_per_token_ms":7.5,"draft_n":5,"draft_n_accepted":3}}"#,
    );
    assert_eq!(llama.prompt, Some(Duration::from_micros(6_500)));
    assert_eq!(llama.generation, Some(Duration::from_micros(55_500)));
    assert_eq!(llama.time_per_token, Some(Duration::from_micros(7_500)));
    assert_eq!((llama.prompt_tokens, llama.cached_tokens, llama.generated_tokens), (Some(1), Some(27), Some(8)));
    assert_eq!((llama.draft_tokens, llama.accepted_draft_tokens), (Some(5), Some(3)));

    let vllm = timings(
        r#"{"choices":[],"metrics":{"time_to_first_token_ms":12.5,"generation_time_ms":80,"queue_time_ms":1,"mean_itl_ms":4}}"#,
    );
    assert_eq!(vllm.time_to_first_token, Some(Duration::from_micros(12_500)));
    assert_eq!((vllm.queue, vllm.generation), (Some(Duration::from_millis(1)), Some(Duration::from_millis(80))));
    assert_eq!(vllm.time_per_token, Some(Duration::from_millis(4)));

    let gpustack = timings(
        r#"{"choices":[],"usage":{"completion_tokens":4,"time_to_first_token_ms":12.5,"time_per_output_token_ms":4}}"#,
    );
    assert_eq!(gpustack.time_to_first_token, Some(Duration::from_micros(12_500)));
    assert_eq!(gpustack.time_per_token, Some(Duration::from_millis(4)));

    let negative = payload(r#"{"timings":{"prompt_ms":-1,"predicted_ms":2}}"#, |chunk| chunk.timings.unwrap());
    assert_eq!(negative.prompt, None, "a time before its start is no time");
    assert_ne!(negative, ServerTimings::default());
}

#[test]
fn token_ids_tell_how_many_tokens_a_chunk_carries() {
    let json =
        r#"{"choices":[{"index":0,"delta":{"content":"x"},"token_ids":[5,6]},{"index":1,"delta":{},"token_ids":[7]}]}"#;
    assert_eq!(payload(json, |chunk| chunk.tokens), Some(3));
    assert_eq!(payload(r#"{"choices":[{"delta":{"content":"x"},"token_ids":null}]}"#, |chunk| chunk.tokens), None);
}

#[test]
fn id_model_tier_and_fingerprint_are_told_unless_empty() {
    let json = r#"{"id":"c-1","model":"gpt\u002d4o","service_tier":"default","system_fingerprint":"fp"}"#;
    payload(json, |chunk| {
        assert!(chunk.id.unwrap() == "c-1" && chunk.model.unwrap() == "gpt-4o");
        assert!(chunk.service_tier.unwrap() == "default" && chunk.system_fingerprint.unwrap() == "fp");
    });
    let azure = r#"{"id":"","model":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#;
    payload(azure, |chunk| assert!(chunk.id.is_none() && chunk.model.is_none() && chunk.service_tier.is_none()));
}

#[test]
fn an_error_is_named_by_code_then_type_then_status_then_number() {
    let error = |json: &str| payload(&format!(r#"{{"error":{json}}}"#), failure).unwrap().0;
    assert_eq!(
        error(r#"{"code":"tool_use_failed","type":"invalid_request_error","status":"X","status_code":400}"#),
        "tool_use_failed"
    );
    assert_eq!(error(r#"{"code":400,"type":"BadRequestError","status":"X"}"#), "BadRequestError");
    assert_eq!(error(r#"{"code":499,"status":"CANCELLED","message":"m"}"#), "CANCELLED");
    assert_eq!(error(r#"{"code":502,"message":"m"}"#), "502");
    assert_eq!(error(r#"{"message":"m","http_status_code":422}"#), "422");
    assert_eq!(error(r#"{"code":null,"type":"","message":"m"}"#), "_OTHER");
    assert_eq!(error("{}"), "_OTHER");
}

#[test]
fn an_error_may_be_a_string() {
    assert_eq!(payload(r#"{"error":"out of memory"}"#, failure), failed("_OTHER", "out of memory"));
    assert_eq!(payload(r#"{"error":"too long","error_type":"validation"}"#, failure), failed("validation", "too long"));
}

#[test]
fn a_null_false_or_empty_error_is_none() {
    for json in [r#"{"error":null}"#, r#"{"error":false}"#, r#"{"error":""}"#] {
        assert_eq!(payload(json, failure), None, "{json}");
    }
}

#[test]
fn the_older_flat_error_is_an_error() {
    let json = r#"{"object":"error","message":"too long","type":"BadRequestError","code":400}"#;
    assert_eq!(payload(json, failure), failed("BadRequestError", "too long"));
}

#[test]
fn an_event_named_error_is_an_error_with_and_without_an_error_key() {
    for json in [r#"{"error":{"code":"gone","message":"m"}}"#, r#"{"code":"gone","message":"m"}"#] {
        let mut seen = Vec::new();
        decode(format!("event: error\ndata: {json}\n\n"), |chunk| seen.push(failure(chunk)));
        assert_eq!(seen, [failed("gone", "m")], "{json}");
    }
}

#[test]
fn an_error_beside_choices_and_usage_leaves_them_to_be_read() {
    let json = r#"{"error":{"code":"server_error","message":"m"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"usage":{"prompt_tokens":3}}"#;
    assert_eq!(payload(json, failure), failed("server_error", "m"));
    payload(json, |chunk| {
        assert_eq!(chunk.finishes().next().unwrap().kind, FinishKind::Other);
        assert_eq!(chunk.usage.unwrap().input, Some(3));
    });
}

#[test]
fn an_error_may_stand_in_a_choice_or_in_groqs_own_part() {
    let choice = r#"{"choices":[{"index":0,"delta":{},"error":{"code":502,"message":"m"}}]}"#;
    assert_eq!(payload(choice, failure), failed("502", "m"));
    assert_eq!(
        payload(r#"{"choices":[],"x_groq":{"error":"over capacity"}}"#, failure),
        failed("_OTHER", "over capacity")
    );
}

#[test]
fn an_error_field_line_is_an_error_but_no_event() {
    let mut seen = Vec::new();
    decode("data: {}\n\nerror: {\"detail\":\"d\",\"error\":{\"message\":\"m\"}}\n\n", |chunk| {
        seen.push((chunk.origin, failure(chunk)))
    });
    assert_eq!(seen, [(Origin::Event, None), (Origin::Field, failed("_OTHER", "m"))]);
}

#[test]
fn a_bare_json_line_is_read_but_no_event() {
    let mut seen = Vec::new();
    let counts = decode("data: {}\n\n{\"error\":{\"code\":\"gone\",\"message\":\"m\"}}", |chunk| {
        seen.push((chunk.origin, failure(chunk), chunk.unterminated))
    });
    assert_eq!(seen, [(Origin::Event, None, false), (Origin::Bare, failed("gone", "m"), false)]);
    assert_eq!(counts.unterminated, 0, "the object is whole");
}

#[test]
fn data_that_begins_with_done_is_the_marker() {
    assert_eq!(Dialect::OpenAiChat.sees(), Sees::Marker);
    for data in ["[DONE]", "[DONE] ", " [DONE]", "[DONE]x"] {
        assert!(payload(data, |chunk| chunk.terminal && chunk.outputs().count() == 0), "{data:?}");
    }
    assert!(!payload("{}", |chunk| chunk.terminal));
}

#[test]
fn a_marker_without_its_empty_line_is_seen_at_the_end() {
    let mut seen = Vec::new();
    let counts = decode("data: [DONE]", |chunk| seen.push((chunk.terminal, chunk.unterminated)));
    assert_eq!((seen.as_slice(), counts.unterminated), ([(true, true)].as_slice(), 1));
}

#[test]
fn empty_data_is_a_chunk() {
    assert!(payload("", |chunk| chunk.outputs().count() == 0 && !chunk.terminal));
}

#[test]
fn what_does_not_parse_is_counted_and_neither_chunk_nor_error() {
    for data in [r#"{"choices":[{"delta":{"content":"x"}"#, "hello", "17", "[1]", r#""text""#, r#"{"a":1} {"b":2}"#] {
        let mut malformed = Vec::new();
        let mut decoder = Decoder::new(Dialect::OpenAiChat);
        decoder.push(format!("event: error\ndata: {data}\n\ndata: {{}}\n\n").as_bytes(), |event| match event {
            Event::Malformed(payload) => malformed.push(String::from_utf8_lossy(payload).into_owned()),
            Event::Chunk(chunk) => assert!(chunk.failure.is_none()),
            other => unreachable!("{other:?}"),
        });
        assert_eq!(malformed, [data]);
        assert_eq!(decoder.counts().malformed, 1, "{data}");
    }
}

#[test]
fn an_invalid_byte_is_replaced_and_the_payload_read() {
    let mut seen = Vec::new();
    let counts =
        decode(b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xFFb\"}}]}\n\n", |chunk| seen.extend(pieces(chunk)));
    assert_eq!(seen, [(PieceKind::Text, 0, "a\u{FFFD}b".to_owned())]);
    assert_eq!(counts.malformed, 0);
}

#[test]
fn escapes_are_resolved_and_counted_as_what_they_stand_for() {
    for (escaped, text) in [
        (r"a\nb\t\r\b\f", "a\nb\t\r\u{8}\u{c}"),
        (r#"\"\\\/"#, "\"\\/"),
        (r"\u00e9\u20ac", "é€"),
        (r"\ud83d\ude00!", "😀!"),
        (r"\ud83d", "\u{FFFD}"),
        (r"\ude00x", "\u{FFFD}x"),
        (r"\ud83d\u0041", "\u{FFFD}A"),
        (r"\ud83d\ud83d\ude00", "\u{FFFD}😀"),
        (r"\ud83dx", "\u{FFFD}x"),
    ] {
        let json = format!(r#"{{"choices":[{{"delta":{{"content":"{escaped}"}}}}]}}"#);
        payload(&json, |chunk| {
            let piece = *chunk.outputs().next().unwrap();
            assert_eq!(piece.text.decode(), text, "{escaped}");
            assert_eq!(piece.text.len(), text.len(), "{escaped}");
        });
    }
}

#[test]
fn plain_text_is_borrowed_from_the_read() {
    payload(r#"{"choices":[{"delta":{"content":"plain"}}]}"#, |chunk| {
        let text = chunk.outputs().next().unwrap().text.decode();
        assert!(matches!(text, std::borrow::Cow::Borrowed("plain")));
    });
}

#[test]
fn comments_are_reported_and_counted_and_are_no_chunks() {
    let mut comments = 0;
    let mut decoder = Decoder::new(Dialect::OpenAiChat);
    decoder.push(b": OPENROUTER PROCESSING\n\n: keep-alive\n\n", |event| match event {
        Event::Comment(_) => comments += 1,
        other => unreachable!("{other:?}"),
    });
    assert_eq!((comments, decoder.counts().comments), (2, 2));
}

#[test]
fn an_oversized_event_is_dropped_and_counted_and_the_next_is_read() {
    let mut seen = Vec::new();
    let mut decoder = Decoder::new(Dialect::OpenAiChat).limit(64);
    let long = format!("data: {{\"x\":\"{}\"}}\n\ndata: [DONE]\n\n", "y".repeat(100));
    decoder.push(long.as_bytes(), |event| seen.push(matches!(event, Event::Chunk(chunk) if chunk.terminal)));
    assert_eq!(seen, [false, true]);
    assert_eq!(decoder.counts().oversized, 1);
}

#[test]
fn what_nobody_measures_is_skipped() {
    let json = r#"{"created":1,"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"x"},"logprobs":{"content":[{"token":"x","logprob":-0.1,"bytes":[120],"top_logprobs":[]}]}}],"obfuscation":"abc","citations":["u"],"p":"xx"}"#;
    assert_eq!(payload(json, pieces), [(PieceKind::Text, 0, "x".to_owned())]);
}
