//! Usage, server timings, token counts, and what an answer says of itself.

use super::*;

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
    for cached in [
        r#""cached_tokens":6"#,
        r#""num_cached_tokens":6"#,
        r#""prompt_token_details":{"cached_tokens":6}"#,
        r#""num_cached_tokens":6,"prompt_tokens_details":{"cached_tokens":6}"#,
        r#""prompt_tokens_details":{"cached_tokens":6},"cached_tokens":null"#,
    ] {
        let Usage { input, cache_read, .. } = usage(&format!(r#"{{"prompt_tokens":9,{cached}}}"#));
        assert_eq!((input, cache_read), (Some(9), Some(6)), "{cached}");
    }
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
    payload(json, |chunk| {
        assert!(chunk.usage.is_none() && chunk.timings.is_none() && chunk.id.is_none());
    });
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
    payload(azure, |chunk| {
        assert!(chunk.id.is_none() && chunk.model.is_none() && chunk.service_tier.is_none());
    });
}
